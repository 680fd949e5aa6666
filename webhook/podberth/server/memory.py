"""Keeps the garbage collector off what lives long, and out of the way of reviews; and memory that is free in use."""

import ctypes
import gc

# Containers made before a pass over the youngest. A review makes some hundreds, and reference counts free all but what
# is remembered (admission.recall), so the default of 700 means a pass for each review: 35 of 280 us over pods that are
# all different. With this it is not to be measured, and what cycles may hold meanwhile is a few MB.
_YOUNGEST = 50_000
# mallopt(3), <malloc.h>.
_M_ARENA_MAX = -8


def prepare() -> None:
    """Make passes seldom, and have one heap. Called before anything is loaded, and before there are threads.

    A cluster's first list is millions of containers. Policies are loaded in a thread, to which glibc gives a heap of
    its own: what that leaves free the thread that answers reviews could not use, and grew its own beside it.
    There is nothing to win by several, for whoever allocates holds the interpreter lock. Another C library has no
    such setting.
    """
    gc.set_threshold(_YOUNGEST)
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_ARENA_MAX, 1)


def settle() -> None:
    """Exempt all that is alive from collection. Called when a snapshot has come into force.

    For the slowest review: a pass over everything takes 17 ms with 10,000 nodes, and without this some review pays it.
    """
    gc.unfreeze()  # what the snapshot before this one has left
    gc.collect()
    gc.freeze()
