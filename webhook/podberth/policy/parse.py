"""Parses policy files, and reports every problem of every document with its line and column.

A file holds GPUPolicy documents, the ConfigMaps that are their default params, GPUPolicyExceptions, and policies of
single namespaces. Other modules compile the expressions. This module opens no file.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from ..cel.compile_limits import MAX_DEPTH, MAX_TEXT_BYTES
from ..errors import Problem
from ..kube.documents import PositionedDocument, load_documents
from ..kube.paths import Path
from ..kube.positions import Positions, render_path
from ..kube.shape import shown
from ..kube.unchecked import text
from ..wellknown import API_VERSION, EXCEPTION_KIND, NAMESPACED_KIND, POLICY_KIND
from ..words import did_you_mean
from .exception_model import GPUPolicyException
from .model import GPUPolicy
from .namespaced_model import NamespacedGPUPolicy
from .partial import without_refused
from .refusals import Refusal, refusals, refused_selector
from .wording import explain, of_boolean

# More problems than fit on a screen; an author with still more problems fixes these first
MAX_PROBLEMS = 50
_EMPTY: Final = f"got no document, want a {POLICY_KIND}, or params; delete the file to remove its policies"
# (the start of an apiVersion, the policy engine)
_ENGINES: Final = (
    ("kyverno.io/", "Kyverno"),
    ("policies.kyverno.io/", "Kyverno"),
    ("templates.gatekeeper.sh/", "Gatekeeper"),
    ("constraints.gatekeeper.sh/", "Gatekeeper"),
    ("mutations.gatekeeper.sh/", "Gatekeeper"),
)
_NOT_CONVERTED: Final = (
    f"whose rules podberth does not read or convert, want a {POLICY_KIND}, ValidatingAdmissionPolicy or "
    "MutatingAdmissionPolicy; write the rules in CEL (docs/convert.md, From Kyverno or Gatekeeper)"
)

_LONGEST_TAG: Final = 80
# The characters before a value that has a tag, and the tag's first character; quoted expressions may match, too
_TAG: Final = re.compile(r"(?:[\w\"']:|(?<!\S)-)\s+!(?!!)")

_Document = TypeVar("_Document", GPUPolicy, GPUPolicyException, NamespacedGPUPolicy)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document, with the positions of its values in the file."""

    file: str
    positions: Positions

    def problem(self, path: Path, message: str, line: int = 1, column: int = 1) -> Problem:
        """Return a problem at ``line`` and ``column`` (from 1) within the value at ``path`` in the document."""
        return Problem(self.file, *self.positions.within(path, line, column), render_path(path), message)


@dataclass(frozen=True, slots=True)
class ParsedPolicy(Parsed):
    """A GPUPolicy, with the positions of the policy's values in the file."""

    policy: GPUPolicy


@dataclass(frozen=True, slots=True)
class ParsedNamespaced(ParsedPolicy):
    """A NamespacedGPUPolicy with the positions of its values in the file.

    The field ``policy`` has the policy as a GPUPolicy.
    """

    namespace: str
    created: str
    """The creation time that the API server wrote; empty for a policy of a file."""


@dataclass(frozen=True, slots=True)
class ParsedException(Parsed):
    """A GPUPolicyException, with the positions of the exception's values in the file."""

    source: GPUPolicyException


