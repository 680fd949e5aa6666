"""Gangs that compete for machines, made by operators that run here or as their sources make them, and counted."""
