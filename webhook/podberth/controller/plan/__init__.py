"""Decides which objects the controller makes for waiting pods, and which problems it reports about them.

The package is pure, and asked again after every change.
"""