@dataclass(frozen=True, slots=True)
class ParsedPolicies:
    """The content of policy files.

    ``params`` is a mapping from (namespace, name) to a ConfigMap. If there are very many problems, only the first are
    kept.
    """

    policies: tuple[ParsedPolicy, ...] = ()
    params: Mapping[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    others: tuple[tuple[str, PositionedDocument], ...] = ()
    """(file, document) for each document of another kind that the caller of ``parse_policies`` asked for."""
    exceptions: tuple[ParsedException, ...] = ()
    """The exceptions, sorted by name."""
    namespaced: tuple[ParsedNamespaced, ...] = ()
    """The policies of namespaces, sorted by namespace and name."""
    refused: tuple[Parsed, ...] = ()
    """The documents with problems, as far as they could be read (``policy.partial``). They are only compiled, for the
    problems of their expressions (``policy.refused``)."""

    @property
    def names(self) -> frozenset[str]:
        """The names of the policies of the cluster, also of those that are refused."""
        read = (*self.policies, *(each for each in self.refused if isinstance(each, ParsedPolicy)))
        return frozenset(each.policy.name for each in read if not isinstance(each, ParsedNamespaced))


def parse_policies(
    texts: Iterable[tuple[str, str]], others: Callable[[Mapping[str, Any]], bool] = lambda _: False
) -> ParsedPolicies:
    """Parse policy files, given as pairs of file name and text.

    A policy with a problem is left out, and so is a second policy with a name that another policy has; both are
    reported as problems. A file without any document is a problem, too. ``others`` decides about a document that is no
    policy: if True, the document is in the field ``others`` of the result; if False, the document is a problem.
    """
    reader = _Reader(others)
    for file, content in texts:
        if message := excess_of_text(content):
            reader.problems.append(Problem(file, 1, 1, "", message))
            continue
        documents, problems = load_documents(content, file)
        # An empty file may be truncated or still being written, so it is a problem, and does not remove its policies.
        reader.problems += problems or ([] if documents else [Problem(file, 0, 0, "", _EMPTY)])
        may_have_tags = _TAG.search(content) is not None
        for document in documents:
            tags = _tags(file, document.positions) if may_have_tags else []
            reader.problems += tags
            if not tags:
                reader.read(file, document)
    policies = tuple(parsed for _, parsed in sorted(reader.policies.items()))
    exceptions = tuple(parsed for _, parsed in sorted(reader.exceptions.items()))
    namespaced = tuple(parsed for _, parsed in sorted(reader.namespaced.items()))
    return ParsedPolicies(
        policies,
        reader.params,
        _capped(reader.problems),
        tuple(reader.others),
        exceptions,
        namespaced,
        tuple(reader.refused),
    )


def _tags(file: str, positions: Positions) -> list[Problem]:
    """Return a problem for each unquoted value that begins with ``!``, which YAML reads as a tag, CEL as a negation."""
    advice = "as a tag, and not as a part of the text; put the whole text into quotes"
    found = positions.tagged()
    return [positions.problem(file, path, f"YAML reads {tag:.{_LONGEST_TAG}} {advice}") for path, tag in found]


def excess_of_text(text: str) -> str:
    """Return a message if a policy file's text is too large to be parsed; else empty."""
    size = len(text.encode(errors="replace"))
    if size <= MAX_TEXT_BYTES:
        return ""
    return f"got {size:,} bytes, want {MAX_TEXT_BYTES:,} at most; make several files of it"


def excess_of_document(document: object) -> str:
    """Return a message if a document is too large, or nested too deeply, to be written as YAML; else empty.

    The size of the content is compared with the limit. The YAML is longer than the content, so it may slightly exceed
    the limit.
    """
    size, level, depth = 0, [document], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return f"nested more than {MAX_DEPTH} deep"
        inner: list[object] = []
        for value in level:
            size += len(value) if isinstance(value, str) else 1
            if isinstance(value, dict):
                inner += [*value.keys(), *value.values()]
            elif isinstance(value, list):
                inner += value
        if size > MAX_TEXT_BYTES:
            return f"got more than {MAX_TEXT_BYTES:,} bytes; make several policies of it"
        level = inner
    return ""


class _Reader:
    """Collects the policies, ConfigMaps, exceptions and problems of the documents in several files."""

    def __init__(self, is_other: Callable[[Mapping[str, Any]], bool]) -> None:
        self.others: list[tuple[str, PositionedDocument]] = []
        self._is_other = is_other
        self.policies: dict[str, ParsedPolicy] = {}
        self.params: dict[tuple[str, str], dict[str, Any]] = {}
        self.exceptions: dict[str, ParsedException] = {}
        self.namespaced: dict[tuple[str, str], ParsedNamespaced] = {}
        self.refused: list[Parsed] = []
        self.problems: list[Problem] = []
        self._seen: dict[tuple[str, ...], tuple[str, int]] = {}

    def read(self, file: str, document: PositionedDocument) -> None:
        """Read one document, and add the document's policy, ConfigMap, exception or problems to the result."""
        content, positions = document.document, document.positions
        if content.get("kind") == POLICY_KIND:
            self._read_policy(file, content, positions)
        elif content.get("kind") == EXCEPTION_KIND:
            self._read_exception(file, content, positions)
        elif content.get("kind") == NAMESPACED_KIND:
            self._read_namespaced(file, content, positions)
        elif content.get("kind") == "ConfigMap" and content.get("apiVersion") == "v1":
            self._read_params(file, content, positions)
        elif self._is_other(content):
            self.others.append((file, document))
        else:
            self._refuse_kind(file, content, positions)

    def _read_policy(self, file: str, content: dict[str, Any], positions: Positions) -> None:
        policy, is_valid = self._validated(GPUPolicy, file, content, positions)
        if policy is None:
            return
        parsed = ParsedPolicy(file, positions, policy)
        if self._accepted(parsed, refusals(policy), (POLICY_KIND, policy.name), is_valid=is_valid):
            self.policies[policy.name] = parsed

    def _read_exception(self, file: str, content: dict[str, Any], positions: Positions) -> None:
        exception, is_valid = self._validated(GPUPolicyException, file, content, positions)
        if exception is None:
            return
        parsed = ParsedException(file, positions, exception)
        wrong = refused_selector(exception.spec.pod_selector, ("spec", "podSelector"))
        if self._accepted(parsed, wrong, (EXCEPTION_KIND, exception.name), is_valid=is_valid):
            self.exceptions[exception.name] = parsed

    def _read_namespaced(self, file: str, content: dict[str, Any], positions: Positions) -> None:
        found, is_valid = self._validated(NamespacedGPUPolicy, file, content, positions)
        if found is None:
            return
        policy, namespace = found.as_policy(), found.metadata.namespace
        created = text(found.metadata.creation_timestamp)
        parsed = ParsedNamespaced(file, positions, policy, namespace, created)
        if self._accepted(parsed, refusals(policy), (NAMESPACED_KIND, namespace, policy.name), is_valid=is_valid):
            self.namespaced[namespace, policy.name] = parsed

    def _validated(
        self, model: type[_Document], file: str, content: dict[str, Any], positions: Positions
    ) -> tuple[_Document | None, bool]:
        """Return (a document as an instance of ``model``, whether the document is valid).

        If the document is invalid, add its problems, and return what is valid in it; None if that is too little.
        """
        try:
            return model.model_validate(content), True
        except ValidationError as error:
            self.problems += [
                positions.problem(file, path, of_boolean(message, positions.boolean_word(path)), of_key=of_key)
                for path, of_key, message in explain(error, model)
            ]
            return without_refused(content, error, model), False

    def _read_params(self, file: str, content: dict[str, Any], positions: Positions) -> None:
        metadata = content.get("metadata")
        names = [metadata.get(key) if isinstance(metadata, dict) else None for key in ("namespace", "name")]
        for key, value in zip(("namespace", "name"), names, strict=True):
            if not isinstance(value, str) or not value:
                path: Path = ("metadata", key)
                message = f"the field {key!r} is required; a ConfigMap beside policies is their params"
                self.problems.append(positions.problem(file, path, message))
        data = content.get("data") or {}
        entries = data.items() if isinstance(data, dict) else [("", data)]
        for key, value in entries:
            if not isinstance(value, str):
                path = ("data", key) if key else ("data",)
                message = f"got {shown(value)}, want a string; ConfigMaps hold nothing else"
                self.problems.append(positions.problem(file, path, message))
        namespace, name = names
        if (
            isinstance(namespace, str)
            and isinstance(name, str)
            and self._first(file, positions, ("ConfigMap", namespace, name))
        ):
            self.params[namespace, name] = content

    def _refuse_kind(self, file: str, content: dict[str, Any], positions: Positions) -> None:
        named = [content.get(field) or f"no {field}" for field in ("apiVersion", "kind")]
        got = (" " if all(map(content.get, ("apiVersion", "kind"))) else ", ").join(map(str, named))
        path: Path = ("kind",) if "kind" in content else ()
        engine = next((name for group, name in _ENGINES if str(content.get("apiVersion")).startswith(group)), "")
        if engine:
            self.problems.append(positions.problem(file, path, f"got {got} of {engine}, {_NOT_CONVERTED}"))
            return
        kinds = f"{POLICY_KIND}, {EXCEPTION_KIND} or {NAMESPACED_KIND}"
        wanted = f"{API_VERSION} {kinds}, or a v1 ConfigMap (params)"
        kind, is_ours = str(named[1]), content.get("apiVersion") in (None, API_VERSION)
        near = did_you_mean(kind, (POLICY_KIND, EXCEPTION_KIND, NAMESPACED_KIND)) if is_ours else ""
        message = f"got {kind!r}, want {kinds}{near}" if near else f"got {got}, want {wanted}; move it elsewhere"
        self.problems.append(positions.problem(file, path, message))

    def _accepted(self, parsed: Parsed, refused: Iterable[Refusal], key: tuple[str, ...], *, is_valid: bool) -> bool:
        """Return whether a document is valid, refused for nothing, and the first with its kind and name (``key``).

        Else the document is added to the refused ones.
        """
        wrong = [parsed.positions.problem(parsed.file, path, message) for path, message in refused] if is_valid else []
        self.problems += wrong
        accepted = is_valid and not wrong and self._first(parsed.file, parsed.positions, key)
        if not accepted:
            self.refused.append(parsed)
        return accepted

    def _first(self, file: str, positions: Positions, key: tuple[str, ...]) -> bool:
        position = positions.at(("metadata", "name"))
        if key not in self._seen:
            self._seen[key] = (file, position.line)
            return True
        where = "{}:{}".format(*self._seen[key])
        message = f"{key[0]} {key[-1]!r} is already in {where}; names are unique in all files together"
        self.problems.append(Problem(file, *position, "metadata.name", message))
        return False


def _capped(problems: list[Problem]) -> tuple[Problem, ...]:
    ordered = sorted(set(problems))
    if len(ordered) <= MAX_PROBLEMS:
        return tuple(ordered)
    last = ordered[MAX_PROBLEMS - 1]
    more = f"{len(ordered) - MAX_PROBLEMS} more problems follow; fix these first"
    return (*ordered[:MAX_PROBLEMS], Problem(last.file, 0, 0, "", more))
