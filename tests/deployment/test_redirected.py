"""What `make demo-cluster` and tests run is what is shipped, but for where things are."""

from contextlib import closing
from pathlib import Path

from controlplane.cluster import ControlPlane
from e2e.container import PLACES, Container
from e2e.overlay import OVERLAY, webhook_container, write_overlay

from .rendering import documents, only, overlay

URL = "https://127.0.0.1:1"


def test_of_the_overlay_only_the_way_to_the_webhooks_is_another(control_plane: ControlPlane, tmp_path: Path) -> None:
    write_overlay(tmp_path, URL)
    ours = documents(control_plane.kubectl("kustomize", str(tmp_path)).stdout)
    shipped = overlay(control_plane, OVERLAY.name)
    changed = 0
    for one, other in zip(shipped, ours, strict=True):
        for ship, our in zip(one.get("webhooks", ()), other.get("webhooks", ()), strict=True):
            path = ship.pop("clientConfig")["service"]["path"]
            assert our.pop("clientConfig") == {"url": URL + path}
            changed += 1
        assert one == other
    assert changed == 11


def test_what_a_component_adds_is_its_own(control_plane: ControlPlane, tmp_path: Path) -> None:
    write_overlay(tmp_path, URL, "controller")
    ours = documents(control_plane.kubectl("kustomize", str(tmp_path)).stdout)
    shipped = {(each["kind"], each["metadata"]["name"]) for each in overlay(control_plane, OVERLAY.name)}
    added = {(each["kind"], each["metadata"]["name"]) for each in ours} - shipped
    assert {name for _, name in added} == {"podberth-controller", "podberth-controller-lease"}
    assert ("Deployment", "podberth-controller") in added
    assert shipped <= {(each["kind"], each["metadata"]["name"]) for each in ours}


def test_of_the_container_only_places_of_the_machine_are_others(control_plane: ControlPlane, tmp_path: Path) -> None:
    shipped = only(overlay(control_plane, OVERLAY.name), "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert webhook_container(control_plane) == shipped
    with closing(Container(shipped, tmp_path)) as container:
        environ = {**container.variables, "PODBERTH_KUBECONFIG": str(tmp_path / "kubeconfig")}
    given = {each["name"]: each["value"] for each in shipped["env"]}
    assert {name for name, value in environ.items() if given.get(name) != value} == set(PLACES)
    assert given.keys() <= environ.keys()
