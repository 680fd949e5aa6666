"""The whole report, in reading order."""

from .certificates import certificates
from .denials import denied
from .installed import installed
from .model import Observed, Report, Section
from .nodes import topology
from .policies import policies

_SECTIONS = {
    "installed": installed,
    "policies": policies,
    "topology": topology,
    "certificates": certificates,
    "denied lately": denied,
}


def judge(observed: Observed) -> Report:
    """Return the report about the observed state."""
    sections = tuple(Section(name, tuple(rows(observed))) for name, rows in _SECTIONS.items())
    return Report(observed.now, observed.kubernetes, sections)
