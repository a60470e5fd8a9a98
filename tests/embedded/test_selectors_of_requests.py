"""Label and field selectors as a query string has them."""

from __future__ import annotations

import pytest

from moorage.embedded.resources import Catalogue
from moorage.embedded.selectors import parse_selection
from moorage.embedded.served import served_resources
from moorage.errors import ApiError

PODS = Catalogue(served_resources()).named("pods")


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        pytest.param("a=b", {"a": "b"}, True, id="equal"),
        pytest.param("a==b", {"a": "c"}, False, id="double equal"),
        pytest.param("a!=b", {}, True, id="unequal holds without the label"),
        pytest.param("a in (b, c)", {"a": "c"}, True, id="in"),
        pytest.param("a notin (b,c)", {"a": "c"}, False, id="not in"),
        pytest.param("a notin (b,c)", {}, True, id="not in holds without the label"),
        pytest.param("a", {"a": ""}, True, id="exists"),
        pytest.param("!a", {"a": ""}, False, id="does not exist"),
        pytest.param("a=", {"a": ""}, True, id="empty value"),
        pytest.param("a>1", {"a": "2"}, True, id="greater"),
        pytest.param("a<1", {"a": "x"}, False, id="less, no number"),
        pytest.param("a in (b,c),d,e!=f", {"a": "b", "d": ""}, True, id="all of several"),
        pytest.param("example.com/a.b_c=d-1", {"example.com/a.b_c": "d-1"}, True, id="prefixed"),
        pytest.param("", {}, True, id="nothing asked"),
    ],
)
def test_a_label_selector_selects_by_labels(
    selector: str, labels: dict[str, str], *, selected: bool
) -> None:
    """Each operator, alone and together."""
    selection = parse_selection(PODS, label_selector=selector)
    assert selection.accepts("ns", labels, {}) is selected


@pytest.mark.parametrize(
    ("selector", "fields", "selected"),
    [
        pytest.param("spec.nodeName=", {}, True, id="an absent field is empty"),
        pytest.param("spec.nodeName!=", {"spec.nodeName": "n1"}, True, id="not empty"),
        pytest.param(
            "status.phase=Running,spec.nodeName=n1",
            {"status.phase": "Running", "spec.nodeName": "n2"},
            False,
            id="all of several",
        ),
        pytest.param("metadata.name==p", {"metadata.name": "p"}, True, id="double equal"),
    ],
)
def test_a_field_selector_selects_by_fields(
    selector: str, fields: dict[str, str], *, selected: bool
) -> None:
    """Equality and its negation on the fields of the resource's row."""
    selection = parse_selection(PODS, field_selector=selector)
    assert selection.accepts("ns", {}, fields) is selected


@pytest.mark.parametrize("selector", ["a in", "a=b=c", "=b", "a in (b", "a b"])
def test_an_unreadable_label_selector_is_a_bad_request(selector: str) -> None:
    """The message repeats the selector."""
    with pytest.raises(ApiError, match="unable to parse requirement") as refusal:
        parse_selection(PODS, label_selector=selector)
    assert refusal.value.code == 400


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("spec.image=x", "field label not supported: spec.image"),
        ("name", "can't understand 'name'"),
    ],
)
def test_an_unknown_field_is_a_bad_request(selector: str, message: str) -> None:
    """Only the fields of the resource's row can be selected by."""
    with pytest.raises(ApiError, match=message) as refusal:
        parse_selection(PODS, field_selector=selector)
    assert refusal.value.code == 400


def test_a_namespace_narrows_a_selection() -> None:
    """A selection of one namespace does not select what lies in another."""
    selection = parse_selection(PODS, namespace="a")
    assert selection.accepts("a", {}, {})
    assert not selection.accepts("b", {}, {})
