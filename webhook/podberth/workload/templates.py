"""Predicts the Pods that operators will make from the pod templates of a document, as the webhook will get the Pods.

So a workload can be checked before any pods of the workload exist. A value that only the cluster knows (a generated
name, a hash, a uid) is a placeholder. No function raises: a template of a wrong shape is returned with the problems of
the shape.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from ..kinds import forms
from ..kinds.places import (
    BARE,
    PLACEHOLDER_HASH,
    PLACEHOLDER_UID,
    TEMPLATE,
    Elsewhere,
    Form,
    Found,
    Scene,
    TemplatePlace,
)
from ..kinds.roles import Predicted
from ..kinds.strategic_merge import merged
from ..kube.json_patch import ABSENT
from ..kube.paths import ELEMENT, Path
from ..kube.pod_limits import excess_of_template
from ..kube.positions import render_path
from ..kube.shape import RESOURCED_LISTS, template_problems, type_name
from ..kube.unchecked import at, is_pod, list_at, mapping_at, text_at
from .defaults import apply_defaults
from .kinds import nested_in, row_for

# The depth of nested AppWrappers and Lists; real documents are less deep.
_DEEPEST: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A predicted Pod, and the place of the Pod's template in the document.

    ``path`` is the path from the document to the template. If the template has a wrong shape, ``problems`` is not
    empty, and ``pod`` must not be used.
    """

    pod: dict[str, Any]
    path: Path
    kind: str
    """The kind of the object that has the template; inside an AppWrapper, the kind of the wrapped object."""
    problems: tuple[str, ...] = ()
    too_large: str = ""
    """The message about an exceeded bound of ``kube.pod_limits``, which then is the only problem; empty: none."""
    role: str = ""
    replicas: int = 1
    owner_uid: str = ""
    """The uid of the controller in the pod's owner references; empty for a bare Pod."""
    owners: Mapping[str, Found] = field(default_factory=dict)
    """The fields of the pod's owners that ``gangs.gang_of`` reads, by uid."""
    document: Found
    """The whole document, unchanged."""
    own: dict[str, Any]
    """The pod with only the fields that the document states, without defaults and stamps."""
    form: Form = TEMPLATE
    lacks: frozenset[str] = frozenset()
    elsewhere: Elsewhere | None = None
    """The place outside the template where the document states fields that the template cannot have; None: no place."""
    fixed: tuple[tuple[Path, str], ...] = ()
    """The paths in the pod whose values come from a field outside the template, each with the name of that field."""


def templates(
    document: Mapping[str, Any],
    *,
    namespace: str,
    known: Sequence[Mapping[str, Any]] = (),
    extra: Mapping[str, Sequence[tuple[str, ...]]] | None = None,
) -> list[Template]:
    """Return the templates of a document in order; empty if the document's kind makes no pods, or is unknown.

    ``namespace`` is used if the document names no namespace. ``known`` are other documents that a workload may refer
    to, such as the runtime of a TrainJob. ``extra`` maps the name of a Kubernetes kind to further paths to a
    PodTemplateSpec or a PodSpec.
    """
    return list(_templates(document, namespace, known, extra or {}, 0))


def each_template(document: Mapping[str, Any], *, namespace: str) -> Iterator[Template]:
    """Yield the templates of a document, each when the caller asks for the next template.

    ``namespace`` is used if the document names no namespace.
    """
    return _templates(document, namespace, (), {}, 0)


