"""The monitoring of agents: a real Prometheus scrapes them, and promtool tests the rules over time."""
