"""Exempts long-lived objects from garbage collection, makes collections rare, and has all threads use one heap."""

import ctypes
import gc

# Containers created before a pass over the youngest. A review creates some hundreds, and reference counts free all but
# the remembered ones (admission.recall), so the default of 700 means a pass for each review: 35 of 280 us over pods
# that are all different. With this value the cost is too small to measure, and cycles hold a few MB meanwhile.
_YOUNGEST = 50_000
# mallopt(3), <malloc.h>.
_M_ARENA_MAX = -8


def prepare() -> None:
    """Make garbage collection rare, and use one heap. Called before anything is loaded and before a thread starts.

    The first list of a cluster's objects makes millions of Python dicts and lists, which the garbage collector would
    walk repeatedly. Policies are loaded in a thread, and glibc gives each thread a heap. The thread that answers
    reviews could not use the free memory of the other thread's heap, so the process would grow. Several heaps have no
    advantage, because code that allocates holds the interpreter lock. C libraries other than glibc do not have this
    setting.
    """
    gc.set_threshold(_YOUNGEST)
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_ARENA_MAX, 1)


def settle() -> None:
    """Exempt all live objects from garbage collection. Called when a snapshot comes into force.

    The slowest review becomes faster: with 10,000 nodes, a pass of the collector over all objects takes 17 ms, and
    delays a review.
    """
    gc.unfreeze()  # the objects of the last snapshot
    gc.collect()
    gc.freeze()
