"""The syntaxes of the Kubernetes API: names, label keys and values; each with its sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from moorage.embedded.status import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "check_annotations",
    "check_labels",
    "check_name",
    "check_qualified",
    "check_supported",
    "invalid_value",
    "required",
]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED_PART})?"

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
    f"used for validation is '{_SUBDOMAIN}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
    f"used for validation is '{_LABEL}')"
)
# Syntax, most characters, sentence.
_NAME_RULES = {
    "subdomain": (re.compile(_SUBDOMAIN), 253, _SUBDOMAIN_RULE),
    "label": (re.compile(_LABEL), 63, _LABEL_RULE),
}
_PART_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_QUALIFIED_PART}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '{_VALUE}')"
)
_part = re.compile(_QUALIFIED_PART)
_value = re.compile(_VALUE)
_LONGEST_PART = 63
_LARGEST_ANNOTATIONS = 256 * 1024


def required(field: str, why: str = "") -> Cause:
    """Return the cause of a field that has to be given."""
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def invalid_value(field: str, value: object, why: str) -> Cause:
    """Return the cause of a value that breaks a rule; text is shown in double quotes."""
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", field)


def check_supported(field: str, value: object, supported: Iterable[str]) -> list[Cause]:
    """Return the cause of a value that is not one of those supported."""
    supported = list(supported)
    if value in supported:
        return []
    listed = ", ".join(f'"{one}"' for one in supported)
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    message = f"Unsupported value: {shown}: supported values: {listed}"
    return [Cause("FieldValueNotSupported", message, field)]


def check_name(field: str, name: str, rule: str = "subdomain") -> list[Cause]:
    """Check a name: `rule` is ``subdomain``, ``label``, or ``path`` (only no slash or percent)."""
    if rule == "path":
        if name in {".", ".."} or "/" in name or "%" in name:
            return [invalid_value(field, name, "may not be '.' or '..', or contain '/' or '%'")]
        return []
    syntax, longest, sentence = _NAME_RULES[rule]
    if len(name) > longest:
        return [invalid_value(field, name, f"must be no more than {longest} characters")]
    return [] if syntax.fullmatch(name) else [invalid_value(field, name, sentence)]


def check_qualified(field: str, name: str) -> list[Cause]:
    """Check ``name`` or ``example.com/name``: the syntax of label keys, resources and taints."""
    prefix, slash, part = name.rpartition("/")
    if slash and not _NAME_RULES["subdomain"][0].fullmatch(prefix):
        sentence = f"prefix part {_SUBDOMAIN_RULE}" if prefix else "prefix part must be non-empty"
        return [invalid_value(field, name, sentence)]
    if not part:
        return [invalid_value(field, name, "name part must be non-empty")]
    if len(part) > _LONGEST_PART:
        return [
            invalid_value(field, name, f"name part must be no more than {_LONGEST_PART} characters")
        ]
    return [] if _part.fullmatch(part) else [invalid_value(field, name, _PART_RULE)]


def check_label_value(field: str, value: str) -> list[Cause]:
    """Check a label's value."""
    if len(value) > _LONGEST_PART:
        return [invalid_value(field, value, f"must be no more than {_LONGEST_PART} characters")]
    return [] if _value.fullmatch(value) else [invalid_value(field, value, _VALUE_RULE)]


def check_labels(field: str, labels: Mapping[str, str]) -> list[Cause]:
    """Check keys and values of labels or of a node selector."""
    causes: list[Cause] = []
    for key, value in labels.items():
        causes += check_qualified(field, key)
        causes += check_label_value(field, value)
    return causes


def check_annotations(field: str, annotations: Mapping[str, str]) -> list[Cause]:
    """Check the keys of annotations, and their size together."""
    causes = [cause for key in annotations for cause in check_qualified(field, key.lower())]
    if sum(len(key) + len(value) for key, value in annotations.items()) > _LARGEST_ANNOTATIONS:
        causes.append(
            Cause(
                "FieldValueTooLong",
                f"Too long: may not be more than {_LARGEST_ANNOTATIONS} bytes",
                field,
            )
        )
    return causes
