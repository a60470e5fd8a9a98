"""PostFilter plugins in order: who is heard, who is not, and what the pod says in the end."""

from __future__ import annotations

import pytest
from tests.objects import make_node, make_pod, queued

import moorage
from moorage import Nomination, Services, Verdict
from moorage.cycle import Cycle, Decision
from moorage.framework.assembly import new_framework
from moorage.framework.host import Registry


class Refuses(moorage.Plugin):
    """Refuses every node."""

    @moorage.hookimpl
    def filter(self) -> Verdict:
        """Refuse."""
        return Verdict.unschedulable("no")


def saying(answer: Nomination | Verdict | Exception | None) -> type[moorage.Plugin]:
    """Make a plugin with one answer."""

    class Says(moorage.Plugin):
        """Gives it."""

        @moorage.hookimpl
        def post_filter(self) -> Nomination | Verdict | None:
            """Give it."""
            if isinstance(answer, Exception):
                raise answer
            return answer

    return Says


def decide(*answers: Nomination | Verdict | Exception | None) -> Decision:
    """Let plugins with these answers try to make room on one node."""
    services = Services()
    services.cluster.set_node(make_node("n1"))
    plugins: dict[str, type[moorage.Plugin]] = {"Refuses": Refuses}
    plugins |= {f"Says{number}": saying(answer) for number, answer in enumerate(answers)}
    framework = new_framework(
        Registry.of(plugins, distribution="tests"), list(plugins), services=services
    )
    return Cycle(framework, services.cluster).decide(queued(make_pod("p")))


HEAD = "0/1 nodes are available: 1 no."


@pytest.mark.parametrize(
    ("answers", "nomination", "text"),
    [
        pytest.param([], "", "", id="nobody"),
        pytest.param([None], None, "", id="nothing-to-say"),
        pytest.param(
            [Verdict.unschedulable("a"), Verdict.unschedulable("b", "c")], None, " a, b, c"
        ),
        pytest.param([Nomination("n1")], "n1", "", id="a-node"),
        pytest.param([Verdict.unschedulable("a"), Nomination("n1")], "n1", "", id="drops-others"),
        pytest.param([Nomination("n1"), ValueError("unheard")], "n1", "", id="ends-it"),
        pytest.param([Nomination("", ("a",))], "", " a", id="clears"),
        pytest.param([Nomination("", ("a",)), Verdict.unschedulable("b")], "", " a, b"),
        pytest.param([Nomination("", ("a",)), Nomination("n1")], "n1", "", id="clears-then-node"),
        pytest.param([Verdict.unresolvable("a"), ValueError("unheard")], None, " a", id="final"),
        pytest.param([Verdict.unschedulable("a"), Verdict.unresolvable("b")], None, " b"),
        pytest.param(
            [Nomination("", ("a",)), Verdict.unresolvable("b")], None, " b", id="overrules"
        ),
        pytest.param(
            [Verdict.error("a"), ValueError("unheard")], None, " a", id="an-error-ends-it"
        ),
    ],
)
def test_what_the_plugins_say_comes_to(
    answers: list[Nomination | Verdict | Exception | None], nomination: str | None, text: str
) -> None:
    """A pod stays refused in any case; the reasons of its nodes come first."""
    decision = decide(*answers)
    assert decision.verdict.is_rejection
    assert decision.nomination == nomination
    assert decision.message == HEAD + text


def test_an_exception_is_a_fault_that_names_the_plugin() -> None:
    """The pod is to be tried again after its backoff."""
    decision = decide(ValueError("broken"))
    assert not decision.verdict.is_rejection
    assert "Says0" in decision.message
    assert "broken" in decision.message


def test_all_that_a_nomination_says_is_kept() -> None:
    """For those who look at decisions; the plugin has seen to the victims itself."""
    victim = make_pod("low")
    made_room = decide(Nomination("n1", victims=(victim,))).made_room
    assert made_room is not None
    assert made_room.victims == (victim,)
    assert made_room.equals() == ()
