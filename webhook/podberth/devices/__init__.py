"""The names of accelerators: resource names, device classes and MIG profiles. This room reads no cluster."""
