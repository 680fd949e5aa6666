"""What a request brings back besides its document."""

from http import HTTPStatus

from builders import container, pod

from .cluster import ControlPlane


def test_a_warning_is_the_line_that_kubectl_prints(control_plane: ControlPlane) -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    path = "/api/v1/namespaces/default/pods?dryRun=All"
    answer = control_plane.api.ask("POST", path, pod(container(env=twice)))
    assert answer.status == HTTPStatus.CREATED
    [warning] = answer.warnings
    assert warning.startswith('spec.containers[0].env[1]: hides previous definition of "A"')
    said = control_plane.kubectl("create", "--raw", path, "-f", "-", input=answer.content.decode(), check=False)
    assert f"Warning: {warning}" in said.stderr.splitlines()
    assert control_plane.api.ask("POST", path, pod()).warnings == ()
