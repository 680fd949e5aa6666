"""The names of accelerators: resource names, DeviceClasses and MIG profiles. No function here reads a cluster."""
