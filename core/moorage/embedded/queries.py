"""What a request asks for, read from its query, headers and body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from moorage.embedded.selectors import Selection, parse_selection
from moorage.embedded.status import StatusError, bad_request
from moorage.embedded.tables import TABLE_MARK

if TYPE_CHECKING:
    from aiohttp import web

    from moorage.embedded.paths import Target

__all__ = [
    "grace_seconds",
    "is_true",
    "number_of",
    "read_body",
    "selection_of",
    "wants_table",
]

_YAML_TYPES = frozenset({"application/yaml", "application/apply-patch+yaml"})
_PROTOBUF = "application/vnd.kubernetes.protobuf"


def is_true(request: web.BaseRequest, name: str) -> bool:
    """Read a flag of the query, as ``watch=1`` or ``watch=true``."""
    return request.query.get(name, "") in {"1", "t", "T", "true", "True", "TRUE"}


def number_of(request: web.BaseRequest, name: str) -> int | None:
    """Read a number of the query; None if it is not given."""
    text = request.query.get(name, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def selection_of(request: web.BaseRequest, target: Target) -> Selection:
    """Read the namespace and the selectors that a list or watch asks for.

    A watch of one object by name, as old clients ask for it, is a watch of the field of that name.
    """
    field_selector = request.query.get("fieldSelector", "")
    if target.name:
        field_selector = ",".join(filter(None, [field_selector, f"metadata.name={target.name}"]))
    return parse_selection(
        target.resource,
        namespace=target.namespace,
        label_selector=request.query.get("labelSelector", ""),
        field_selector=field_selector,
    )


def wants_table(request: web.BaseRequest) -> bool:
    """Tell whether the first form that the client accepts is a Table."""
    return TABLE_MARK in request.headers.get("Accept", "").partition(",")[0]


async def read_body(request: web.BaseRequest, kind: str) -> Any:  # noqa: ANN401 - any JSON value
    """Decode a body of JSON or YAML; None if it is empty. `kind` is what it should be."""
    media_type = request.content_type
    if media_type == _PROTOBUF:
        raise StatusError(
            "the body of the request is protobuf, and the embedded server speaks JSON and YAML: in "
            "place of 'kubectl create' use 'kubectl apply -f FILE', or append to the command "
            "'--dry-run=client -o yaml | kubectl apply -f -'",
            code=415,
            reason="UnsupportedMediaType",
        )
    body = await request.read()
    if not body.strip():
        return None
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        if media_type in _YAML_TYPES:
            return _read_yaml(body, kind)
        text = body.decode(errors="replace")
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get "
            f"version/kind; json parse error: {error} ({text[:200]})"
        ) from error


def _read_yaml(body: bytes, kind: str) -> object:
    try:
        # Through JSON once more: YAML's dates become the text that the API has for them.
        return msgspec.json.decode(msgspec.json.encode(yaml.safe_load(body)))
    except (yaml.YAMLError, TypeError) as error:
        raise bad_request(f"error decoding YAML of a {kind}: {error}") from error


def grace_seconds(request: web.BaseRequest, options: dict[str, Any]) -> int | None:
    """Return the grace period that a delete asks for, in its body or its query."""
    seconds = options.get("gracePeriodSeconds")
    if seconds is None:
        return number_of(request, "gracePeriodSeconds")
    return int(seconds)
