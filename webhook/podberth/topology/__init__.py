"""The map of the cluster's accelerators: documents in, an immutable index out, questions answered by class of node."""
