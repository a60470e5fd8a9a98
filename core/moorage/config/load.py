"""A configuration file, YAML or JSON, to a checked configuration with its defaults filled in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic import ValidationError

from moorage.config.checks import problems
from moorage.config.defaults import with_defaults
from moorage.config.plugin_settings import (
    MOORAGE_API_VERSION,
    MOORAGE_KIND,
    MoorageConfiguration,
)
from moorage.config.schema import API_VERSION, KIND, KubeSchedulerConfiguration
from moorage.config.sentences import Problem, refusal, shown, validation_sentence
from moorage.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ["load_configuration", "parse_configuration"]

_TEXT: Final = "tag:yaml.org,2002:str"
_MERGE: Final = "tag:yaml.org,2002:merge"
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


def load_configuration(path: str | Path) -> KubeSchedulerConfiguration:
    """Read, check and complete the configuration in a file.

    Raises ConfigurationError, naming the file and where there is one the field, if the file
    cannot be read or kube-scheduler would refuse what is in it (plugin arguments apart, which the
    plugins check).
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not a text in UTF-8; is this the right file?") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(f"{path}: cannot be read: {reason}") from error
    return parse_configuration(text, file=str(path))


def parse_configuration(text: str, *, file: str) -> KubeSchedulerConfiguration:
    """As `load_configuration`, from a text; `file` is what errors call it."""
    document, own = _documents(text, file=file)
    _require_supported_type(document, file=file)
    try:
        written = KubeSchedulerConfiguration.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        sentence = validation_sentence(error, file=file, model=KubeSchedulerConfiguration)
        raise ConfigurationError(sentence) from None
    configuration = with_defaults(written, file=file).beside(_moorage(own, file=file))
    if found := problems(configuration):
        raise refusal(found, file=file)
    return configuration


def _documents(text: str, *, file: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the KubeSchedulerConfiguration, unchecked, and the MoorageConfiguration, if any."""
    if text.lstrip().startswith("{"):
        text = text.replace("\t", " ")  # JSON may be indented with tabs, YAML may not
    try:
        found = list(_read(text))
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{file}: {_yaml_problem(error, text)}") from error
    except RecursionError:
        raise ConfigurationError(f"{file}: nested too deeply to be a configuration") from None
    documents: dict[str, dict[str, Any]] = {}
    for line, document in found:
        if not isinstance(document, dict):
            raise ConfigurationError(
                f"{file}: must hold a mapping, a {KIND}, not {shown(document)}"
            )
        kind = MOORAGE_KIND if document.get("kind") == MOORAGE_KIND else KIND
        if kind in documents:
            raise ConfigurationError(
                f"{file}: line {line}: a second document; a configuration is a single {KIND}, "
                f"beside which a {MOORAGE_KIND} may stand"
            )
        documents[kind] = document
    if KIND not in documents:
        problem = f"has a {MOORAGE_KIND} alone" if documents else "empty"
        raise ConfigurationError(f"{file}: {problem}; it must hold a {KIND} of {API_VERSION}")
    return documents[KIND], documents.get(MOORAGE_KIND, {})


def _read(text: str) -> Iterator[tuple[int, object]]:
    """Read documents that are not empty, each with the line that it begins in."""
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            document = None if node is None else loader.construct_document(node)
            if node is not None and document is not None:
                yield node.start_mark.line + 1, document
    finally:
        loader.dispose()


def _moorage(document: dict[str, Any], *, file: str) -> MoorageConfiguration:
    if document and document.get("apiVersion") != MOORAGE_API_VERSION:
        problem = f"{document.get('apiVersion')!r} is not supported; write {MOORAGE_API_VERSION}"
        raise refusal([Problem("apiVersion", problem)], file=f"{file}: {MOORAGE_KIND}")
    try:
        return MoorageConfiguration.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        where = f"{file}: {MOORAGE_KIND}"
        sentence = validation_sentence(error, file=where, model=MoorageConfiguration)
        raise ConfigurationError(sentence) from None


def _require_supported_type(document: dict[str, Any], *, file: str) -> None:
    """Before anything else: of another version, every field could mean something else."""
    for key, supported in (("kind", KIND), ("apiVersion", API_VERSION)):
        if (value := document.get(key)) != supported:
            found = "is missing" if value is None else f"{value!r} is not supported"
            raise refusal([Problem(key, f"{found}; write {key}: {supported}")], file=file)


def _yaml_problem(error: yaml.YAMLError, text: str) -> str:
    """Say what PyYAML found in `text`, with the line and without the words of its parser."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"line {line}: not YAML: it has the control character {chr(error.character)!r}"
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f"not YAML: {' '.join(str(error).split())}"
    where, problem = f"line {error.problem_mark.line + 1}", error.problem or "unreadable"
    if isinstance(error, _Refusal):
        return f"{where}: {problem}"
    return f"{where}: not YAML: {problem.replace('<stream end>', 'the end of the file')}"


class _Refusal(yaml.constructor.ConstructorError):
    """What YAML allows and a configuration does not."""

    def __init__(self, problem: str, mark: yaml.Mark) -> None:
        super().__init__(None, None, problem, mark)


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes takes it: keys are text, none twice; a date is text; it is a tree."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse an alias to what it stands in itself: such a document has no end."""
        node = super().compose_node(parent, index)
        if node is not None and node.end_mark is None:  # not complete, so still being composed
            raise _Refusal("an alias refers to what it stands in itself", node.start_mark)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Refuse what a dict would hide: the second of two equal keys wins in it."""
        seen = set()
        for key_node, _ in node.value:
            key, mark = key_node.value, key_node.start_mark
            if key_node.tag not in {_TEXT, _MERGE}:
                subject = f"the key {key!r}" if isinstance(key, str) else "a key"
                raise _Refusal(f"{subject} must be text; quote it", mark)
            if key in seen:
                raise _Refusal(f"the key {key!r} is here already", mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
