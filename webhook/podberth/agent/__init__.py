"""The node agent: reads a node's accelerators and reports what it saw; ``topology`` draws the conclusions."""
