"""The pages about policies say what the code says: fields, types, defaults and CEL; all examples load, README's too."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from builders import JSON, gpu_pod, job_pod, review
from pages import EXPRESSIONS, MUTATIONS, POLICY, POLICY_ROWS, README, ROOT, rows, spans
from podberth import wellknown
from podberth.admission import decide, messages
from podberth.admission.review import decode_review
from podberth.cel.functions import FUNCTIONS
from podberth.cel.typing import DECLARED, VARIABLES
from podberth.files import first_policy
from podberth.kube.documents import load_documents
from podberth.kube.patch import apply
from podberth.kube.shape import shape_problems
from podberth.mutation.affinity import MAX_TERMS
from podberth.policy.compile import compile_policies
from podberth.policy.model import CONCERNS, GPUPolicy, LabelSelector, MatchConstraints
from podberth.policy.parse import parse_policies
from podberth.policy.refusals import MAX_AUDIT_ANNOTATIONS, MAX_MATCH_CONDITIONS
from podberth.workload.gpus import Kind
from podberth.workload.systems import PLAIN, SYSTEMS
from snapshots import cluster, environment, library, snapshot

# ---- examples -------------------------------------------------------------------------------------------------------


def blocks(text: str) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def whole(block: str) -> str:
    """Return the block, one that holds fields of a spec as the policy that it is a part of."""
    if block.startswith("apiVersion:"):
        return block
    indented = "".join(f"  {line}" for line in block.splitlines(keepends=True))
    return f"apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {{name: page}}\nspec:\n{indented}"


def problems_of(text: str) -> list[str]:
    documents, unreadable = load_documents(text, "page")
    if [each.document["kind"] for each in documents] == ["Pod"]:
        return [*map(str, unreadable), *shape_problems(documents[0].document)]
    parsed = parse_policies([("page", text)])
    _, problems = compile_policies(parsed.policies, environment())
    return [str(problem) for problem in (*parsed.problems, *problems)]


@pytest.mark.parametrize(
    "block",
    [*blocks(README), *blocks(POLICY), *blocks(MUTATIONS), *blocks(EXPRESSIONS)],
    ids=lambda block: str(block)[:30],
)
def test_every_example_loads(block: str) -> None:
    assert problems_of(whole(block)) == []


def test_an_example_that_does_not_load_would_be_seen() -> None:
    assert problems_of(whole("mutations:\n- labels: {a: gpu.nothing}\n"))
    assert problems_of("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 1}\n")


GANG = {"podberth.io/gang": "llama"}
WRITES_ON: Mapping[str, JSON] = {
    "tolerations": gpu_pod(),
    "nodeSelector": gpu_pod(labels={"app": "notebook"}),
    "nodeAffinity": gpu_pod(2),
    "resources": gpu_pod(annotations={"podberth.io/gpu-memory": "10Gi"}),
    "gang": job_pod(),
    "topology": gpu_pod(8, labels=GANG, annotations={"podberth.io/gang-size": "2"}),
    "labels": gpu_pod(2),
    "annotations": gpu_pod(2),
    "env": gpu_pod(2),
    "schedulerName": gpu_pod(),
    "runtimeClassName": gpu_pod(),
    "priorityClassName": gpu_pod(),
    "resourceClaims": gpu_pod(),
    "applyConfiguration": gpu_pod(),
    "jsonPatch": gpu_pod(annotations={"a": "b"}, dnsPolicy="ClusterFirst"),
}


@pytest.mark.parametrize("concern", CONCERNS)
def test_each_mutation_has_an_example_that_writes(concern: str) -> None:
    found = [block for block in blocks(MUTATIONS) if re.search(rf"^(- |  ){concern}:", block, re.MULTILINE)]
    assert found
    nodes = cluster(hgx_h100_8=2, dgx_a100_8_mig_mixed=1, l4_4=1)
    for node in nodes:
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = "a"
    created = WRITES_ON[concern]
    outcome = decide.mutate(decode_review(review(created)), snapshot(whole(found[0]), objects=nodes))
    written = apply(created, outcome.patch)["metadata"]["annotations"][wellknown.APPLIED_ANNOTATION]
    assert concern in json.loads(written)["page"]


def test_a_policy_that_chooses_a_system_by_namespace_writes_what_that_reads() -> None:
    [block] = [each for each in blocks(POLICY) if "kai.scheduler/queue" in each]
    known = snapshot(whole(block))
    assert not decide.mutate(decode_review(review(gpu_pod())), known).patch
    first = decide.mutate(decode_review(review(gpu_pod(), namespace="research-nlp")), known)
    after = apply(gpu_pod(), first.patch)
    assert after["metadata"]["labels"] == {"kai.scheduler/queue": "research"}
    assert after["spec"]["schedulerName"] == "kai-scheduler"
    assert not decide.mutate(decode_review(review(after, namespace="research-nlp")), known).patch


# ---- the policy object ----------------------------------------------------------------------------------------------


def models_in(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the models in an annotation, with ``[]`` where they are elements."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, ""
    for part in get_args(annotation):
        for model, suffix in models_in(part):
            yield model, suffix or ("[]" if get_origin(annotation) is tuple else "")


def fields_of(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[type[BaseModel], str, FieldInfo, str]]:
    """Yield model, field, what pydantic knows of it, and its path as the page writes it."""
    for name, field in model.model_fields.items():
        alias = field.alias or name
        path = f"{prefix}{alias}"
        yield model, alias, field, path
        for inner, suffix in models_in(field.annotation):
            yield from fields_of(inner, "" if path == "spec" else f"{path}{suffix}.")


def shown_default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if field.is_required():
        return "required"
    if default is None:
        return "none"
    if isinstance(default, MatchConstraints) or default == MatchConstraints().resource_rules:
        return "pods on `CREATE`"
    if isinstance(default, LabelSelector) or default == {}:
        return "`{}`"
    return {(): "`[]`", "": '`""`', False: "`false`"}.get(default, f"`{default}`")


def test_every_field_of_the_policy_has_a_row_with_its_default() -> None:
    places: dict[tuple[type[BaseModel], str], list[tuple[str, FieldInfo]]] = {}
    for model, alias, field, path in fields_of(GPUPolicy):
        places.setdefault((model, alias), []).append((path, field))
    code = spans(POLICY) | spans(MUTATIONS)
    for (model, alias), found in places.items():
        documented = [(path, field) for path, field in found if path in POLICY_ROWS]
        if found[0][1].annotation is Any and not documented:  # accepted and not read
            assert found[0][0] in code
            continue
        assert documented, f"{model.__name__}.{alias}: no row for {' or '.join(path for path, _ in found)}"
        for path, field in documented:
            assert POLICY_ROWS[path][2] == shown_default(field), path


def test_no_row_is_about_a_field_that_is_not_there() -> None:
    known = {path for _, _, _, path in fields_of(GPUPolicy)}
    tables = POLICY.partition("\n## Fields\n")[2] + MUTATIONS
    assert {path for path, cells in rows(tables).items() if len(cells) == 4 and cells[2] != "---"} - known == {"field"}


@pytest.mark.parametrize(
    "limit", [MAX_MATCH_CONDITIONS, MAX_AUDIT_ANNOTATIONS, MAX_TERMS, messages.MAX_LINE, messages.MAX_TOTAL]
)
def test_limits_are_named(limit: int) -> None:
    assert re.search(rf"\b{limit:,}\b", POLICY + MUTATIONS + EXPRESSIONS)


def test_the_orders_of_shipped_policies_are_what_the_row_and_a_first_policy_say() -> None:
    optional = [folder.name for folder in (ROOT / "optional-policies").iterdir()]
    orders = [each.policy.spec.order for each in parse_policies(library(*optional)).policies]
    said = f"{min(orders)} to {max(orders)}"
    assert f"Shipped policies have {said}" in POLICY_ROWS["order"][-1]
    assert f"the shipped ones take {said}\n" in first_policy.texts("a", "both")["policy.yaml"]


def test_group_systems_are_named_where_they_decide_and_where_they_are_a_value() -> None:
    by_system = POLICY.partition("| placed by | nodeSelector, nodeAffinity")[2].partition("\n\n")[0]
    for name in [PLAIN, *(system.name for system in SYSTEMS)]:
        assert f"`{name}`" in by_system
        assert f"`{name}`" in POLICY_ROWS["gang.system"][2]


# ---- CEL ------------------------------------------------------------------------------------------------------------

OURS = "podberth."


def cel_paths() -> dict[str, list[tuple[str, str]]]:
    """Return, for each type of ours, where it is met (``gpu.requests[].``; a result by its own name) with fields."""
    places: dict[str, list[str]] = {}
    waiting = [(kind, f"{name}.") for name, kind in VARIABLES.items() if kind.startswith(OURS)]
    while waiting:
        kind, prefix = waiting.pop(0)
        places.setdefault(kind, []).append(prefix)
        for field, spelled in DECLARED[kind].items():
            inner = spelled.removeprefix("list(").removesuffix(")")
            if inner in DECLARED:
                waiting.append((inner, f"{prefix}{field}{'[]' if inner != spelled else ''}."))
    return {
        f"{kind}.{field}": [
            (f"{prefix}{field}", spelled) for prefix in places.get(kind, [f"{kind.removeprefix(OURS)}."])
        ]
        for kind, fields in DECLARED.items()
        for field, spelled in fields.items()
    }


def shown_type(spelled: str) -> str:
    if spelled in DECLARED:
        return "object"
    if spelled.startswith(f"list({OURS}"):
        return "list"
    if spelled.startswith("map("):
        return "map"
    return {"dyn": "any", "list(map(string, dyn))": "list of maps"}.get(spelled, spelled)


@pytest.mark.parametrize("field", cel_paths())
def test_every_field_that_cel_sees_has_a_row_with_its_type(field: str) -> None:
    documented = [(path, spelled) for path, spelled in cel_paths()[field] if path in POLICY_ROWS]
    assert documented
    for path, spelled in documented:
        assert POLICY_ROWS[path][1] == shown_type(spelled)


def test_every_name_that_cel_sees_has_a_row() -> None:
    section = EXPRESSIONS.partition("\n## Variables\n")[2].partition("\n### ")[0]
    assert rows(section).keys() - {"name", "---"} == {*VARIABLES, "variables"}


def test_every_function_has_a_row_with_its_result() -> None:
    names = {kind: name for name, kind in VARIABLES.items()}

    def shown(kind: str) -> str:
        return names.get(kind, kind.removeprefix(OURS))

    section = EXPRESSIONS.partition("\n## Functions\n")[2].partition("\n\n| field of")[0]
    documented = {name: cells[1] for name, cells in rows(section).items()}
    assert {name: result for name, result in documented.items() if name not in ("function", "---")} == {
        f"{shown(each.parameters[0])}.{each.name}({', '.join(map(shown, each.parameters[1:]))})": shown(each.result)
        for each in FUNCTIONS
    }


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_of_request_is_named(kind: str) -> None:
    assert f"`{kind}`" in POLICY_ROWS["gpu.kind"][2]
