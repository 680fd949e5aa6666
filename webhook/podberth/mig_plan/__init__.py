"""Plans MIG layouts: from a demand of GPU memory and a fleet to the layout of each GPU.

``demand`` reads the needs, ``pools`` divides the fleet, and ``serving`` says how much an offer serves. ``search`` finds
the best set of profiles to offer, and ``layouts`` solves the integer program for one such set. ``hosts`` spreads the
layouts by CPU and memory, and ``plan`` says which nodes change.
"""
