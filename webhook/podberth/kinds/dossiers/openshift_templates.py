"""Templates of OpenShift. ``oc process`` or the web console fills in a template's objects, which are then created."""

from typing import Final

from ...kube.paths import ELEMENT
from ..dossier import Dossier
from ..places import WorkloadKind

DOSSIER: Final = Dossier(
    name="OpenShift templates",
    versions={"openshift/api": "2a3d7391"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"template.openshift.io/v1"}),
            kind="Template",
            source="openshift/api template/v1/types.go Template.Objects",
            nested=(("objects", ELEMENT),),
            filled_by="oc process --local -f FILE",
            only_template=True,
        ),
    ),
)
