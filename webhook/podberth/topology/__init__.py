"""The known nodes and their accelerators, and an immutable index that finds the nodes that fit a pod."""
