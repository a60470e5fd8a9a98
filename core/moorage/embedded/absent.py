"""Sentences for what clients ask for and the embedded server has not: in place of a bare 404."""

from __future__ import annotations

from typing import Final

from moorage.embedded.status import StatusError

__all__ = ["refusal_of"]

_NO_CONTAINER: Final = "nothing runs in the pods of the embedded API server, so there is nothing to"
_OF_PODS: Final = {
    "attach": f"{_NO_CONTAINER} attach to",
    "exec": f"{_NO_CONTAINER} execute a command in",
    "log": f"{_NO_CONTAINER} read logs of",
    "portforward": f"{_NO_CONTAINER} forward a port to",
}
_NO_SCALE: Final = (
    "the embedded API server makes the pods of a workload once, when it is created, and does not "
    "scale it afterwards: delete it, and apply it with other replicas"
)


def refusal_of(path: str) -> StatusError | None:
    """Return why a path of the API is not there; None where there is nothing to say about it."""
    sentence = ""
    match path.strip("/").split("/"):
        case ["api", "v1", "namespaces", _, "pods", _, subresource]:
            sentence = _OF_PODS.get(subresource, "")
        case [*_, "namespaces", _, _, _, "scale"]:
            sentence = _NO_SCALE
    return StatusError(sentence, code=405, reason="MethodNotAllowed") if sentence else None
