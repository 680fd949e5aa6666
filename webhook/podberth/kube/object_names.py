"""The patterns of valid names of Kubernetes objects.

podberth checks a name from a user's document before it sends a request with the name.
"""

import re
from typing import Final, TypeAlias

NamespacedName: TypeAlias = tuple[str, str]
"""The namespace and the name of an object."""

LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
"""The pattern of a DNS-1123 label."""
SUBDOMAIN: Final = rf"{LABEL}(\.{LABEL})*"
"""The pattern of a DNS-1123 subdomain."""
NAME: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
"""The pattern of a qualified name behind the prefix, and of a label's value that is not empty (IsValidLabelValue)."""
MAX_SUBDOMAIN: Final = 253
MAX_LABEL: Final = 63
_SUBDOMAIN: Final = re.compile(SUBDOMAIN)
_DNS_LABEL: Final = re.compile(LABEL)
# IsDNS1035Label: a version, and a kind in lower case (apiextensions-apiserver pkg/apis/apiextensions/validation).
_DNS_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME: Final = re.compile(NAME)
# The API server makes UUIDs, but an aggregated API server may make other uids. No sentence matches the pattern.
_UID: Final = re.compile(r"[0-9A-Za-z]([-0-9A-Za-z]*[0-9A-Za-z])?")


def is_subdomain(name: str, most: int = MAX_SUBDOMAIN) -> bool:
    """Return whether a name is a DNS-1123 subdomain of at most ``most`` characters (IsDNS1123Subdomain)."""
    return len(name) <= most and _SUBDOMAIN.fullmatch(name) is not None


def is_label(name: str) -> bool:
    """Return whether a name is a DNS-1123 label (IsDNS1123Label), as the name of a namespace has to be."""
    return len(name) <= MAX_LABEL and _DNS_LABEL.fullmatch(name) is not None


def is_qualified(name: str) -> bool:
    """Return whether a name is a qualified name (IsQualifiedName), as names of resources and keys of labels are."""
    prefix, slash, last = name.rpartition("/")
    fits = len(last) <= MAX_LABEL and _NAME.fullmatch(last) is not None
    return fits and (not slash or is_subdomain(prefix))


def is_label_value(text: str) -> bool:
    """Return whether a text is valid as the value of a label (IsValidLabelValue); the empty text is valid."""
    return not text or (len(text) <= MAX_LABEL and _NAME.fullmatch(text) is not None)


def is_api_version(text: str) -> bool:
    """Return whether a text is an apiVersion: a version (``v1``), or a group and a version (``batch/v1``)."""
    group, slash, version = text.rpartition("/")
    return len(version) <= MAX_LABEL and _DNS_1035.fullmatch(version) is not None and (not slash or is_subdomain(group))


def is_kind(text: str) -> bool:
    """Return whether a text has the form of the name of a Kubernetes kind, such as ``Job``."""
    return len(text) <= MAX_LABEL and text.isascii() and _DNS_1035.fullmatch(text.lower()) is not None


def is_uid(text: str) -> bool:
    """Return whether a text has the form of an object's uid."""
    return len(text) <= MAX_LABEL and _UID.fullmatch(text) is not None


def cron_job_of(name: str) -> str:
    """Return the name of the CronJob that made the Job called ``name``; any other name is returned unchanged.

    The Job's name ends with the minute of its start: kubernetes pkg/controller/cronjob, getJobName.
    """
    return _START_MINUTE.sub("", name)


_START_MINUTE = re.compile(r"-\d{8}$")
