"""Plans MIG layouts: from a demand of GPU memory and a fleet to the layout of each GPU.

``demand`` reads the needs, ``pools`` divides the fleet, ``serving`` says how much an offer serves, ``layouts`` solves
the integer program for one set of profiles on offer, ``search`` finds the set, ``hosts`` spreads the layouts by CPU and
memory, and ``plan`` says which nodes change.
"""
