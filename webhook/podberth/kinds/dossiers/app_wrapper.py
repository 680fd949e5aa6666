"""AppWrappers, whose wrapped objects Kueue or MCAD admits together."""

from typing import Final

from ...kube.paths import ELEMENT
from ..dossier import Dossier, Finished
from ..places import WorkloadKind

DOSSIER: Final = Dossier(
    name="AppWrapper",
    parent_groups=frozenset({"workload.codeflare.dev"}),
    podless_groups=frozenset({"quota.codeflare.dev"}),
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"workload.codeflare.dev/v1beta2", "workload.codeflare.dev/v1beta1"}),
            kind="AppWrapper",
            source="project-codeflare/appwrapper api/v1beta2/appwrapper_types.go; v1beta1 is the older mcad's",
            nested=(
                ("spec", "components", ELEMENT, "template"),
                ("spec", "resources", "GenericItems", ELEMENT, "generictemplate"),
            ),
        ),
    ),
    finished=(
        Finished(
            source="project-codeflare/appwrapper api/v1beta2/appwrapper_types.go AppWrapperPhase",
            group="workload.codeflare.dev",
            kind="AppWrapper",
            field=("phase",),
            words=frozenset({"Succeeded", "Failed"}),
        ),
    ),
)
