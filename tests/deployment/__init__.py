"""What is installed on a cluster, on a real API server: the CRD, the manifests, the chart, the image."""
