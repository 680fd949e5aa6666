"""Which labels and annotations a Notebook gives its pod."""

from presented import present


def test_a_notebook_gives_its_pod_all_labels_but_not_the_annotations_of_kubectl_and_of_notebooks() -> None:
    """kubeflow/notebooks v1.11.0 components/notebook-controller/controllers/notebook_controller.go."""
    document = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "Notebook",
        "metadata": {
            "name": "n",
            "labels": {"example.com/kubectl": "kept", "notebook-name": "mine"},
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "notebooks.kubeflow.org/last-activity": "now",
                "team": "vision",
            },
        },
        "spec": {"template": {"spec": {"containers": [{"name": "n", "image": "i"}]}}},
    }
    metadata = present(document, namespace="ml").pod["metadata"]
    assert metadata["annotations"] == {"team": "vision"}
    assert metadata["labels"]["example.com/kubectl"] == "kept"
    assert (metadata["labels"]["statefulset"], metadata["labels"]["notebook-name"]) == ("n", "mine")
