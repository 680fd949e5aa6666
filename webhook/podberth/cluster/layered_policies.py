"""Combines two layers of policies: the policies of files, and above them the GPUPolicies of the cluster.

As long as a GPUPolicy exists, it replaces the file's policy with an equal name; a disabled GPUPolicy switches the
file's policy off. The policies of all files take effect together, or no new policy of a file takes effect. A GPUPolicy
with errors affects no other policy: the GPUPolicy's last working version stays in force; without such a version, the
file's policy stays in force. The problems of a GPUPolicy have positions in the output of ``kubectl get gpupolicy NAME
-o yaml``, because the file that a user applied is not known.

A GPUPolicyException of the cluster replaces a file's exception with an equal name. An exception with errors has no
effect, so the policies still apply to the pods of the exception. The exception's problems are in ``Snapshot.notes``,
which the webhook writes to its log.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from ..admission.snapshot import Snapshot, load_snapshot, load_working, with_notes
from ..api.protocol import Document
from ..cel.engine import Environment
from ..conventions import Conventions
from ..errors import PolicyError, Problem
from ..facts.cluster import ClusterFacts
from ..files.deadline import new_environment
from ..files.loading import PolicyFiles, not_served
from ..files.source import Loaded, PolicyState, Verdict
from ..kube.schema import PodSchema
from ..kube.yaml_text import as_yaml
from ..policy.parse import ParsedPolicies, ParsedPolicy, excess_of_document, parse_policies

# How the text begins that problems of an object of the cluster show in place of a file's name.
OF_POLICIES: Final = "gpupolicy/"
OF_EXCEPTIONS: Final = "gpupolicyexception/"
OF_NAMESPACED: Final = "namespacedgpupolicy/"


class LayeredPolicies:
    """Combines the policies of files and the GPUPolicies of a cluster, as the source of the snapshot."""

    def __init__(self, files: PolicyFiles | None, conventions: Conventions, pod_schema: PodSchema) -> None:
        """Create the source without GPUPolicies. Policies are checked against the Pod schema ``pod_schema``.

        ``files`` is None if all policies are GPUPolicies of the cluster.
        """
        self._files = files
        self._conventions = conventions
        self._pod_schema = pod_schema
        self._files_seen: object = None
        self._refused: tuple[Problem, ...] = ()
        """The problems of the policy files at the last reading."""
        self._base = None if files else ParsedPolicies()
        """The policies of the files at the last reading without errors; None if every reading had errors."""
        self._alone: Snapshot | None = None
        """The compiled snapshot of the files without any GPUPolicy; None if not compiled yet."""
        self.documents: Mapping[str, Document] | None = None
        """The GPUPolicies of the cluster by name; None until all are known."""
        self._exceptions: Mapping[str, Document] = {}
        """The GPUPolicyExceptions of the cluster by name."""
        self._changes = 0
        self._judged: Mapping[str, tuple[object, int]] = {}
        """The uid and the generation of each GPUPolicy in the last call of ``load``."""
        self._good: dict[str, ParsedPolicy] = {}
        """The GPUPolicies that are in force since the last call of ``load``, by name, including disabled GPUPolicies.
        """

    def take(self, documents: Mapping[str, Document]) -> None:
        """Receive the present GPUPolicies, which take effect with the next call of ``load``.

        A change that keeps the generation of every policy, such as a new status, needs no call of ``load``.
        """
        changed = self.documents is None or _versions(documents) != _versions(self.documents)
        # The mapping is replaced and not changed, because a load in a thread may be reading it. It is replaced before
        # the revision changes.
        self.documents = documents
        self._changes += changed

    def take_exceptions(self, documents: Mapping[str, Document]) -> None:
        """Receive the present GPUPolicyExceptions, which take effect with the next call of ``load``."""
        changed = _versions(documents) != _versions(self._exceptions)
        self._exceptions = documents
        self._changes += changed

    def judged(self) -> dict[str, Document]:
        """Return the present GPUPolicies, by name, that are unchanged since the last call of ``load``.

        The result of that call (``Loaded.verdicts``) is valid for exactly the returned GPUPolicies.
        """
        documents = self.documents or {}
        versions = _versions(documents)
        return {name: each for name, each in documents.items() if versions[name] == self._judged.get(name)}

    def revision(self) -> Mapping[str, object]:
        """Return a mapping that changes whenever the policies change.

        Its only value has the revision of the files and the number of changes of the cluster's policies.
        """
        return {"policies": (self._files and self._files.revision(), self._changes)}

    def load(self) -> Loaded:
        """Compile all policies. If the files have errors, the earlier policies of the files stay in force.

        Raises:
            PolicyError: the files have errors, and no earlier policies of the files are known.
        """
        documents = self.documents
        refused = self._read_files()
        loaded = self._together(documents or {}) if documents or self._exceptions else self._without_objects()
        self._judged = _versions(documents or {})
        if self._base and (natives := not_served(self._base)):
            loaded = replace(loaded, snapshot=replace(loaded.snapshot, notes=(*loaded.snapshot.notes, *natives)))
        return replace(loaded, complete=documents is not None, refused=refused)

    def _read_files(self) -> tuple[Problem, ...]:
        """Read the policy files if changed; return the problems for which the present files are refused."""
        if self._files is None or (revision := self._files.revision()) == self._files_seen:
            return self._refused
        try:
            parsed = self._files.read()
            # The files are compiled without GPUPolicies, because whether the files can be used must not depend on which
            # of their policies GPUPolicies replace.
            alone = self._snapshot(parsed)
        except PolicyError as error:
            if self._base is None:
                raise
            self._files_seen, self._refused = revision, error.problems
            return error.problems
        self._files_seen, self._refused, self._base, self._alone = revision, (), parsed, alone
        self._files.hold(parsed)
        return ()

    def _snapshot(self, parsed: ParsedPolicies) -> Snapshot:
        return load_snapshot(parsed, ClusterFacts(), new_environment(self._pod_schema), self._conventions)

    def _without_objects(self) -> Loaded:
        self._good = {}
        if self._alone is None:
            self._alone = self._snapshot(self._base or ParsedPolicies())
        return Loaded(self._alone)

    def _together(self, documents: Mapping[str, Document]) -> Loaded:
        self._alone = None
        # The last good version of an object does not count for an object that was created later with its name.
        uids = {name: uid for name, (uid, _) in _versions(documents).items()}
        self._good = {name: self._good[name] for name in self._good if self._judged[name][0] == uids.get(name)}
        # Documents are parsed one by one, because the parser reports only the first problems of all documents that it
        # parses together. Policies in force come first: if there is no room for all, the new policies are left out.
        ordered = sorted(documents, key=lambda name: (name not in self._good, name))
        parsed = [_parsed(name, documents[name]) for name in ordered]
        found = {each.policy.name: each for one in parsed for each in one.policies}
        environment = new_environment(self._pod_schema)
        excepting = self._excepting()
        snapshot, problems = self._compile(self._in_force(documents, found), excepting, environment)
        broken = by_policy(problems, OF_POLICIES)
        if any(name in found for name in broken):
            found = {name: each for name, each in found.items() if name not in broken}
            snapshot, _ = self._compile(self._in_force(documents, found), excepting, environment)
        broken = by_policy((*(each for one in parsed for each in one.problems), *problems), OF_POLICIES)
        self._good = {**self._kept(documents.keys() - found.keys()), **found}
        files = {each.policy.name: each.file for each in self._base.policies} if self._base else {}
        verdicts = tuple(
            Verdict(
                name=name,
                generation=generation_of(document),
                state=self._state(name, found, files),
                problems=broken.get(name, ()),
                replaces=files.get(name, ""),
            )
            for name, document in sorted(documents.items())
        )
        snapshot = with_notes(snapshot, list(self._in_force(documents, found).values()))
        unused = (*excepting.problems, *(each for each in problems if each.file.startswith(OF_EXCEPTIONS)))
        return Loaded(replace(snapshot, notes=(*snapshot.notes, *sorted(unused))), verdicts=verdicts)

    def _excepting(self) -> ParsedPolicies:
        """Return the exceptions of files and cluster; a cluster's exception replaces a file's with an equal name."""
        objects = [_parsed(name, each, OF_EXCEPTIONS) for name, each in sorted(self._exceptions.items())]
        files = self._base.exceptions if self._base else ()
        found = {each.source.name: each for each in files if each.source.name not in self._exceptions}
        found |= {each.source.name: each for one in objects for each in one.exceptions}
        problems = tuple(each for one in objects for each in one.problems)
        return ParsedPolicies(exceptions=tuple(found.values()), problems=problems)

    def _in_force(
        self, documents: Mapping[str, Document], found: Mapping[str, ParsedPolicy]
    ) -> dict[str, ParsedPolicy]:
        """Return the policies in force by name: policies of files that no GPUPolicy replaces, and the GPUPolicies.

        ``documents`` are all GPUPolicies, and ``found`` those that work. Any other GPUPolicy is in force in its last
        working version, if it has one.
        """
        objects = {**self._kept(documents.keys() - found.keys()), **found}
        files = self._base.policies if self._base else ()
        return {**{each.policy.name: each for each in files if each.policy.name not in objects}, **objects}

    def _compile(
        self, policies: Mapping[str, ParsedPolicy], excepting: ParsedPolicies, environment: Environment
    ) -> tuple[Snapshot, tuple[Problem, ...]]:
        params = self._base.params if self._base else {}
        namespaced = self._base.namespaced if self._base else ()
        parsed = ParsedPolicies(
            tuple(policies.values()), params, exceptions=excepting.exceptions, namespaced=namespaced
        )
        snapshot, problems = load_working(parsed, ClusterFacts(), environment, self._conventions)
        of_files = tuple(each for each in problems if not each.file.startswith((OF_POLICIES, OF_EXCEPTIONS)))
        if of_files:  # the files compiled without GPUPolicies, so the time limit must have passed now
            self._changes += 1  # so that the load is repeated
            raise PolicyError(of_files)
        return snapshot, problems

    def _kept(self, names: Iterable[str]) -> dict[str, ParsedPolicy]:
        return {name: self._good[name] for name in names if name in self._good}

    def _state(self, name: str, found: Mapping[str, ParsedPolicy], files: Mapping[str, str]) -> PolicyState:
        if name in found:
            return "disabled" if found[name].policy.spec.disabled else "active"
        return "outdated" if name in self._good or name in files else "broken"


def _parsed(name: str, document: Document, prefix: str = OF_POLICIES) -> ParsedPolicies:
    if message := excess_of_document(document):
        return ParsedPolicies(problems=(Problem(f"{prefix}{name}", 1, 1, "", message),))
    return parse_policies([(f"{prefix}{name}", text(document))])


def text(document: Mapping[str, Any]) -> str:
    """Return the YAML text of a policy or exception; the lines and columns of problems refer to this text."""
    return as_yaml({key: value for key, value in document.items() if key != "status"})


def texts_of(documents: Iterable[Mapping[str, Any]], prefix: str) -> tuple[tuple[str, str], ...]:
    """Return policies or exceptions of the cluster in the form of policy files: (``file_of``, YAML text)."""
    return tuple((file_of(each, prefix), text(each)) for each in documents)


def file_of(document: Mapping[str, Any], prefix: str) -> str:
    """Return ``prefix`` with NAME or NAMESPACE/NAME, which problems of an object show in place of a file's name."""
    metadata = document["metadata"]
    return prefix + "/".join(metadata[key] for key in ("namespace", "name") if key in metadata)


def _versions(documents: Mapping[str, Document]) -> dict[str, tuple[object, int]]:
    """Return a mapping from each policy's name to (uid, generation), which together change with every new spec."""
    return {name: (each["metadata"].get("uid"), generation_of(each)) for name, each in documents.items()}


def generation_of(document: Document) -> int:
    """Return the generation of an object; 0 if it has none."""
    generation = document["metadata"].get("generation")
    return generation if isinstance(generation, int) else 0


def by_policy(problems: Iterable[Problem], prefix: str) -> dict[str, tuple[Problem, ...]]:
    """Return a mapping from NAME or NAMESPACE/NAME of each policy with problems to the problems, in their order."""
    found: dict[str, tuple[Problem, ...]] = {}
    for each in problems:
        name = each.file.removeprefix(prefix)
        found[name] = (*found.get(name, ()), each)
    return found
