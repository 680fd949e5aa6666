"""Finds what Kueue's API refuses in the quotas of ClusterQueues and Cohorts, and misspelt flavors.

Sources: kubernetes-sigs/kueue config/components/crd/bases (the required fields, the pattern of a quantity, the rule
"flavors must have the same number of resources as the coveredResources"), pkg/webhooks/clusterqueue_webhook.go
(validateResourceGroups, validateFlavorQuotas), the same for a Cohort.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..kinds.queues import CLUSTER_QUEUE
from ..kube.paths import Path
from ..kube.quantity import parse_quantity
from ..kube.shape import shown
from ..kube.unchecked import list_at, mapping_at, text, text_at
from ..words import did_you_mean, listed
from .numbers import holds_placeholder, is_filled_in_later
from .slips import is_slip

_KINDS: Final = frozenset({CLUSTER_QUEUE, (CLUSTER_QUEUE[0], "Cohort")})
_AMOUNTS: Final = ("nominalQuota", "borrowingLimit", "lendingLimit")


def refused_quotas(content: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield (path, problem) for each quota of a ClusterQueue or a Cohort that Kueue's API refuses.

    Lists of custom resources have no merge keys, so a patch replaces the whole list: each list is taken as complete.
    """
    for path, group, flavor in _flavors(content):
        covered = [text(each) for each in list_at(group, "coveredResources")]
        if isinstance(flavor, Mapping) and not holds_placeholder(str([covered, flavor])):
            yield from (((*path, "resources", *steps), wrong) for steps, wrong in _in_flavor(flavor, covered))


def misspelt_flavors(content: Mapping[str, Any], known: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Path, str]]:
    """Yield (path, problem) for each flavor of a ClusterQueue or Cohort that ``known`` lacks, and has in other letters.

    A flavor that resembles none of them may be in the cluster already. Kueue holds a ClusterQueue with a flavor that
    does not exist (condition Active, reason FlavorNotFound).
    """
    flavors = {(*path, "name"): text_at(flavor, "name") for path, _, flavor in _flavors(content)}
    there = {text_at(each, "metadata", "name") for each in known if each.get("kind") == "ResourceFlavor"}
    free = sorted(there.difference(flavors.values()))
    for path, name in flavors.items():
        if name not in there and (meant := next((each for each in free if is_slip(name, each)), "")):
            yield path, f"got {name}, no ResourceFlavor of these files; did you mean {meant}?"


def _flavors(content: Mapping[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    """Yield (the path, the resource group, the flavor) for each flavor of a ClusterQueue or Cohort, unchecked."""
    if (text_at(content, "apiVersion").partition("/")[0], content.get("kind")) not in _KINDS:
        return
    for index, group in enumerate(list_at(content, "spec", "resourceGroups")):
        for number, flavor in enumerate(list_at(group, "flavors")):
            yield ("spec", "resourceGroups", index, "flavors", number), group, flavor


def _in_flavor(flavor: Mapping[str, Any], covered: list[str]) -> Iterator[tuple[Path, str]]:
    resources = list_at(flavor, "resources")
    names = [text_at(each, "name") for each in resources]
    name = text_at(flavor, "name")
    if lacking := [each for each in covered if each not in names]:
        yield (), f"got no quota of {listed(lacking)} in flavor {name}, want one for each of coveredResources"
    for index, each in enumerate(resources):
        if names[index] not in covered:
            meant = did_you_mean(names[index], covered)
            yield (index, "name"), f"got {names[index]}, which coveredResources has not{meant or '; add it there'}"
        for field in _AMOUNTS:
            amount = mapping_at(each).get(field)
            if field == _AMOUNTS[0] or amount is not None:
                yield from (((index, field), wrong) for wrong in _wrong_amount(amount))


def _wrong_amount(amount: object) -> Iterator[str]:
    if amount is None or amount == "":
        yield "got no amount, want one such as 8"
        return
    if is_filled_in_later(str(amount)):
        return
    try:
        if parse_quantity(amount) < 0:
            yield f"got {amount}, want 0 or more"
    except ValueError:
        yield f"got {shown(amount, 60)}, want an amount such as 8"
