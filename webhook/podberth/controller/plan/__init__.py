"""Decides which objects the controller makes for waiting pods, and which problems are reported.

The package is pure, without state, and ``controller.loop`` calls ``makers.plan`` again after every change.
"""
