"""The names of accelerators: resource names, device classes, MIG profiles. Tables and grammars, no cluster."""
