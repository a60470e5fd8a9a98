"""CEL over devices: what it sees, what is an error, and how it is bounded."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builtin.dynamic_resources.devices_kit import DRIVER, device

from moorage.model import Device
from moorage_builtin.dynamic_resources.expressions import (
    DeviceLook,
    ExpressionError,
    Expressions,
)
from moorage_builtin.dynamic_resources.semver import Semver

OWN = f"device.attributes['{DRIVER}']"
MEMORY = f"device.capacity['{DRIVER}'].memory"
EXPRESSIONS = Expressions()
GPU = DeviceLook(
    DRIVER,
    msgspec.convert(
        device(
            "g0",
            attributes={
                "model": "a100",
                "shared": True,
                "index": 3,
                "version": {"version": "2.0.1+build7"},
                "other.example.com/rack": "r1",
            },
            capacity={"memory": "80Gi", "shares": "2500m"},
        ),
        Device,
    ),
)


def ask(expression: str, look: DeviceLook = GPU) -> bool:
    """Evaluate an expression for a device."""
    return EXPRESSIONS.get(expression).selects(look)


@pytest.mark.parametrize(
    "expression",
    [
        f"device.driver == '{DRIVER}'",
        f"{OWN}.model == 'a100' && {OWN}.shared && {OWN}.index < 4",
        "device.attributes['other.example.com'].rack == 'r1'",
        f"'nope' in {OWN} == false",
        "!('x' in device.attributes['no.such.domain'])",
        "!('no.domain' in device.attributes && device.attributes['no.domain'].rack == 'r1')",
        f"'{DRIVER}' in device.attributes && 'other.example.com' in device.attributes",
        "!('no.domain' in device.capacity) && device.capacity['no.domain'].size() == 0",
        "device.attributes.size() == 2 && device.attributes['no.domain'].size() == 0",
        "!device.attributes.exists(one, one == 'no.domain') || device.attributes['no.domain'].x",
        "'1 in device.attributes'.contains('device.attributes')",
        f"has({OWN}.model) && !has({OWN}.nope)",
        f"{OWN}.version.compareTo(semver('2.0.0')) > 0",
        f"{OWN}.version == semver('2.0.1')",
        f"{OWN}.version.isLessThan(semver('10.0.0-rc.1'))",
        f"{OWN}.version.major() == 2 && {OWN}.version.patch() == 1",
        "semver('v1.02', true) == semver('1.2.0') && !isSemver('v1')",
        f"{MEMORY}.compareTo(quantity('80Gi')) == 0",
        f"{MEMORY}.isGreaterThan(quantity('79.5Gi'))",
        f"{MEMORY} == quantity('81920Mi')",
        f"device.capacity['{DRIVER}'].shares.isInteger() == false",
        f"device.capacity['{DRIVER}'].shares.asApproximateFloat() == 2.5",
        "quantity('1').add(quantity('500m')).sub(1) == quantity('0.5')",
        "quantity('5').asInteger() == 5 && quantity('-1').sign() == -1 && isQuantity('1Ki')",
        f"cel.bind(own, {OWN}, own.model == 'a100' && own.index == 3)",
        f"{OWN}.?nope.orValue('none') == 'none'",
        f"{OWN}.model.matches('^a[0-9]+$') && {OWN}.model.lowerAscii().startsWith('a')",
        f"['a100', 'h100'].exists(one, one == {OWN}.model)",
        f"{OWN}.nope == 1 || true",
        "!device.allowMultipleAllocations",
    ],
)
def test_expressions_see_a_device_as_in_kubernetes(expression: str) -> None:
    """All of these are true for the device."""
    assert ask(expression)


def test_device_that_says_nothing_of_itself_has_no_attributes() -> None:
    """Its driver's domain can be asked for all the same."""
    bare = DeviceLook(DRIVER, Device(name="g0"))

    assert ask("!has(device.attributes[device.driver].model)", bare)
    assert ask("!(device.driver in device.attributes)", bare)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param("1 +", "does not compile: 1:4: Syntax error", id="syntax"),
        pytest.param("device.drvr == 'x'", "does not compile: 1:7: undeclared", id="no such field"),
        pytest.param("unknown(1)", "does not compile: 1:8: undeclared", id="no such function"),
        pytest.param("quantity(1) == quantity('1')", "no matching overload", id="a wrong type"),
        pytest.param("device.driver", "does not compile: it gives string, not bool", id="no bool"),
        pytest.param(f"{OWN}.model", "gives string, not bool", id="no bool, found late"),
        pytest.param(f"{OWN}.nope == 1", 'Key not found in map : "nope"', id="no such attribute"),
        pytest.param(f"{OWN}.model > 3", "No matching overloads", id="a wrong type, found late"),
        pytest.param("quantity('x') == quantity('1')", "'x' is not a quantity", id="no quantity"),
        pytest.param(
            "semver('1') == semver('1')", "'1' is not a semantic version", id="no version"
        ),
        pytest.param(
            "quantity('1').compareTo(semver('1.0.0')) == 0", "no such overload", id="two kinds"
        ),
        pytest.param("true" * 3000, "more than 10240", id="too long"),
        pytest.param("(" * 40 + "true" + ")" * 40, "recursion limit", id="too deep"),
    ],
)
def test_errors_say_what_is_wrong(expression: str, problem: str) -> None:
    """In one sentence, whenever the same is asked."""
    for _ in range(2):
        with pytest.raises(ExpressionError) as caught:
            ask(expression)
        assert problem in str(caught.value)
        assert "\n" not in str(caught.value)


