"""Makes the ConfigMap ``podberth-policies`` from a folder of policies.

podberth serves the policies of the ConfigMap in addition to the shipped policies. A ConfigMap has no folders, so the
key of a file is the file's path with dots for slashes.
"""

import re
from pathlib import Path
from typing import Any, Final

from ..admission.snapshot import load_snapshot
from ..conventions import Conventions
from ..errors import PolicyError, Problem
from ..facts.cluster import ClusterFacts
from ..native.documents import others_of
from ..policy.parse import parse_policies
from ..wellknown import NAMESPACE
from .deadline import new_environment
from .library import served
from .loading import read_policy_texts

NAME: Final = "podberth-policies"
"""The name of the ConfigMap whose files the webhook, the audit and the controller read."""
# kubernetes pkg/apis/core/validation, ValidateConfigMap: MaxSecretSize for all values together; IsConfigMapKey.
MOST_BYTES: Final = 1024 * 1024
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def bundle(folder: Path, *, alone: bool = False) -> dict[str, Any]:
    """Return the ConfigMap of the policy files below ``folder``.

    The ConfigMap has the unchanged texts of the files that ``podberth serve --policies`` would read; tests are left
    out. As a check, the policies are compiled: by themselves if ``alone`` is True, else together with the shipped
    policies.

    Raises:
        PolicyError: the files cannot be served, or do not fit into a ConfigMap.
        UsageError: the library of shipped policies is not installed.
    """
    texts, problems = read_policy_texts(folder)
    if not texts and not problems:
        problems = [Problem(str(folder), 0, 0, "", "got no policy file, want *.yaml, *.yml or *.json below it")]
    data: dict[str, str] = {}
    for file, text in texts:
        key = ".".join(Path(file).relative_to(folder).parts)
        if not _KEY.fullmatch(key):
            want = "want letters, digits, '-', '_' and '.', 253 at most; rename the file"
            problems.append(Problem(file, 0, 0, "", f"got the key {key!r} in the ConfigMap, {want}"))
        if key in data:
            problems.append(Problem(file, 0, 0, "", f"another file has the key {key!r} in the ConfigMap; rename one"))
        data[key] = text
    if problems:
        raise PolicyError(tuple(sorted(problems)))
    beside, _ = ([], []) if alone else read_policy_texts(served())
    load_snapshot(parse_policies([*beside, *texts], others_of(texts)), ClusterFacts(), new_environment(), Conventions())
    size = sum(len(text.encode()) for text in data.values())
    if size > MOST_BYTES:
        got = f"got {size:,} bytes in all files together, want {MOST_BYTES:,} at most, as a ConfigMap holds"
        raise PolicyError((Problem(str(folder), 0, 0, "", f"{got}; apply some policies as objects"),))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": dict(sorted(data.items())),
    }
