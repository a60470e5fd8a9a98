"""One sentence for whatever pydantic finds, in anybody's model."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.alias_generators import to_camel

from moorage.config.sentences import closest, field_path, validation_sentence


class Strategy(Enum):
    """How to spread."""

    PACK = "Pack"
    SPREAD = "Spread"


class Inner(BaseModel):
    """A part of the arguments."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    node_name: str = ""


class Args(BaseModel):
    """Arguments as the author of a plugin would declare them."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    zone_cost: dict[str, float] = {}
    mode: Literal["soft", "hard"] = "soft"
    strategy: Strategy = Strategy.PACK
    inner: Inner | None = None
    several: list[Inner] = []
    limit: int | str = 1
    port: Annotated[int, Field(ge=1, lt=65536)] = 1
    names: Annotated[list[str], Field(min_length=1, max_length=2)] = ["a"]
    pattern: Annotated[str, Field(pattern="^[a-z]+$")] = "a"
    label: Annotated[str, Field(min_length=1)] = "a"
    even: int = 2

    @field_validator("even")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


class Needs(BaseModel):
    """Arguments without which the plugin cannot do."""

    url: str


def sentence(data: object, model: type[BaseModel] = Args) -> str:
    """Validate `data` and say what is wrong with it."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(data)
    return validation_sentence(
        caught.value, file="c.yaml", field="profiles[0].pluginConfig[1].args", model=model
    )


@pytest.mark.parametrize(
    ("data", "field", "words"),
    [
        pytest.param({"zoneCosts": {}}, ".zoneCosts", "unknown field; did you mean zoneCost?", id="misspelt"),
        pytest.param({"zone_cost": {}}, ".zone_cost", "unknown field; did you mean zoneCost?", id="snake"),
        pytest.param({"inner": {"x": 1}}, ".inner.x", "unknown field; the fields here are nodeName", id="nested"),
        pytest.param({"several": [{}, {"nodename": ""}]}, ".several[1].nodename", "unknown field; did you mean nodeName?", id="in-list"),
        pytest.param({"zoneCost": {"example.com/a": "much"}}, '.zoneCost["example.com/a"]', "expected a number, got 'much'", id="mapping-value"),
        pytest.param({"zoneCost": {1: 1.0}}, ".zoneCost[1]", "expected a string, got 1", id="mapping-key"),
        pytest.param({"zoneCost": []}, ".zoneCost", "expected a mapping, got a list", id="list-for-mapping"),
        pytest.param({"several": {}}, ".several", "expected a list, got a mapping", id="mapping-for-list"),
        pytest.param({"inner": 5}, ".inner", "expected a mapping, got 5", id="number-for-model"),
        pytest.param({"mode": "sofft"}, ".mode", "must be 'soft' or 'hard', got 'sofft'", id="literal"),
        pytest.param({"strategy": "Most"}, ".strategy", "must be 'Pack' or 'Spread', got 'Most'", id="enum"),
        pytest.param({"limit": [1]}, ".limit", "expected an integer or a string, got a list", id="union"),
        pytest.param({"port": 0}, ".port", "must be at least 1, got 0", id="too-small"),
        pytest.param({"port": 65536}, ".port", "must be less than 65536, got 65536", id="too-large"),
        pytest.param({"port": None}, ".port", "expected an integer, got nothing", id="null"),
        pytest.param({"port": "x" * 99}, ".port", f"expected an integer, got '{'x' * 60}...'", id="long-value"),
        pytest.param({"names": []}, ".names", "needs at least 1 items, got 0", id="too-few"),
        pytest.param({"names": ["a", "b", "c"]}, ".names", "takes at most 2 items, got 3", id="too-many"),
        pytest.param({"label": ""}, ".label", "must not be empty", id="empty"),
        pytest.param({"even": 3}, ".even", "must be even", id="author's-own"),
        pytest.param({"pattern": "A"}, ".pattern", "must match the pattern ^[a-z]+$, got 'A'", id="pattern"),
        pytest.param([], "", "expected a mapping, got a list", id="whole"),
    ],
)  # fmt: skip
def test_a_sentence_names_file_field_and_what_to_write(data: Any, field: str, words: str) -> None:  # noqa: ANN401 - documents of any shape
    """Whatever the error, the reader learns where it is and what belongs there."""
    assert sentence(data) == f"c.yaml: profiles[0].pluginConfig[1].args{field}: {words}"


def test_a_missing_field_is_named() -> None:
    """The path of a field that is not there is the place where it belongs."""
    assert sentence({}, Needs).endswith(".args.url: required, but not there")


def test_more_than_one_problem_is_counted() -> None:
    """The first problem is told, and the reader knows that there are others."""
    assert sentence({"port": 0, "even": 1}).endswith("got 0 (and 1 more problem)")
    assert sentence({"port": 0, "even": 1, "x": 1}).endswith("got 0 (and 2 more problems)")


def test_without_the_model_a_sentence_still_reads() -> None:
    """Whoever has only the error gets the same words without the suggestion."""
    with pytest.raises(ValidationError) as caught:
        Args.model_validate({"zoneCosts": {}})

    assert validation_sentence(caught.value, file="", field="args") == (
        "args.zoneCosts: unknown field"
    )


def test_a_path_quotes_what_is_no_plain_name() -> None:
    """Keys with dots cannot be mistaken for a path of several fields."""
    assert field_path(["a", 0, "b-c", "d.e/f"]) == 'a[0].b-c["d.e/f"]'


def test_what_was_meant_is_found_whatever_its_spelling() -> None:
    """Case and underscores do not hide a name; a name unlike all others is left alone."""
    known = ["NodeResourcesFit", "NodeName"]

    assert closest("node_resources_fit", known) == "NodeResourcesFit"
    assert closest("Zebra", known) is None
