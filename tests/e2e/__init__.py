"""podberth on a real control plane: kubectl applies, the apiserver calls, the real scheduler binds."""
