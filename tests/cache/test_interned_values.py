"""Values as small integers, and label columns made early and late."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.objects import make_node

from moorage.cache import ClusterCache
from moorage.cache.interning import ABSENT, InternedColumn
from moorage.cache.labels import LabelColumns

EARLY = 128
MOST = 1024


def test_a_row_has_no_value_until_it_gets_one() -> None:
    """And none again when it is taken away."""
    column: InternedColumn[str] = InternedColumn(4)
    assert column.get(2) is None

    column.set(2, "a")
    assert column.get(2) == "a"

    column.set(2, None)
    assert column.get(2) is None
    assert column.codes.tolist() == [ABSENT] * 4


def test_equal_values_have_one_code() -> None:
    """So that work is done once for each distinct value."""
    column: InternedColumn[str] = InternedColumn(4)
    for row, value in enumerate("abab"):
        column.set(row, value)

    assert column.codes.tolist() == [0, 1, 0, 1]
    assert column.code("b") == 1
    assert column.code("never seen") == ABSENT


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 5000)), max_size=60))
def test_codes_dealt_anew_mean_the_same_values(changes: list[tuple[int, int | None]]) -> None:
    """Values that came and went are dropped once they are many; rows keep theirs."""
    column: InternedColumn[int] = InternedColumn(4)
    expected: dict[int, int | None] = {}
    passing = 10_000
    for row, value in changes:
        column.set(row, value)
        expected[row] = value
        for _ in range(70):  # a row whose value never stays, such as a heartbeat's label
            passing += 1
            column.set(3, passing)
        expected[3] = passing
        column.check_invariants()

    assert [column.get(row) for row in range(4)] == [expected.get(row) for row in range(4)]
    assert len(column.values) <= 2 * 4 + 1024 + 1


def test_a_column_that_grows_keeps_its_values() -> None:
    """The new rows have none."""
    column: InternedColumn[str] = InternedColumn(2)
    column.set(1, "a")

    column.grow(5)

    assert [column.get(row) for row in range(5)] == [None, "a", None, None, None]


def test_a_value_that_no_node_has_any_more_is_not_asked_about() -> None:
    """A function given to `map` need not take what somebody's node once said."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n1", labels={"cost": "cheap"}))
    cluster.set_node(make_node("n1", labels={"cost": "3"}))

    assert cluster.view().map_label("cost", float).tolist() == [3.0]


def test_the_first_keys_get_their_columns_at_once() -> None:
    """A pod that asks for one of them pays nothing for it."""
    labels = LabelColumns(2)

    labels.set(0, {}, {f"k{number}": "v" for number in range(EARLY + 10)})

    def fill(column: InternedColumn[str]) -> None:
        raise AssertionError("made early, so there is nothing to fill")

    assert labels.column("k0", fill).get(0) == "v"


def test_later_keys_get_theirs_when_asked_for_and_follow_changes_from_then_on() -> None:
    """What nodes had before is filled in; what they get afterwards is set."""
    cluster = ClusterCache()
    many = {f"k{number:03}": "v" for number in range(EARLY)}
    cluster.set_node(make_node("n1", labels=many | {"late": "a"}))
    cluster.set_node(make_node("n2", labels=many))
    assert cluster.view().labels("late").equals("a").tolist() == [True, False]

    cluster.set_node(make_node("n1", labels=many))
    cluster.set_node(make_node("n2", labels=many | {"late": "b"}))

    late = cluster.view().labels("late")
    assert late.present.tolist() == [False, True]
    assert late.equals("b").tolist() == [False, True]
    cluster.check_invariants()


def test_the_oldest_late_columns_are_dropped_and_made_again_when_asked_for() -> None:
    """However many keys pods ask for, there are at most 1,024 columns."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n1", labels={f"k{number}": "v" for number in range(EARLY)}))
    cluster.set_node(make_node("n2", labels={"late-0": "here"}))
    for number in range(MOST):
        cluster.view().labels(f"late-{number}")
    assert len(cluster.labels._columns) == MOST

    assert cluster.view().labels("late-0").equals("here").tolist() == [False, True]
    assert len(cluster.labels._columns) == MOST
    cluster.check_invariants()


def test_early_columns_stay_when_late_ones_are_dropped() -> None:
    """They follow changes without being filled, so losing one would lose values."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n1", labels={"zone": "a"}))
    for number in range(MOST + 10):
        cluster.view().labels(f"late-{number}")

    cluster.set_node(make_node("n2", labels={"zone": "b"}))

    assert cluster.view().labels("zone").equals("b").tolist() == [False, True]
    cluster.check_invariants()
