"""The labels of a Knative revision's pods."""

import pytest

from presented import present

SERVICE = "serving.knative.dev/service"


@pytest.mark.parametrize(("kind", "service"), [("Service", "s"), ("Configuration", None)])
def test_only_the_pods_of_a_service_have_its_label(kind: str, service: str | None) -> None:
    """knative/serving pkg/reconciler/configuration/resources/revision.go RevisionLabelValueForKey."""
    document = {
        "apiVersion": "serving.knative.dev/v1",
        "kind": kind,
        "metadata": {"name": "s"},
        "spec": {"template": {"spec": {"containers": [{"image": "i"}]}}},
    }
    labels = present(document, namespace="ml").pod["metadata"]["labels"]
    assert labels.get(SERVICE) == service
    assert (labels["app"], labels["serving.knative.dev/configuration"]) == ("s-0000000000", "s")


def test_a_template_may_name_its_own_app() -> None:
    """knative/serving pkg/reconciler/revision/resources/meta.go makeLabels."""
    document = {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"template": {"metadata": {"labels": {"app": "mine"}}, "spec": {"containers": [{"image": "i"}]}}},
    }
    assert present(document, namespace="ml").pod["metadata"]["labels"]["app"] == "mine"
