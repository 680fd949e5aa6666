"""Facts about HAMi, which shares GPUs and other accelerators of many vendors."""

from typing import Final

from ...devices.resources import MODIFIERS
from ..dossier import Dossier
from ..name_sets import words
from ..systems import Dialect

DOSSIER: Final = Dossier(
    name="HAMi",
    versions={"Project-HAMi/HAMi": "v2.10.0"},
    dialects=(
        Dialect(
            name="hami",
            source="Project-HAMi/HAMi charts/hami/values.yaml and templates/scheduler/device-configmap.yaml",
            resources=frozenset(MODIFIERS["hami"])
            | words(
                "amd.com/gpumem amd.com/gpucores cambricon.com/vmlu cambricon.com/mlu.smlu.vmemory "
                "cambricon.com/mlu.smlu.vcore hygon.com/dcunum hygon.com/dcumem hygon.com/dcucores "
                "metax-tech.com/sgpu mthreads.com/vgpu "
                "mthreads.com/sgpu-memory mthreads.com/sgpu-core enflame.com/drs-gcu enflame.com/gcu-memory "
                "enflame.com/gcu-core kunlunxin.com/vxpu kunlunxin.com/vxpu-memory"
            )
            # Up to v2.7.1 all cards of Iluvatar had one resource name; since v2.8.0 each has its own.
            | words("iluvatar.ai/vgpu iluvatar.ai/vcuda-memory iluvatar.ai/vcuda-core")
            | {
                f"iluvatar.ai/{card}{part}"
                for card in ("BI-V100", "BI-V150", "MR-V50", "MR-V100")
                for part in ("-vgpu", ".vMem", ".vCore")
            }
            | {
                f"huawei.com/Ascend{chip}-{part}"
                for chip in ("310P", "910A", "910B2", "910B3", "910B4", "910B4-1", "910C")
                for part in ("memory", "core")
            },
            annotations=frozenset({"nvidia.com/vgpu-mode", "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"}),
            # Under HAMi's scheduler the resource nvidia.com/gpu alone is a share as well.
            schedulers=frozenset({"hami-scheduler"}),
        ),
    ),
)