NUMBERS = f"[{','.join('1' for _ in range(90))}]"


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(
            f"{NUMBERS}.all(a, {NUMBERS}.all(b, {NUMBERS}.all(c, {NUMBERS}.all(d, a > 0))))",
            id="nested loops",
        ),
        pytest.param(
            "cel.bind(a0, device.driver, "
            + "".join(f"cel.bind(a{index + 1}, a{index} + a{index}, " for index in range(28))
            + "a28.size() > 3"
            + ")" * 29,
            id="a text that doubles",
        ),
        pytest.param(
            "device.driver" + f".replace('e', '{'e' * 900}')" * 8 + ".size() > 3",
            id="a text that is put into itself",
        ),
        pytest.param(
            f"{NUMBERS}.map(a, {NUMBERS}.map(b, '{'x' * 4000}' + 'y' + 'z' + 'a' + 'b' + 'c')).size() > 3",
            id="a long list of texts",
        ),
    ],
)
def test_hostile_expressions_end_soon(expression: str) -> None:
    """In well under a second of CPU, as errors."""
    begun = time.thread_time()

    with pytest.raises(ExpressionError):
        ask(expression)

    assert time.thread_time() - begun < 1.0


def test_broken_attribute_is_named() -> None:
    """Whatever the expression looks at."""
    broken = msgspec.convert(device("g0", attributes={"version": {"version": "two"}}), Device)

    with pytest.raises(ExpressionError, match="its attribute version cannot be read: 'two'"):
        ask("device.driver == 'x'", DeviceLook(DRIVER, broken))


@given(st.lists(st.integers(0, 12), min_size=3, max_size=3), st.booleans())
def test_versions_come_back_as_they_were(parts: list[int], pre: bool) -> None:  # noqa: FBT001 - drawn
    """Written and read again."""
    text = ".".join(map(str, parts)) + ("-rc.1" if pre else "")

    assert str(Semver.parse(text)) == text


def test_versions_are_ordered_by_precedence() -> None:
    """The example of semver.org, rule 11."""
    texts = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0",
        "2.0.0",
        "2.1.0",
        "2.1.1",
    ]
    versions = [Semver.parse(text) for text in texts]

    for index, one in enumerate(versions):
        for place, other in enumerate(versions):
            assert one.compare(other) == (index > place) - (index < place)
