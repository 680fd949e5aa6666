"""Writes metrics, log lines and traces for operators. No function here makes a decision or waits."""
