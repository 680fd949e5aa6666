"""Makes sets of names from texts in which blanks separate the names."""


def words(text: str) -> frozenset[str]:
    """Return the set of the names in a text, which are separated by blanks."""
    return frozenset(text.split())


def under(domain: str, names: str) -> frozenset[str]:
    """Return the set of ``domain/name`` for each name in a text, in which blanks separate the names."""
    return frozenset(f"{domain}/{name}" for name in names.split())
