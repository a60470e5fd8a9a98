"""Which toleration tolerates which taint."""

from __future__ import annotations

import pytest

from moorage.model.nodes import Taint
from moorage.model.pods import Toleration
from moorage.model.taints import KEEPS_OUT, tolerates, untolerated

TAINT = Taint(key="gpu", value="yes", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(Toleration(operator="Exists"), True, id="everything"),
        pytest.param(Toleration(key="gpu", operator="Exists"), True, id="any-value"),
        pytest.param(Toleration(key="cpu", operator="Exists"), False, id="another-key"),
        pytest.param(Toleration(key="gpu", value="yes"), True, id="the-value"),
        pytest.param(Toleration(key="gpu", value="no"), False, id="another-value"),
        pytest.param(Toleration(key="gpu", operator="Gt", value="yes"), False, id="an-alpha"),
        pytest.param(
            Toleration(key="gpu", operator="Exists", effect="NoExecute"), False, id="another-effect"
        ),
    ],
)
def test_one_toleration_and_one_taint(toleration: Toleration, *, expected: bool) -> None:
    """What it names must be the taint's own."""
    assert tolerates(toleration, TAINT) is expected


def test_taints_that_nobody_tolerates_are_told_by_effect() -> None:
    """Each toleration counts, and taints of other effects do not."""
    other = Taint(key="spot", effect="NoExecute")
    mild = Taint(key="old", effect="PreferNoSchedule")
    found = untolerated(
        [TAINT, other, mild], [Toleration(key="spot", operator="Exists")], KEEPS_OUT
    )
    assert found == [TAINT]
