"""The known nodes and their accelerators, in an immutable index that answers which nodes fit a pod."""
