"""What names of objects look like: those in somebody else's document are held against it before they are asked for."""

import re
from typing import Final

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
"""The pattern of a DNS-1123 subdomain."""
MAX_SUBDOMAIN: Final = 253
MAX_LABEL: Final = 63
_SUBDOMAIN: Final = re.compile(SUBDOMAIN)
_WHOLE_LABEL: Final = re.compile(_LABEL)


def is_subdomain(name: str, most: int = MAX_SUBDOMAIN) -> bool:
    """Tell whether a name is a DNS-1123 subdomain (IsDNS1123Subdomain, k8s.io/apimachinery pkg/util/validation)."""
    return len(name) <= most and _SUBDOMAIN.fullmatch(name) is not None


def is_label(name: str) -> bool:
    """Tell whether a name is a DNS-1123 label, as the name of a namespace is (IsDNS1123Label, likewise)."""
    return len(name) <= MAX_LABEL and _WHOLE_LABEL.fullmatch(name) is not None
