"""Forged records: podberth's annotation as a tenant might write it.

A forger knows the format and the policies' names. Claims are of things that the pod has (so they would be believed
where nothing proves who wrote them), of things that it has not, of what a policy is about to write, and of no form at
all. Records that podberth has just written on other pods are copied and edited.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

import orjson

from podberth.wellknown import APPLIED_ANNOTATION

from . import values, wrong
from .material import material
from .pods import below, containers, term
from .values import JSON

POLICIES: Final = (
    *("off-the-host", "on-known-products", "small-needs-get-slices", "evicted-after-five-minutes", "gangs-in-one-zone"),
    *("accounted", "classes", "a-network-card", "no-way-around"),
)
"""Of worlds.enforcing."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def names() -> tuple[str, ...]:
    """Return the names of all policies, and some that nobody has."""
    shipped = tuple(str(orjson.loads(each)["metadata"]["name"]) for each in material().policies)
    return (*shipped, *POLICIES, "nobody", "", "x" * 300)


def forge(chance: Random, pod: JSON, known: Sequence[str]) -> str:
    """Put a record on a pod; ``known`` are records that podberth wrote. Return what sort of forgery it is."""
    sort = chance.choice(tuple(_SORTS))
    below(pod, "metadata", "annotations")[APPLIED_ANNOTATION] = _SORTS[sort](chance, pod, known)
    return sort


def _claims(chance: Random, pod: JSON, _: Sequence[str]) -> str:
    record: dict[str, JSON] = {}
    policies = names()
    for _round in range(chance.randint(1, 5)):
        concern = chance.choice(tuple(_CLAIMS))
        record.setdefault(chance.choice(policies), {})[concern] = _CLAIMS[concern](chance, pod)
    return _text(record)


def _removals(chance: Random, _: JSON, _known: Sequence[str]) -> str:
    """Claim that a policy has taken away what others are about to write."""
    paths = (
        "hostNetwork",
        "activeDeadlineSeconds",
        "affinity",
        "tolerations",
        "runtimeClassName",
        "nodeSelector",
        "resourceClaims",
    )
    operations = [{"op": "remove", "path": f"/spec/{path}"} for path in chance.sample(paths, 4)]
    return _text({chance.choice(names()): {"jsonPatch": operations}})


def _copied(chance: Random, pod: JSON, known: Sequence[str]) -> str:
    return chance.choice(known) if known else _claims(chance, pod, known)


def _edited(chance: Random, pod: JSON, known: Sequence[str]) -> str:
    try:
        record = orjson.loads(_copied(chance, pod, known))
    except orjson.JSONDecodeError:
        return _claims(chance, pod, known)
    if not isinstance(record, dict):
        return _claims(chance, pod, known)
    if values.percent(chance, 50) and record:
        record[chance.choice(names())] = record.pop(chance.choice(list(record)))
    else:
        chance.choice(tuple(wrong.CHANGES.values()))(chance, record)
    return _text(record)


def _formless(chance: Random, _: JSON, _known: Sequence[str]) -> str:
    name = names()[0]
    return chance.choice(
        (
            *("", "{}", "[]", "null", "{", "\x00", "1", "true", '{"a":', "[" * 5000, "9" * 400, "NaN", "\ufeff{}"),
            *(
                '{"a":{"labels":[]}}',
                f'{{"{name}":{{"tolerations":null}}}}',
                f'{{"{name}":{{}}}}',
                '{"":{"env":{"":{"":""}}}}',
            ),
            f'{{"{name}":' * 900,
        )
    )


def _long(chance: Random, _: JSON, _known: Sequence[str]) -> str:
    """Write more than podberth reads, or nearly."""
    toleration = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    count = chance.choice((150, 300, 400, 3000))
    return _text({f"p{number}": {"tolerations": toleration} for number in range(count)})


_Forger = Callable[[Random, JSON, Sequence[str]], str]
_SORTS: Final[Mapping[str, _Forger]] = {
    "claims": _claims,
    "removals": _removals,
    "copied": _copied,
    "edited": _edited,
    "formless": _formless,
    "long": _long,
}
SORTS: Final = tuple(_SORTS)


def _text(record: object) -> str:
    """Return a record as JSON; what JSON cannot say is left out."""
    return orjson.dumps(record, default=str).decode()


