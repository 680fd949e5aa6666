"""Sets of names, written as one text with blanks between them."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def under(domain: str, names: str) -> frozenset[str]:
    """Return ``domain/name`` for each of the names."""
    return frozenset(f"{domain}/{name}" for name in names.split())
