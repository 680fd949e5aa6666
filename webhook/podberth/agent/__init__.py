"""The node agent: reads a node's accelerators and says what it saw. What follows from that, ``topology`` concludes."""
