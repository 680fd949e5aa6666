"""Keeps the garbage collector off what lives long, and out of the way of reviews."""

import gc

# Containers made before a pass over the youngest. A review makes some hundreds, and reference counts free all but what
# is remembered (admission.recall), so the default of 700 means a pass for each review: 35 of 280 us over pods that are
# all different. With this it is not to be measured, and what cycles may hold meanwhile is a few MB.
_YOUNGEST = 50_000


def prepare() -> None:
    """Make passes seldom. Called before anything is loaded: a cluster's first list is millions of containers."""
    gc.set_threshold(_YOUNGEST)


def settle() -> None:
    """Exempt all that is alive from collection. Called when a snapshot has come into force.

    For the slowest review: a pass over everything takes 17 ms with 10,000 nodes, and without this some review pays it.
    """
    gc.unfreeze()  # what the snapshot before this one has left
    gc.collect()
    gc.freeze()