# ---- claims that have the form of the builders' ---------------------------------------------------------------------


def _held(chance: Random, found: Any, otherwise: Any) -> Any:
    """Return what the pod has, mostly: a claim of what is not there is not believed anyway."""
    return found if found and values.percent(chance, 80) else otherwise


def _tolerations(chance: Random, pod: JSON) -> Any:
    return _held(
        chance,
        pod["spec"].get("tolerations"),
        [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    )


def _affinity(chance: Random, pod: JSON) -> Any:
    there = ((pod["spec"].get("affinity") or {}).get("nodeAffinity")) or {}
    terms = (there.get(_REQUIRED) or {}).get("nodeSelectorTerms")
    return chance.choice(
        (
            {"required": _held(chance, terms, [term(chance)])},
            {
                "preferred": _held(chance, there.get(_PREFERRED), [{"weight": 1, "preference": term(chance)}]),
                "weight": 1,
            },
            {"required": [{}]},
        )
    )


def _resources(chance: Random, pod: JSON) -> Any:
    each = chance.choice(containers(pod))
    limits = (each.get("resources") or {}).get("limits") or {}
    there = [(key, value) for key, value in limits.items() if str(value).isascii() and str(value).isdecimal()]
    name, quantity = chance.choice(there) if there else ("nvidia.com/mig-1g.5gb", 1)
    before = chance.choice(("nvidia.com/gpu", "nvidia.com/mig-2g.10gb", name))
    return [{"container": each.get("name", ""), "from": before, "to": name, "quantity": int(str(quantity)[:15])}]


def _map_of(field: str) -> Callable[[Random, JSON], Any]:
    def claim(chance: Random, pod: JSON) -> Any:
        there = {key: value for key, value in (pod["metadata"].get(field) or {}).items() if key != APPLIED_ANNOTATION}
        return _held(chance, there, {"example.com/kind": "whole"})

    return claim


def _gang(chance: Random, pod: JSON) -> Any:
    label = (pod["metadata"].get("labels") or {}).get("podberth.io/gang")
    return chance.choice(({"label": label or "g"}, {"label": label or "g", "size": "4"}, {"group": "g"}))


def _environment(_: Random, pod: JSON) -> Any:
    return {str(containers(pod)[0].get("name")): {"GPUS": "0", "NCCL_DEBUG": "WARN"}}


def _claimed(chance: Random, pod: JSON) -> Any:
    there = [each for each in pod["spec"].get("resourceClaims") or () if each.get("resourceClaimTemplateName")]
    made = [{"name": each.get("name", ""), "template": each["resourceClaimTemplateName"]} for each in there]
    return _held(
        chance, made, [{"name": "nic", "template": "rdma", "instead": "nvidia.com/gpu", "containers": ["main"]}]
    )


def _operations(chance: Random, pod: JSON) -> Any:
    field = chance.choice(("hostNetwork", "activeDeadlineSeconds", "hostname", "affinity", "runtimeClassName"))
    there = pod["spec"].get(field)
    verb = "remove" if there is None else chance.choice(("add", "replace"))
    return [{"op": verb, "path": f"/spec/{field}"} | ({} if there is None else {"value": there})]


def _name_of(field: str) -> Callable[[Random, JSON], Any]:
    return lambda chance, pod: _held(chance, pod["spec"].get(field), "nvidia")


_CLAIMS: Final[Mapping[str, Callable[[Random, JSON], Any]]] = {
    "tolerations": _tolerations,
    "nodeAffinity": _affinity,
    "resources": _resources,
    "gang": _gang,
    "topology": lambda chance, _: chance.choice(
        ({"level": "topology.kubernetes.io/zone"}, {"level": "x"}, {"sliceLevel": "x"})
    ),
    "labels": _map_of("labels"),
    "annotations": _map_of("annotations"),
    "env": _environment,
    "schedulerName": _name_of("schedulerName"),
    "runtimeClassName": _name_of("runtimeClassName"),
    "priorityClassName": _name_of("priorityClassName"),
    "resourceClaims": _claimed,
    "applyConfiguration": _operations,
    "jsonPatch": _operations,
    "no such concern": lambda chance, _: values.anything(chance),
}
