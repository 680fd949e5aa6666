"""Where snapshots come from: files today, the cluster's API later. I/O and nothing else; what they mean is the core's."""
