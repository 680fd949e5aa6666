"""HAMi, which shares GPUs and other accelerators of many vendors."""

from typing import Final

from ..dossier import Dossier
from ..systems import Dialect
from ..words import words

DOSSIER: Final = Dossier(
    name="HAMi",
    dialects=(
        Dialect(
            name="hami",
            source="Project-HAMi/HAMi charts/hami/values.yaml and templates/scheduler/device-configmap.yaml",
            resources=words(
                "nvidia.com/gpumem nvidia.com/gpumem-percentage nvidia.com/gpucores nvidia.com/priority "
                "amd.com/gpumem amd.com/gpucores cambricon.com/vmlu cambricon.com/mlu.smlu.vmemory "
                "cambricon.com/mlu.smlu.vcore hygon.com/dcunum hygon.com/dcumem hygon.com/dcucores "
                "metax-tech.com/sgpu metax-tech.com/vcore metax-tech.com/vmemory mthreads.com/vgpu "
                "mthreads.com/sgpu-memory mthreads.com/sgpu-core iluvatar.ai/vgpu iluvatar.ai/vcuda-memory "
                "iluvatar.ai/vcuda-core huawei.com/Ascend910A-memory huawei.com/Ascend910B2-memory "
                "huawei.com/Ascend910B3-memory huawei.com/Ascend910B4-memory huawei.com/Ascend910B4-1-memory "
                "huawei.com/Ascend910C-memory huawei.com/Ascend310P-memory"
            ),
            annotations=frozenset({"nvidia.com/vgpu-mode", "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"}),
            # Under HAMi's scheduler the resource nvidia.com/gpu alone is a share as well.
            schedulers=frozenset({"hami-scheduler"}),
        ),
    ),
)
