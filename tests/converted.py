"""Converted policies for tests: what a GPUPolicy and the native policy made of it say about the same pod."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any

import yaml

from builders import container, pod, review
from natives import USER, environment, located
from pages import ROOT
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.cel.engine import ReviewContext
from podberth.conventions import Conventions
from podberth.convert.folder import convert
from podberth.convert.result import Converted, as_text
from podberth.files.loading import find_suites
from podberth.kube.patch import apply
from podberth.kube.quantity import write_quantities
from podberth.native.documents import is_native, read
from podberth.native.mutating import MutatingPolicies
from podberth.native.params import Objects
from podberth.native.policies import NativePolicies
from podberth.native.request import creation_of
from podberth.native.resources import Resources
from podberth.policy.parse import parse_policies
from podberth.suite.case_file import parse_suite
from podberth.topology.index import TopologyIndex
from podberth.topology.need import Need
from podberth.wellknown import APPLIED_ANNOTATION
from podberth.workload.templates import templates
from snapshots import environment as of_gpu
from snapshots import snapshot

JSON = dict[str, Any]
RESOURCES = (
    *(
        "nvidia.com/gpu",
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-2g.10gb.shared",
        "amd.com/gpu",
    ),
    *("nvidia.com/gpumem", "rdma/hca", "cpu", "deviceclass.resource.kubernetes.io/gpu.nvidia.com", "habana.ai/gaudi"),
)


_NAMESPACES = {
    name: {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
    }
    for name in ("default", "ml", "vision", "kube-system")
}


@cache
def converted(text: str) -> Converted:
    """Return the policies of a text as the other kind; nobody changes its documents."""
    return convert(parse_policies([("policy.yaml", text)], is_native), of_gpu(), environment())


def back(found: Converted) -> Converted:
    """Return the documents converted once more, by way of their text."""
    return converted(as_text(found.documents))


def random_pods(seed: str, count: int) -> Iterator[JSON]:
    """Yield pods that the API server takes, of several containers that ask for all sorts of resources."""
    random = Random(seed)  # noqa: S311 - the same in each run
    for number in range(count):
        main = [_container(random, f"c{each}") for each in range(random.randint(1, 3))]
        init = [_container(random, f"i{each}") for each in range(random.choice((0, 0, 1, 2, 3)))]
        for each in init:
            if random.random() < 0.4:
                each["restartPolicy"] = "Always"
        annotations = {"gpu-fraction": "0.5"} if random.random() < 0.05 else None
        labels = {"team": random.choice(("a", "b"))} if random.random() < 0.5 else None
        yield pod(*main, name=f"pod-{number}", init=init, annotations=annotations, labels=labels)


def _container(random: Random, name: str) -> JSON:
    names = random.sample(RESOURCES, random.choice((0, 1, 1, 2)))
    return container(name, limits={each: random.choice(("0", "1", "2", "8", "1k")) for each in names})


@cache
def cases() -> Mapping[str, list[JSON]]:
    """Return the pods of the shipped suites, by the folder of their policy."""
    found: dict[str, list[JSON]] = {}
    for directory in ("policies", "optional-policies"):
        for files in find_suites(ROOT / directory):
            text, file = files.suite[1], files.suite[0]
            suite, _ = parse_suite(text, file)
            assert suite is not None
            pods = [{"apiVersion": "v1", "kind": "Pod", **each.pod} for each in suite.cases if each.pod]
            found[file.rsplit("/", 2)[1]] = [each for each in pods if each["spec"].get("containers")]
    return found


def said_of(text: str, found: Converted) -> list[JSON]:
    """Return the documents of a text without what the conversion has left out."""
    kept = []
    names = {each["metadata"]["name"] for each in found.documents if each["kind"] != "ConfigMap"}
    for document in yaml.safe_load_all(text):
        if document["kind"] == "GPUPolicy":
            if document["metadata"]["name"] not in names:
                continue
            spec = document["spec"]
            spec.pop("claimTemplates", None)
            if "MutatingAdmissionPolicy" not in {each["kind"] for each in found.documents}:
                spec.pop("mutations", None)
            for where in (each.where for each in found.left_out):
                match = re.fullmatch(r"spec\.(\w+)(?:\[(\d+)\])?(?:\.(\w+))?", where)
                assert match is not None
                field, index, below = match.groups()
                if field == "validations" and below == "expression":
                    spec["validations"][int(index)] = None
                elif field == "validations":
                    del spec["validations"][int(index)][below]
                elif field == "mutations" and index and below != "reason" and "mutations" in spec:
                    spec["mutations"][int(index)] = None
            if "mutations" in spec:
                spec["mutations"] = [each for each in spec["mutations"] if each is not None]
            spec["validations"] = [each for each in spec.get("validations") or () if each is not None]
        kept.append(document)
    return kept


class Both:
    """A policy in both forms."""

    def __init__(self, text: str) -> None:
        """Convert the policies of a text, and have both forms judge."""
        self.converted = converted(text)
        said = map(yaml.safe_dump, said_of(text, self.converted))
        self._gpu = snapshot(*said, objects=_NAMESPACES.values())
        native = [each for each in self.converted.documents if each["kind"] != "ConfigMap"]
        params = [each for each in self.converted.documents if each["kind"] == "ConfigMap"]
        resources = Resources()
        objects = Objects([*params, *_NAMESPACES.values()], resources, "default")
        nowhere = ReviewContext(TopologyIndex.build([], Conventions()), Need())
        self._resources = resources
        world = (environment(), nowhere, objects, _NAMESPACES)
        self._native = NativePolicies(read(located(*native)), *world)
        self._mutating = MutatingPolicies(read(located(*native)), *world)
        assert not self._native.problems, self._native.problems
        assert not self._mutating.problems, self._mutating.problems

    def written(self, document: JSON) -> tuple[JSON, JSON, JSON]:
        """Return a pod as it was, and as the GPUPolicies and the native policies make it, without podberth's record."""
        made = self._made(document)
        outcome = decide.mutate(decode_review(review(made, userInfo=USER)), self._gpu)
        ours = apply(made, outcome.patch)
        creation, problems = creation_of(made, self._resources, namespace="default", user=USER)
        assert creation is not None, problems
        mutated = self._mutating.mutate(creation)
        assert not mutated.decisions, mutated.decisions
        theirs = dict(mutated.creation.object)
        return _plain(made), _plain(ours), _plain(theirs)

    def _made(self, document: JSON) -> Any:
        given = deepcopy(document)
        given["metadata"] = {"namespace": "default", **(given.get("metadata") or {})}
        made: Any = templates(given, namespace="default")[0].pod
        write_quantities(made)
        return made

    def answers(self, document: JSON) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what the GPUPolicies and the native policies say about the creation of a pod: their messages."""
        made = self._made(document)
        request = decode_review(review(made, userInfo=USER))
        outcome = decide.validate(request, self._gpu)
        ours = [outcome.denial, *outcome.warnings]
        creation, problems = creation_of(made, self._resources, namespace="default", user=USER)
        assert creation is not None, problems
        found = [each for each in self._native.judge(creation)[1] if each.action != "note"]
        return tuple(filter(None, ours)), tuple(f"{each.action} {each.policy}: {each.message}" for each in found)


def _plain(pod: JSON) -> JSON:
    """Return what policies write on a pod: without podberth's record, and without fields that are empty."""
    found = deepcopy(pod)
    (found["metadata"].get("annotations") or {}).pop(APPLIED_ANNOTATION, None)
    kept = {key: found["metadata"].get(key) for key in ("labels", "annotations")}
    return _filled({"metadata": kept, "spec": found["spec"]}) or {}


def _filled(value: Any) -> Any:
    """Return a value without empty parts; None if nothing is left."""
    if isinstance(value, dict):
        return {key: found for key, each in value.items() if (found := _filled(each)) is not None} or None
    if isinstance(value, list):
        return [found for each in value if (found := _filled(each)) is not None] or None
    return value


def shipped_policies() -> Iterator[tuple[str, str, str]]:
    """Yield each shipped policy: its folder, its name, and its text with the params beside it."""
    for directory in ("policies", "optional-policies"):
        for folder in sorted((ROOT / directory).iterdir()):
            policies = list(yaml.safe_load_all((folder / "policy.yaml").read_text(encoding="utf-8")))
            beside = folder / "params.yaml"
            params = list(yaml.safe_load_all(beside.read_text(encoding="utf-8"))) if beside.exists() else []
            for each in policies:
                yield folder.name, each["metadata"]["name"], yaml.safe_dump_all([each, *params])
