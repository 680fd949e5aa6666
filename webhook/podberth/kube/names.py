"""What names of objects look like: those in somebody else's document are held against it before they are asked for."""

import re
from typing import Final

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST: Final = 253


def is_subdomain(name: str) -> bool:
    """Tell whether a name is a DNS-1123 subdomain (IsDNS1123Subdomain, k8s.io/apimachinery pkg/util/validation)."""
    return len(name) <= _LONGEST and _SUBDOMAIN.fullmatch(name) is not None
