"""The node agent: it reads a node's accelerators and reports the observations; ``topology`` interprets them."""
