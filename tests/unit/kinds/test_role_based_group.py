"""RoleBasedGroups whose roles patch a template: each role's own pods are judged, and its requirements are known."""

from typing import Any

import pytest

from builders import workload
from podberth.workload.gangs import gang_of
from podberth.workload.projection import place_of, project
from podberth.workload.templates import Template, templates

JSON = dict[str, Any]
EIGHT = {"limits": {"nvidia.com/gpu": 8}}
BASE = {"spec": {"containers": [{"name": "router", "image": "a"}, {"name": "engine", "image": "b", "args": ["x"]}]}}
GPUS = {"spec": {"containers": [{"name": "engine", "resources": EIGHT}]}}
LABELS = {"metadata": {"labels": {"a": "b"}}}


def group(*roles: JSON, base: JSON = BASE, version: str = "v1alpha2") -> JSON:
    spec = {"roles": list(roles), "roleTemplates": [{"name": "base", "template": base}]}
    return workload(f"workloads.x-k8s.io/{version}", "RoleBasedGroup", spec, name="rbg")


def found(document: JSON) -> list[Template]:
    made = templates(document, namespace="ml")
    assert [each.problems for each in made] == [()] * len(made)
    return made


def shown(document: JSON) -> list[tuple[Any, ...]]:
    return [(each.path[3:], each.replicas, _gpus(each)) for each in found(document)]


def _gpus(made: Template) -> int:
    return sum(int((each["resources"].get("limits") or {}).get("nvidia.com/gpu", 0)) for each in _containers(made))


def _containers(made: Template) -> list[JSON]:
    listed: list[JSON] = made.pod["spec"]["containers"]
    return listed


def sizes(document: JSON) -> set[tuple[int, int]]:
    gangs = (gang_of(each.pod, "ml", each.owners) for each in found(document))
    return {(each.size, each.accelerated) for each in gangs}


def standalone(name: str, replicas: int, **more: Any) -> JSON:
    return {"name": name, "replicas": replicas, "standalonePattern": {"templateRef": {"name": "base", **more}}}


def test_a_role_that_patches_its_role_template_is_judged_as_patched() -> None:
    document = group(standalone("router", 1), standalone("prefill", 2, patch=GPUS))
    assert shown(document) == [(("standalonePattern", "templateRef", "patch"), 2, 8), (("template",), 1, 0)]
    assert sizes(document) == {(3, 2)}
    patched = next(each for each in found(document) if each.role == "prefill")
    # The containers of the patch come first, with the fields of the role template
    assert [(each["name"], each["image"], each.get("args")) for each in _containers(patched)] == [
        ("engine", "b", ["x"]),
        ("router", "a", None),
    ]


def test_the_old_version_has_the_patch_beside_the_reference() -> None:
    role = {"name": "w", "replicas": 3, "templateRef": {"name": "base"}, "templatePatch": GPUS}
    assert shown(group(role, version="v1alpha1")) == [(("templatePatch",), 3, 8)]
    assert sizes(group(role, version="v1alpha1")) == {(3, 3)}


@pytest.mark.parametrize("version", ["v1alpha2", "v1alpha1"])
def test_leader_and_workers_are_judged_apart(version: str) -> None:
    new = version == "v1alpha2"
    pattern = "leaderWorkerPattern" if new else "leaderWorkerSet"
    leader, worker = (
        ("leaderTemplatePatch", "workerTemplatePatch") if new else ("patchLeaderTemplate", "patchWorkerTemplate")
    )
    own = {"template": BASE}
    both = {"size": 4, leader: LABELS, worker: GPUS}
    role: JSON = {"name": "w", "replicas": 2, pattern: both | (own if new else {})} | ({} if new else own)
    assert shown(group(role, version=version)) == [((pattern, leader), 2, 0), ((pattern, worker), 6, 8)]
    assert sizes(group(role, version=version)) == {(8, 6)}
    del both[leader], role[pattern][leader]
    assert sorted(shown(group(role, version=version)), key=str) == sorted(
        [((pattern, "template") if new else ("template",), 2, 0), ((pattern, worker), 6, 8)], key=str
    )


def test_the_patch_of_a_leader_lies_over_the_patch_of_the_reference() -> None:
    pattern = {"size": 2, "templateRef": {"name": "base", "patch": GPUS}, "leaderTemplatePatch": LABELS}
    document = group({"name": "w", "leaderWorkerPattern": pattern})
    assert sorted(shown(document), key=str) == [
        (("leaderWorkerPattern", "leaderTemplatePatch"), 1, 8),
        (("leaderWorkerPattern", "templateRef", "patch"), 1, 8),
    ]
    assert sizes(document) == {(2, 2)}


def test_a_patch_that_refers_to_no_role_template_makes_no_pods() -> None:
    assert shown(group({"name": "w", "standalonePattern": {"templateRef": {"name": "none", "patch": GPUS}}})) == []


def test_what_a_list_of_the_patch_would_replace_is_not_written() -> None:
    tolerant = {"spec": {**BASE["spec"], "tolerations": [{"key": "mine", "operator": "Exists"}]}}
    more = {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "yours"}}
    [made] = found(group(standalone("w", 1, patch=GPUS), base=tolerant))
    [written, _] = project(made, [[more]], [more])
    assert written.operations == []
    assert written.left == (
        "spec.tolerations: the template below the patch has tolerations, which a patch would replace"
    )
    [made] = found(group(standalone("w", 1, patch=GPUS)))
    [written, _] = project(made, [[more]], [more])
    assert [each["path"] for each in written.operations] == [
        "/spec/roles/0/standalonePattern/templateRef/patch/spec/tolerations"
    ]


def test_a_field_is_found_in_the_patch_where_it_stands_there() -> None:
    [made] = found(group(standalone("w", 1, patch=GPUS)))
    path = ("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu")
    assert place_of(made, path) == (*made.path, *path)


def test_directives_of_a_patch_are_followed() -> None:
    patch = {"spec": {"containers": [{"name": "router", "$patch": "delete"}, {"name": "engine", "args": None}]}}
    [made] = found(group(standalone("w", 1, patch=patch)))
    assert [(each["name"], each.get("args")) for each in _containers(made)] == [("engine", None)]
