"""Agents of many simulated machines in one process, by the code of podberth's own agent."""
