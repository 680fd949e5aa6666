"""Explains why a document is not checked, and finds pods and accelerators in objects of unknown kinds."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from ..devices.resources import recognise
from ..kinds import forms
from ..kinds.crd_fields import crd_fields
from ..kube import shape
from ..kube.paths import Path
from ..kube.schema import Definitions, Schema
from ..kube.unknown_fields import Typed, unknown_fields
from ..kube.walk import values
from ..words import did_you_mean
from ..workload.kinds import is_known, kinds_of, row_for
from .misspelt_fields import misspelt_fields
from .numbers import QUANTITY_HOLDERS
from .queue_quotas import misspelt_flavors, refused_quotas
from .quotas import uncounted
from .result import shown
from .slips import is_slip

# The field by which a PodSpec is recognised
_CONTAINERS: Final = "containers"
_POD_SPEC: Final = Schema(kind="message", message="io.k8s.api.core.v1.PodSpec")
_CHARTS: Final = frozenset({("helm.toolkit.fluxcd.io", "HelmRelease"), ("helm.cattle.io", "HelmChart")})
"""The API groups and kinds of the objects that install a Helm chart, and that contain the chart's values."""
_RENDER: Final = "render the chart first, for example: helm template … | podberth check -"


class WithoutPods(NamedTuple):
    """The reason why a document is not checked, and the field that the reason is about."""

    message: str
    path: Path
    is_error: bool = False
    is_object: bool = True
    """Whether the document is meant as an object of Kubernetes."""


def why_without_pods(
    stated: Mapping[str, Any],
    content: Mapping[str, Any],
    template_paths: Mapping[str, Sequence[tuple[str, ...]]],
    pod: Definitions,
    known: Sequence[Mapping[str, Any]] = (),
) -> WithoutPods | None:
    """Return why a document without pod templates is not checked; None if the report needs no reason.

    Args:
        stated: the document in the user's text.
        content: the document as native policies leave it.
        template_paths: a mapping from a kind to the paths of the pod templates that the user names for the kind.
        pod: the definitions of a Pod and its parts.
        known: the other documents that are checked and to which this one may refer.
    """
    version, kind = stated.get("apiVersion"), stated.get("kind")
    if not version and not kind:
        message = "got no apiVersion and no kind: this is no object of Kubernetes; nothing of it is checked"
        return WithoutPods(message, (), is_object=False)
    for key, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, str) or not value:
            return WithoutPods(f"got {shape.shown(value, 60)}, want the object's {key}", (key,), is_error=True)
    if (said_of := _of_quotas(content, known)) is not None:
        return said_of
    if is_known(stated):
        is_read = (str(version), str(kind)) in crd_fields() or names_accelerators(content)
        unchecked = f"; nothing of this {kind} is checked" if row_for(stated) else ""
        slips = misspelt_fields(content) if is_read else iter(())
        return next((WithoutPods(f"{said}{unchecked}", path) for path, said in slips), None)
    if paths := template_paths.get(str(kind)):
        places = " and ".join(".".join(path).replace(".*", "[*]") for path in paths)
        message = f"got no pod template at {places}, the place that --template-path gives; nothing of it is checked"
        return WithoutPods(message, ("kind",))
    said = _of_unknown(str(version), str(kind), content, pod) if names_accelerators(content) else ""
    return WithoutPods(said, ("kind",)) if said else None


def _of_quotas(content: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> WithoutPods | None:
    """Return the first problem of the quotas in a document; None if nothing is wrong with them."""
    refusals = (WithoutPods(said, path, is_error=True) for path, said in refused_quotas(content))
    others = chain(misspelt_flavors(content, known), uncounted(content))
    return next(refusals, None) or next((WithoutPods(said, path) for path, said in others), None)


def _of_unknown(version: str, kind: str, content: Mapping[str, Any], pod: Definitions) -> str:
    """Return the message that an object is not checked because podberth does not know its kind.

    The message is empty if nothing in the object looks like pods: it has no PodSpec, and asks for no accelerator in
    limits or requests, but only names one, as a profile of hardware or the configuration of a scheduler does.
    """
    if (version.partition("/")[0], kind) in _CHARTS:
        return f"got a {kind}, whose pods are those of a chart: nothing of it is checked; {_RENDER}"
    message = f"got {version} {kind}, a kind that podberth does not know; nothing of it is checked"
    kinds = kinds_of(version)
    places = places_of_pods(content, pod)
    # A kind with pods in it may well be another one, as MXJob beside MPIJob, unless a typing error is all
    if places:
        kinds = tuple(each for each in kinds if kind.lower() == each.lower() or is_slip(kind, each))
    near = did_you_mean(kind, kinds)
    if near:
        return f"{message}{near}"
    found = [f"--template-path '{kind}={place}'" for place in places]
    if found:
        return f"{message}; give the place of its pods: {shown(found, ' ')}"
    return message if _requests_accelerators(content) else ""


def _requests_accelerators(content: Mapping[str, Any]) -> bool:
    """Return whether ``limits`` or ``requests`` in a document has the name of an accelerator resource."""
    return any(above[-1:] in QUANTITY_HOLDERS and recognise(key) is not None for above, key, _ in _fields(content))


def names_accelerators(content: Mapping[str, Any]) -> bool:
    """Return whether a document contains the name of an accelerator resource."""
    for _, key, value in _fields(content):
        if recognise(key) is not None:
            return True
        if key == "key":  # the key of a taint or a label: it chooses nodes, and requests no accelerator
            continue
        named = value if isinstance(value, list) else [value]
        if any(isinstance(each, str) and recognise(each) is not None for each in named):
            return True
    return False


def places_of_pods(content: Mapping[str, Any], pod: Definitions) -> tuple[str, ...]:
    """Return the paths at which a document has PodSpecs, in the format of ``--template-path``, each once.

    The place of a template is the template, with its labels and annotations, and not its PodSpec. An object with fields
    that a PodSpec lacks is none: the ``containers`` of a MiniCluster of Flux are its own.
    """
    found: dict[str, None] = {}
    for above, key, value in _fields(content):
        is_spec = key == _CONTAINERS and isinstance(value, list) and value and isinstance(value[0], dict)
        # A step with a dot cannot be given.
        if is_spec and above and not any(isinstance(step, str) and "." in step for step in above):
            place = Typed(_POD_SPEC, forms.find(content, above))
            if not any(each.value is None for each in unknown_fields(pod, place)):
                steps = ["[*]" if isinstance(step, int) else f".{step}" for step in _of_template(content, above)]
                found["".join(steps).removeprefix(".")] = None
    return tuple(found)


def _of_template(content: Mapping[str, Any], spec: Path) -> Path:
    """Return the path of the pod template whose PodSpec is at ``spec``; ``spec`` itself if there is no template."""
    *above, last = spec
    template = forms.find(content, tuple(above)) if above and last == "spec" else None
    is_template = isinstance(template, dict) and template.keys() <= {"metadata", "spec"}
    return tuple(above) if is_template else spec


def _fields(content: Mapping[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    """Yield each field of a document in order, as (path of the object with the field, key, value)."""
    for path, value in values(content):
        if path and isinstance(path[-1], str):
            yield path[:-1], path[-1], value
