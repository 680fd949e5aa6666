"""The monitoring of agents: a real Prometheus scrapes them by what is installed, and promtool looks at the rules over time."""
