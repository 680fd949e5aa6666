"""What accelerators are called: resource names, device classes, MIG profiles. Tables and grammars, no cluster."""
