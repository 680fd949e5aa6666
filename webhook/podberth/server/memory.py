"""Keeps the garbage collector off what lives long."""

import gc


def settle() -> None:
    """Exempt all that is alive from collection. Called when a snapshot has come into force."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
