"""The whole report, in reading order."""

from .certificates import certificates
from .denials import denied
from .installed import installed
from .model import Observed, Report
from .nodes import topology
from .policies import policies

_SECTIONS = (installed, policies, topology, certificates, denied)


def judge(observed: Observed) -> Report:
    """Return the report about the observed state."""
    return Report(observed.now, observed.kubernetes, tuple(section(observed) for section in _SECTIONS))
