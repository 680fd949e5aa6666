"""What the page on expressions says about MIG: its policies, on clusters where instances go by different names."""

from pathlib import Path

import pytest

from builders import JSON, gpu_pod, review
from node_builders import machines
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.kube.patch import apply
from snapshots import snapshot

PAGE = (Path(__file__).parents[3] / "docs" / "expressions.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n### MIG profiles\n")[2].partition("\n## ")[0]
BLOCKS = [each.partition("```")[0] for each in SECTION.split("```yaml\n")[1:]]


def document(block: str) -> str:
    indented = "".join(f"  {line}" for line in block.splitlines(keepends=True))
    return f"apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {{name: page}}\nspec:\n{indented}"


def asking(resource: str, amount: int = 1) -> JSON:
    return gpu_pod(amount, resource=resource)


@pytest.mark.parametrize("provider", ["bare", "gke"])
def test_where_a_gpu_is_the_instance_the_pod_asks_for_a_gpu_there(provider: str) -> None:
    nodes = [*machines("dgx-a100-8-mig-single", 2, provider=provider), *machines("dgx-a100-8", 1, provider=provider)]
    created = asking("nvidia.com/mig-1g.5gb")
    outcome = decide.mutate(decode_review(review(created)), snapshot(document(BLOCKS[0]), objects=nodes))
    written = apply(created, outcome.patch)["spec"]
    assert written["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    affinity = written["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert len(affinity["nodeSelectorTerms"]) == 1
    assert any("nvidia.com/gpu is 1g.5gb on 2 nodes here" in each for each in outcome.warnings)


def test_where_the_instance_goes_by_its_own_name_nothing_is_written() -> None:
    nodes = [*machines("dgx-a100-8-mig-single", 1), *machines("dgx-a100-8-mig-mixed", 1)]
    created = asking("nvidia.com/mig-1g.5gb")
    assert not decide.mutate(decode_review(review(created)), snapshot(document(BLOCKS[0]), objects=nodes)).patch


@pytest.mark.parametrize(
    ("created", "shape", "warned"),
    [
        (
            asking("nvidia.com/mig-1g.5gb", 7),
            "dgx-a100-8-mig-mixed",
            "7 of nvidia.com/mig-1g.5gb are a whole GPU cut up",
        ),
        (asking("nvidia.com/mig-1g.5gb", 6), "dgx-a100-8-mig-mixed", ""),
        (asking("nvidia.com/mig-7g.40gb"), "dgx-a100-8-mig-mixed", ""),
        (gpu_pod(2), "t4-shared", "several shares of a GPU are neither more compute nor another GPU"),
        (gpu_pod(1), "t4-shared", ""),
        (gpu_pod(2), "l4-4", ""),
    ],
)
def test_what_is_no_good_idea_is_warned_of(created: JSON, shape: str, warned: str) -> None:
    outcome = decide.validate(decode_review(review(created)), snapshot(document(BLOCKS[1]), objects=machines(shape, 1)))
    assert [warned in each for each in outcome.warnings] == ([True] if warned else [])
