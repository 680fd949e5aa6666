"""Metrics, log lines and traces for operators. Nothing here decides or waits."""
