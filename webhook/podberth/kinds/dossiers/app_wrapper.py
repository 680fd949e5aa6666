"""Facts about AppWrappers, which wrap objects that Kueue or MCAD admits together."""

from typing import Final

from ...kube.paths import ELEMENT
from ..dossier import Dossier, Finished
from ..places import WorkloadKind

DOSSIER: Final = Dossier(
    name="AppWrapper",
    versions={"project-codeflare/appwrapper": "v1.2.1", "project-codeflare/multi-cluster-app-dispatcher": "d47de4a4"},
    parent_groups=frozenset({"workload.codeflare.dev"}),
    podless_groups=frozenset({"quota.codeflare.dev"}),
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"workload.codeflare.dev/v1beta2", "workload.codeflare.dev/v1beta1"}),
            kind="AppWrapper",
            source="project-codeflare/appwrapper api/v1beta2/appwrapper_types.go; "
            "project-codeflare/multi-cluster-app-dispatcher pkg/apis/controller/v1beta1/appwrapper.go",
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
