"""Two policies that write one field: the apiserver has the first one's value, and the user reads of both."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod
from podberth.wellknown import GANG_LABEL
from snapshots import policy

from . import fleet
from .manifest import GPU_TOLERATION, SKU_TOLERATION
from .podberth_process import Podberth
from .registration import Registration
from .space import Space

Document = dict[str, Any]

L4 = "NVIDIA-L4"


def selecting(key: str, value: str) -> Document:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return {"nodeAffinity": {"required": json.dumps([term])}}


def rewriting(to: str) -> Document:
    item = {"container": "main", "from": "nvidia.com/gpu", "to": to, "quantity": 1}
    return {"resources": json.dumps([item])}


def bearing(seconds: int) -> Document:
    item = {"key": "team", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    return {"tolerations": json.dumps([item])}


def drawing(level: str) -> Document:
    return {"topology": {"level": f"'{level}'", "mode": "preferred"}}


# By concern: what the first policy writes, what the second would, and where they meet.
PAIRS: dict[str, tuple[Document, Document, str]] = {
    "gang": ({"gang": {"name": "'g'"}}, {"gang": {"name": "'h'"}}, "/metadata/labels/podberth.io~1gang: first"),
    "topology": (drawing(fleet.ZONE), drawing(fleet.RACK), "/spec/affinity/podAffinity: first"),
    "resources": (
        rewriting("nvidia.com/mig-1g.5gb"),
        rewriting("nvidia.com/mig-2g.10gb"),
        "/spec/containers/0/resources nvidia.com/gpu: first",
    ),
    "tolerations": (bearing(300), bearing(60), "/spec/tolerations tolerationSeconds of team:NoExecute: first"),
    # L4 machines stand in the one zone, and machines of other kinds in the other.
    "nodeAffinity": (
        selecting(fleet.PRODUCT, L4),
        selecting(fleet.ZONE, "b"),
        "/spec/affinity/nodeAffinity: no known node meets both; first",
    ),
}


def document(concern: str, place: str, mutation: Document, order: int) -> str:
    """Return a policy for the pods that are labelled for its case."""
    condition = f"object.metadata.?labels[?'case'].orValue('') == '{concern}'"
    conditions = json.dumps([{"name": "case", "expression": condition}])
    spec = f"  matchConditions: {conditions}\n  mutations: {json.dumps([mutation])}"
    return policy(f"{place}-{concern.lower()}", spec, order=order)


def of_case(concern: str) -> Document:
    labels = {"case": concern, **({GANG_LABEL: "g"} if concern == "topology" else {})}
    return gpu_pod(name=concern.lower(), labels=labels, tolerations=[GPU_TOLERATION, SKU_TOLERATION])


@pytest.fixture(scope="module")
def at_odds(
    registration: Registration, snapshot: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Registration]:
    """Yield the registration of a podberth with two policies for each case."""
    folder = tmp_path_factory.mktemp("at-odds")
    policies = folder / "policies"
    policies.mkdir()
    for concern, (first, second, _) in PAIRS.items():
        texts = [document(concern, "first", first, 1), document(concern, "second", second, 2)]
        (policies / f"{concern}.yaml").write_text("---\n".join(texts))
    with (
        Podberth(folder, snapshot, policies) as podberth,
        registration.instead(podberth, of_case("gang")),
    ):
        yield registration


@pytest.mark.usefixtures("at_odds")
@pytest.mark.parametrize("concern", PAIRS)
def test_the_first_policys_value_is_the_apiservers_and_the_user_gets_a_warning(space: Space, concern: str) -> None:
    said = space.must_apply(of_case(concern), flags=("--dry-run=server", "-o", "json"))

    name = concern.lower()
    wanted = f"podberth second-{name}: conflict with policy first-{name} at {PAIRS[concern][2]}-{name} comes first"
    assert [line.startswith(wanted) for line in said.ours] == [True, False], said.ours
    assert said.ours[1].startswith("podberth: ")
    [made] = json.loads(said.output).get("items") or [json.loads(said.output)]
    assert (
        value(made)[concern]
        == {
            "gang": "g",
            "topology": [fleet.ZONE],
            "resources": {"nvidia.com/mig-1g.5gb": "1"},
            "tolerations": [300],
            "nodeAffinity": [fleet.PRODUCT],
        }[concern]
    )


@pytest.mark.usefixtures("at_odds")
def test_a_pod_runs_where_the_first_policy_requires(space: Space) -> None:
    space.must_apply(of_case("nodeAffinity"))
    [pod] = space.wait_for_pods(1, "Running")

    assert space.label_of_node(pod, fleet.PRODUCT) == L4


def value(pod: Document) -> Document:
    """Return of a pod what each case is about."""
    spec = pod["spec"]
    pods, nodes = (spec.get("affinity", {}).get(kind, {}) for kind in ("podAffinity", "nodeAffinity"))
    drawn = pods.get("preferredDuringSchedulingIgnoredDuringExecution", ())
    terms = nodes.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", ())
    return {
        "gang": pod["metadata"]["labels"].get(GANG_LABEL),
        "topology": [each["podAffinityTerm"]["topologyKey"] for each in drawn],
        "resources": spec["containers"][0]["resources"]["limits"],
        "tolerations": [each["tolerationSeconds"] for each in spec["tolerations"] if each["key"] == "team"],
        "nodeAffinity": [each["key"] for term in terms for each in term["matchExpressions"]],
    }
