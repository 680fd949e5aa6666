"""A real API server refuses the objects of which ``podberth check`` says so."""

from contextlib import closing
from http import HTTPStatus

import pytest

from controlplane.api import Api
from controlplane.client import Cluster
from podberth.kube.documents import load_documents
from refused_objects import REFUSED, REFUSED_LATER, RIGHT, Refused

PATHS = {
    "Pod": "/api/v1/namespaces/default/pods",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/default/statefulsets",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "CronJob": "/apis/batch/v1/namespaces/default/cronjobs",
    "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets",
    "PyTorchJob": "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs",
}


def _created(cluster: Cluster, text: str) -> int:
    """Return the status of the API server's answer to the creation of an object, which it does not store."""
    [document], _ = load_documents(text, "a.yaml")
    found = document.document
    with closing(Api.from_kubeconfig(cluster.kubeconfig)) as api:
        return api.ask("POST", f"{PATHS[found['kind']]}?dryRun=All", found).status


@pytest.mark.parametrize("text", RIGHT)
def test_the_objects_are_right_without_the_values(cluster: Cluster, text: str) -> None:
    assert _created(cluster, text) == HTTPStatus.CREATED


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case.field}: {case.said[:20]}")
def test_the_api_server_refuses_the_object(cluster: Cluster, case: Refused) -> None:
    # A pod whose service account has no valid name is refused by the plugin that looks for the account
    wanted = HTTPStatus.FORBIDDEN if "serviceAccount" in case.field else HTTPStatus.UNPROCESSABLE_ENTITY
    assert _created(cluster, case.text) == wanted


@pytest.mark.shared("crds")
@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("case", REFUSED_LATER, ids=lambda case: case.field)
def test_the_crd_takes_what_is_refused_in_the_objects_of_the_operator(cluster: Cluster, case: Refused) -> None:
    assert _created(cluster, case.text) == HTTPStatus.CREATED
