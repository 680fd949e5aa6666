"""The whole of it, in the order that it is read in."""

from .certificates import certificates
from .denials import denied
from .installed import installed
from .model import Observed, Report
from .nodes import topology
from .policies import policies

_SECTIONS = (installed, policies, topology, certificates, denied)


def judge(observed: Observed) -> Report:
    """Say what is to be said of what was read."""
    return Report(observed.now, observed.kubernetes, tuple(section(observed) for section in _SECTIONS))
