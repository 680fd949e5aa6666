"""A real Kubernetes control plane for tests and demonstrations, built from published Go modules.

Here live: the Go module that holds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and
kubectl (`main.go`), its build and cache (`build.py`), the processes of one cluster (`cluster.py` and
what it starts), the simulated nodes (`nodes.py`) and the pytest fixture (`fixtures.py`).

Nothing here may know podberth: this package hands a test an API server, and the test brings the webhook.
"""
