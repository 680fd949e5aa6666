"""Where snapshots come from: files today, the cluster's API later. I/O alone; what they mean is the core's."""
