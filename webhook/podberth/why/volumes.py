"""Finds whether a volume holds a pod: a claim is missing or unbound, or only some nodes reach the volume."""

from collections.abc import Iterator
from typing import Any, Final

from ..kube.unchecked import list_at, text_at
from ..words import listed, named
from .diagnosis import Diagnosis
from .machines import Machine
from .picture import Document, Picture, Ref
from .steps import Step

# https://kubernetes.io/docs/concepts/storage/storage-classes/#local: nothing makes volumes of such a class.
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield references to the PersistentVolumeClaims of a waiting pod, and to the volume or StorageClass of each."""
    for name in _names(picture):
        ref = _claim(picture, name)
        yield ref
        found = picture.one(ref)
        if found is None:
            continue
        if volume := text_at(found, "spec", "volumeName"):
            yield _volume(volume)
        elif storage := text_at(found, "spec", "storageClassName"):
            yield _class(storage)


def unbound(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that a PersistentVolumeClaim of the pod does not exist or is unbound; else None.

    A claim that is bound only after its first pod has a node is no cause.
    """
    for name, made_for in _names(picture).items():
        ref = _claim(picture, name)
        found = picture.one(ref)
        if picture.lacks(ref) and made_for:
            about = f"involvedObject.name={text_at(picture.pod, 'metadata', 'name')}"
            events = f"kubectl get events -n {picture.namespace} --field-selector {about}"
            return Diagnosis(
                cause="volume",
                title=f"PersistentVolumeClaim {name} of its ephemeral volume {made_for} is not made yet",
                evidence=("Kubernetes makes this claim itself, and uses none of this name that a user makes",),
                do=(f"see what keeps Kubernetes from it, such as a quota: {events}",),
            )
        if picture.lacks(ref):
            return Diagnosis(
                cause="volume",
                title=f"PersistentVolumeClaim {name} does not exist",
                evidence=(f"a volume of the pod names it, in namespace {picture.namespace}",),
                do=(f"create PersistentVolumeClaim {name}, or change claimName in spec.volumes of the template",),
            )
        if found is not None and text_at(found, "status", "phase") != "Bound" and (reason := _reason(picture, found)):
            why, do = reason
            return Diagnosis(
                cause="volume",
                title=f"PersistentVolumeClaim {name} is not bound: {why}",
                evidence=(f"its phase is {text_at(found, 'status', 'phase') or 'unknown'}",),
                do=(do, f"kubectl describe pvc {name} -n {picture.namespace}"),
            )
    return None


def _reason(picture: Picture, claim: Document) -> tuple[str, str] | None:
    """Return why a PersistentVolumeClaim is unbound, and what to do.

    None if the claim is bound only after its first pod has a node.
    """
    storage = text_at(claim, "spec", "storageClassName")
    if text_at(claim, "status", "phase") == "Lost":
        volume = text_at(claim, "spec", "volumeName")
        return (
            f"its PersistentVolume {volume} is gone",
            f"bring PersistentVolume {volume} back, or delete the claim and make it again",
        )
    if not storage:
        return "it names no StorageClass", "name a StorageClass in it, or create a PersistentVolume that fits it"
    if picture.lacks(_class(storage)):
        # If an administrator creates the volumes, a class needs no StorageClass: its name alone joins claim and volume.
        return (
            f"no PersistentVolume of class {storage} fits it, and no StorageClass {storage} provides one",
            "name one of kubectl get storageclasses, or create a PersistentVolume of this class that fits it",
        )
    found = picture.one(_class(storage))
    if found is None or text_at(found, "volumeBindingMode") == "WaitForFirstConsumer":
        return None
    if text_at(found, "provisioner") == _NO_PROVISIONER:
        return (
            f"no PersistentVolume of class {storage} fits it, and StorageClass {storage} provides none",
            f"create a PersistentVolume of class {storage} that fits it",
        )
    return f"StorageClass {storage} has not provided its volume", f"see why {text_at(found, 'provisioner')} does not"


def reaches(step: Step, machine: Machine) -> bool:
    """Return whether the node affinity of every existing volume of the pod allows a node."""
    return all(machine.is_selected(terms) for _, terms in _bound(step.picture))


def apart(step: Step) -> Diagnosis:
    """Return the diagnosis that the nodes that otherwise fit the pod cannot reach the pod's volumes."""
    names = [name for name, _ in _bound(step.picture)]
    where = {
        f"{each.get('key')}={'|'.join(map(str, each.get('values') or ()))}"
        for _, terms in _bound(step.picture)
        for term in terms
        for each in term.get("matchExpressions") or ()
    }
    return Diagnosis(
        cause="volume zone",
        title=f"its volume {listed(names)} is only on nodes with {named(sorted(where))}, and none of these fits",
        evidence=(
            f"nodes that fit otherwise: {named(sorted(each.name for each in step.nodes))}",
            *step.by_reason,
        ),
        do=(
            "have a node that fits where the volume is, or a copy of the data where the nodes are",
            "a StorageClass with volumeBindingMode WaitForFirstConsumer makes volumes where the pod goes",
        ),
    )


def _bound(picture: Picture) -> list[tuple[str, list[Any]]]:
    """Return (claim, terms that select the nodes) for each PersistentVolumeClaim whose volume only some nodes reach."""
    found = []
    for name in _names(picture):
        claim = picture.one(_claim(picture, name))
        volume = picture.one(_volume(text_at(claim, "spec", "volumeName")))
        if terms := list_at(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms"):
            found.append((name, terms))
    return found


def _names(picture: Picture) -> dict[str, str]:
    """Return the names of the claims that the volumes of a waiting pod use.

    The value is the name of the ephemeral volume for which Kubernetes makes the claim; empty for a claim of the user.
    """
    if not picture.is_waiting:
        return {}
    pod, found = text_at(picture.pod, "metadata", "name"), {}
    for each in list_at(picture.spec, "volumes"):
        volume = text_at(each, "name")
        if "persistentVolumeClaim" in each:
            found[text_at(each, "persistentVolumeClaim", "claimName")] = ""
        elif "ephemeral" in each:
            found[f"{pod}-{volume}"] = volume
    return found


def _claim(picture: Picture, name: str) -> Ref:
    return Ref("", ("v1",), "persistentvolumeclaims", picture.namespace, name)


def _volume(name: str) -> Ref:
    return Ref("", ("v1",), "persistentvolumes", name=name)


def _class(name: str) -> Ref:
    return Ref("storage.k8s.io", ("v1",), "storageclasses", name=name)
