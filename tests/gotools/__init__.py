"""Programs in Go that tests talk to, so that what is spoken is what the kubelet and Prometheus speak."""
