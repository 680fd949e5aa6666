"""Explanations of keys, values and names of CEL."""

import pytest

from editing import HEAD, hovered

POLICY = f"{HEAD}  variables:\n  - name: nodes\n    expression: topology.nodes(gpu)\n  validations:\n  - expression: "


@pytest.mark.parametrize(
    ("marked", "text"),
    [
        (f"{HEAD}  ord^er: 1\n", "The place among all policies"),
        (f"{HEAD}  failurePolicy: Ig^nore\n", "The effect of an error"),
        (f"{POLICY}gpu.memory^MiB > 1", "`Gpu.memoryMiB`: `int`\n\nMiB of GPU memory"),
        (f"{POLICY}object.sp^ec.nodeName == ''", "`Pod.spec`: `PodSpec`\n\nwhat the pod wants"),
        (
            f"{POLICY}object.spec.containers[0].reso^urces.limits",
            "`Container.resources`: `ResourceRequirements`\n\nwhat",
        ),
        (f"{POLICY}object.spec.containers.all(c, c.resources.lim^its", "accelerators must stand here"),
        (f"{POLICY}object.spec.?nodeSel^ector.orValue({{}})", "labels that a node must have"),
        (f"{POLICY}object.spec.dns^Policy == ''", "`PodSpec.dnsPolicy`: `string`"),
        (f"{POLICY}g^pu.count > 1", "`gpu`: `Gpu`\n\nthe accelerators that the pod asks for"),
        (f"{POLICY}variables.no^des.exist", "`variables.nodes`: `Nodes`\n\n```cel\ntopology.nodes(gpu)"),
        (f"{POLICY}variables.nodes.ex^ist", "`Nodes.exist`: `bool`\n\nany node fits"),
        (f"{POLICY}topology.no^des(gpu).exist", "```cel\nnodes(Gpu): Nodes\n```\n\nthe nodes that could run"),
        (f"{POLICY}gpu.requests.al^l(r, r.init)", "the condition holds for every element"),
        (f"{POLICY}gpu.requests.all(r, r^.init)", "`r`: `GpuRequest`"),
        (f"{POLICY}sets.con^tains([1], [2])", "the first has every element of the second"),
        (f"{POLICY}h^as(object.spec)", "the field is there"),
        (f"{POLICY}size(gpu.requ^ests) > 1", "one entry for each accelerator resource"),
    ],
)
def test_a_name_has_its_type_and_the_sentence_of_the_manual(marked: str, text: str) -> None:
    assert text in hovered(marked)


def test_a_field_of_a_pod_of_a_suite_has_its_sentence() -> None:
    pod = "cases:\n- pod:\n    spec:\n      tolerations:\n      - {FIELD: Exists}\n"
    assert hovered(pod.replace("FIELD", "oper^ator"), is_suite=True).startswith("`operator`: `string`\n\n`Exists`: any")
    assert hovered(pod.replace("FIELD", "oper^ater"), is_suite=True) == ""
    assert "in spite of which" in hovered(pod.replace("tolerations", "tolera^tions"), is_suite=True)


@pytest.mark.parametrize(
    "marked", [f"{HEAD}  # com^ment\n", f"{POLICY}unkn^own.x", f"{POLICY}'a te^xt' == ''", "a^: 1"]
)
def test_what_is_not_known_is_not_explained(marked: str) -> None:
    assert hovered(marked) == ""
