"""Sets of names that the code writes as one text with blanks between the names."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def under(domain: str, names: str) -> frozenset[str]:
    """Return ``domain/name`` for each name in a text."""
    return frozenset(f"{domain}/{name}" for name in names.split())
