"""Makes the status report of an installation: all sections in reading order."""

from collections.abc import Callable, Iterable, Mapping

from .certificates import certificates
from .denials import denied
from .exceptions import exceptions
from .floor import floor
from .installed import installed
from .nodes import topology
from .observation import InstallationState, Row, StatusReport
from .outage import outage
from .policies import namespaced, policies

_SECTIONS: Mapping[str, Callable[[InstallationState], Iterable[Row]]] = {
    "installed": installed,
    "outages": lambda observed: (*outage(observed), *floor(observed)),
    "policies": lambda observed: (*policies(observed), *namespaced(observed), *exceptions(observed)),
    "topology": topology,
    "certificates": certificates,
    "denied lately": denied,
}


def judge(observed: InstallationState) -> StatusReport:
    """Return the status report about the observed state of an installation."""
    sections = {name: tuple(rows(observed)) for name, rows in _SECTIONS.items()}
    return StatusReport(observed.now, observed.kubernetes, sections)