def objects_in(document: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield (path, object) for a document and every object that the document wraps, as an AppWrapper does."""
    for path, each in wrapped_in(document):
        if isinstance(each, Mapping):
            yield path, each


def wrapped_in(document: object, *, depth: int = 0) -> Iterator[tuple[Path, object]]:
    """Yield (path, value) for a document, and for each object that stands whole in the document, as in an AppWrapper.

    The values may have any type. ``depth`` is the number of objects that wrap ``document``; an object at the depth
    ``_DEEPEST`` is yielded without the objects that it wraps.
    """
    yield (), document
    if not isinstance(document, Mapping) or depth == _DEEPEST:
        return
    for path in nested_in(document):
        for found, _, _ in _expand(document, path):
            for below, each in wrapped_in(forms.find(document, found), depth=depth + 1):
                yield (*found, *below), each


def unread_templates(document: Mapping[str, Any]) -> Iterator[object]:
    """Yield the value at each path where objects of a document's kind may have a pod template.

    The paths in objects that the document wraps count, too. The values may have any type. A value is ABSENT if the
    object has no such field.
    """
    for _, each in objects_in(document):
        row = row_for(each)
        for place in row.places if row else ():
            for path, _, _ in _expand(each, place.path):
                yield forms.find(each, path)


def _templates(
    document: Mapping[str, Any],
    namespace: str,
    known: Sequence[Mapping[str, Any]],
    extra: Mapping[str, Sequence[tuple[str, ...]]],
    depth: int,
    name: str = "",
) -> Iterator[Template]:
    """Yield the templates of a document and of the objects that the document wraps.

    ``namespace`` and ``name`` are those of the object around the document, from which a document without its own
    derives its namespace and name. ``known`` are other documents, to which the document may refer. ``extra`` has
    further paths of templates, by kind. ``depth`` is the number of objects around the document.
    """
    where = text_at(document, "metadata", "namespace") or namespace
    if is_pod(document):
        yield _bare(document, where)
    row = row_for(document)
    scene = Scene(
        document=Predicted(document),
        name=_name_of(document, name),
        uid=text_at(document, "metadata", "uid") or PLACEHOLDER_UID,
        namespace=where,
        path=(),
        known=known,
    )
    for place in row.places if row else ():
        yield from _at_place(place, scene)
    kind = document.get("kind")
    for path in extra.get(kind, ()) if isinstance(kind, str) else ():
        yield from _at_place(extra_place(document, path), scene)
    for path in nested_in(document) if depth < _DEEPEST else ():
        for found, _, _ in _expand(document, path):
            inner = forms.find(document, found)
            if isinstance(inner, Mapping):
                yield from _lifted(_templates(inner, where, known, extra, depth + 1, scene.name), document, found)


def _name_of(document: Mapping[str, Any], around: str) -> str:
    """Return an object's name, or the name that the API server makes from the object's ``generateName``.

    An object with neither field, as in a Katib Experiment, gets the name ``around`` of the enclosing object with a
    suffix. Source: kubernetes staging/src/k8s.io/apiserver/pkg/storage/names/generate.go.
    """
    prefix = text_at(document, "metadata", "generateName") or (around and f"{around}-")
    return text_at(document, "metadata", "name") or (f"{prefix}{PLACEHOLDER_HASH}" if prefix else "")


def _lifted(inside: Iterable[Template], document: Mapping[str, Any], path: Path) -> Iterator[Template]:
    """Yield ``inside``, the templates of an object that a document wraps, with paths from the outer document.

    The owners of the pods get the labels of the outer document, because the queue's name in a label of an AppWrapper
    applies to the wrapped objects.
    """
    outer = at(document, "metadata", "labels")
    labelled: dict[int, tuple[Found, Found]] = {}
    """Each owner, and the owner with the labels of the outer document, by the id() of the first.

    Templates may share an owner. Because the first is kept, no other object gets its id.
    """
    for template in inside:
        owners = template.owners
        if isinstance(outer, Mapping):
            for owner in owners.values():
                labelled.setdefault(id(owner), (owner, _labelled(owner, outer)))
            owners = {uid: labelled[id(owner)][1] for uid, owner in owners.items()}
        yield replace(template, document=document, path=(*path, *template.path), owners=owners)


def _labelled(owner: Mapping[str, Any], labels: Mapping[str, Any]) -> Mapping[str, Any]:
    joined = {**labels, **mapping_at(owner, "metadata", "labels")}
    return Predicted({**owner, "metadata": {**mapping_at(owner, "metadata"), "labels": joined}})


_GIVEN: Final = replace(TEMPLATE, fields=forms.POD_SPEC_FIELDS)


def extra_place(document: Mapping[str, Any], path: Sequence[str]) -> TemplatePlace:
    """Return the place of a pod template at a path that the user of ``podberth check`` gave.

    A ``TemplatePlace`` has the path and the facts about the template's pods. The value at the path is a PodSpec if it
    has containers, else a PodTemplateSpec. It is unknown which fields the operator adds to the pods.
    """
    first = next((found for found, _, _ in _expand(document, tuple(path))), ())
    inline = isinstance(at(forms.find(document, first), "containers"), list)
    return TemplatePlace(path=tuple(path), form=forms.INLINE if inline else _GIVEN)


def _expand(document: object, path: Sequence[str]) -> Iterator[tuple[Path, tuple[Any, ...], tuple[str | int, ...]]]:
    """Yield (path, values, keys) for each path in a document that ``path`` stands for; ELEMENT stands for any key.

    ``keys`` are the keys or indexes that replace each ELEMENT, and ``values`` the values at these keys. An ELEMENT is a
    key of a list or map. If that list or map is absent or null, nothing is yielded. If a value of another type is in
    its place, the yielded path ends at that value.
    """
    if ELEMENT not in path:
        yield tuple(path), (), ()
        return
    split = list(path).index(ELEMENT)
    head, rest = tuple(path[:split]), path[split + 1 :]
    holder = forms.find(document, head)
    if isinstance(holder, Mapping):
        entries: Iterable[tuple[str | int, Any]] = holder.items()
    elif isinstance(holder, list):
        entries = enumerate(holder)
    else:
        if holder is not ABSENT and holder is not None:
            yield head, (), ()
        return
    for key, item in entries:
        for tail, items, keys in _expand(item, rest):
            yield (*head, key, *tail), (item, *items), (key, *keys)


def _at_place(place: TemplatePlace, workload: Scene) -> Iterator[Template]:
    for path, items, keys in _expand(workload.document, place.path):
        scene = replace(workload, path=path, items=items, keys=keys)
        found = forms.find(workload.document, path)
        if len(path) < len(place.path):
            message = f"{render_path(path)}: got {type_name(found)}, want a list or an object"
            yield _misfit(place, scene, message)
        elif isinstance(found, Mapping):
            if place.when(scene):
                yield _present(place, scene)
        elif found is not ABSENT and found is not None:
            yield _misfit(place, scene, f"{render_path(path)}: got {type_name(found)}, want an object")
        elif not place.optional:
            yield _misfit(place, scene, _lacking(workload.document, path))


def _lacking(document: object, path: Path) -> str:
    """Return the message that the path leads to no template, or that a value on the path has the wrong type."""
    for length in range(1, len(path)):
        found = forms.find(document, path[:length])
        if found is not ABSENT and found is not None and not isinstance(found, (Mapping, list)):
            return f"{render_path(path[:length])}: got {type_name(found)}, want an object"
    return f"{render_path(path)}: got nothing, want a pod template"


def _misfit(place: TemplatePlace, scene: Scene, problem: str) -> Template:
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": None, "spec": None}
    return Template(
        pod=pod,
        path=scene.path,
        kind=text_at(scene.document, "kind"),
        problems=(problem,),
        role=place.role,
        document=scene.document,
        own=pod,
        form=place.form,
    )


def _present(place: TemplatePlace, scene: Scene) -> Template:
    own = _read(place, scene)
    # The bounds and the shape are checked before other code reads the pod. Its bytes are counted at the decision.
    too_large, problems = _problems(own)
    whole = own
    if not problems and (below := place.below(scene)):
        whole = _patched(below, own)
        too_large, problems = _problems(whole)
    template = Template(
        pod=own,
        path=scene.path,
        kind=text_at(scene.document, "kind"),
        problems=tuple(problems),
        too_large=too_large,
        role=place.role or scene.key,
        owner_uid=scene.uid,
        document=scene.document,
        own=own,
        form=place.form,
        lacks=place.lacks,
        elsewhere=place.elsewhere,
        fixed=tuple(place.fixed(scene)),
    )
    if problems or whole["spec"] is None:
        return template
    pod = _decoded(whole)
    written = {key: value for key, value in (pod.get("metadata") or {}).items() if value is not None}
    pod["metadata"] = {"namespace": scene.namespace, **written}
    pod["spec"].setdefault("containers", [])  # the operator adds containers if the template has none
    _name_front(pod, place)
    place.stamp(pod, scene)
    apply_defaults(pod)
    pod["status"] = {}
    uid = next((each["uid"] for each in pod["metadata"].get("ownerReferences") or () if each.get("controller")), "")
    owner = place.owner(scene)
    predicted = owner if isinstance(owner, Predicted) else Predicted(owner)
    return replace(
        template,
        pod=pod,
        replicas=place.replicas(scene),
        owner_uid=uid,
        owners={each: predicted for each in (uid, scene.uid) if each},
    )


def _problems(pod: object) -> tuple[str, list[str]]:
    """Return (message about an exceeded limit, or empty; all problems) of a pod."""
    too_large = excess_of_template(pod)
    return too_large, [too_large] if too_large else template_problems(pod)


def _patched(below: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pod of the template ``below``, with a patch merged into the pod; the patch's containers come first.

    If the template has no metadata or no spec, the patch's metadata or spec is used alone.
    """
    parts = {key: merged(below.get(key), patch[key] or {}, key) for key in ("metadata", "spec")}
    spec = parts["spec"]
    for containers in RESOURCED_LISTS:
        first = {text_at(each, "name"): index for index, each in enumerate(list_at(patch["spec"], containers))}
        if first and isinstance(spec.get(containers), list):
            spec[containers] = sorted(spec[containers], key=partial(_place, first))
    return {"apiVersion": "v1", "kind": "Pod", **parts}


def _place(first: Mapping[str, int], container: object) -> int:
    return first.get(text_at(container, "name"), len(first))


def _read(place: TemplatePlace, scene: Scene) -> dict[str, Any]:
    """Return the pod of the template at ``scene.path``, with the defaults that an object around the template states.

    The defaults are the fields ``place.inherited`` of the object at the path ``place.base``.
    """
    own = forms.read(scene.document, scene.path, place.form)
    above = forms.find(scene.document, place.base)
    if isinstance(own["spec"], Mapping) and isinstance(above, Mapping):
        said = {key: above[key] for key in sorted(place.inherited) if above.get(key) is not None}
        said.update((key, value) for key, value in own["spec"].items() if value is not None or key not in said)
        own["spec"] = said
    return own


def _name_front(pod: dict[str, Any], place: TemplatePlace) -> None:
    containers = pod["spec"].get("containers")
    if place.form.front_name and containers and not containers[0].get("name"):
        containers[0]["name"] = place.form.front_name


def _decoded(value: Any, *, quantities: bool = False) -> Any:
    """Return a copy of a value without nulls, as the API server reads: a null field is absent, a null item is "".

    If ``quantities`` is True, the value is a map of quantities, whose null fields are kept: podberth reports them.
    """
    if isinstance(value, dict):
        return {
            key: _decoded(each, quantities=key in ("limits", "requests"))
            for key, each in value.items()
            if each is not None or quantities
        }
    return ["" if each is None else _decoded(each) for each in value] if isinstance(value, list) else value


def _bare(document: Mapping[str, Any], namespace: str) -> Template:
    own = dict(document)
    problems = template_problems(own)
    template = Template(pod=own, path=(), kind="Pod", problems=tuple(problems), document=document, own=own, form=BARE)
    if problems or not own.get("spec"):
        return template
    pod = _decoded(own)
    pod["metadata"] = {**(pod.get("metadata") or {}), "namespace": namespace}
    apply_defaults(pod)
    return replace(template, pod=pod)
