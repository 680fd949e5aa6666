"""Decides which objects the controller makes for waiting pods, and which problems it reports about them.

The package is pure: it has no state, and ``controller.loop`` calls it again after every change.
"""
