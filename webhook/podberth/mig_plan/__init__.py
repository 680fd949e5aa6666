"""Plans MIG layouts: from a demand of GPU memory and a fleet to the layout of each GPU.

``demand`` reads the needs, ``layouts`` finds the layouts of one pool of equal GPUs, and ``plan`` plans the pools.
"""
