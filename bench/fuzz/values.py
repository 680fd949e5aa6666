"""Values that somebody may write where a number, a name or a text is wanted, and what only a text of JSON can say."""

from random import Random
from typing import Any, Final

JSON = dict[str, Any]

COUNTS: Final = (0, 1, 1, 1, 2, 2, 3, 4, 8, 8, "1", "2", "8", "16")
ODD_QUANTITIES: Final[tuple[Any, ...]] = (
    *("0", "-1", "1k", "1Ki", "1e3", "1E", "1e-3", "500m", "0.5", "1.0", " 1", "1 ", "", "one", "NaN", "Inf", "0x1"),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "1e400",
        "1e-400",
        "+1",
        "\u0661",
        "1_0",
        "1n",
        "1u",
        "1EiB",
        "9" * 99,
    ),
    *(1.5, -8, 0.1, 10**15, 2**63 - 1, 2**64 - 1, None),
)
SIZES: Final = (
    *("0", "1", "2", "2", "4", "4", "8", "16", "64", "1000", "-1", "1e3", "", "x", " 4", "4.0", "0x4", "\u096a"),
    *("2147483647", "2147483648", "9223372036854775807", "9" * 40, "9" * 5000, "0" * 300 + "4", "4\x00", "NaN"),
)
NAMES: Final = (
    *("g", "ring", "group-1", "a-gang-of-sixteen", "train", "Not.A_Name", "-", "", "a" * 63, "a" * 64, "a" * 253),
    *(
        "a" * 254,
        "x/y",
        "a b",
        "a.b",
        "..",
        "../..",
        "?x=1#y",
        "\x00",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    ),
)
TEXTS: Final = (
    *("", " ", "\x00", "\u202e\u202d", "\ufeff", "e\u0301" * 9, "\U0001f600", "~0~1/", '"\\', "{{}}", "%s%n", "${x}"),
    *("\u2028\u2029", "\x1b[31m", "<script>", "true", "null", "0", "[]", "{}", "\uffff", "a\nb\r\n", "\x7f", "-" * 300),
)
RESOURCES: Final = (
    *("nvidia.com/gpu", "nvidia.com/gpu", "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/pgpu", "amd.com/gpu"),
    *(
        "amd.com/cpx_nps4",
        "gpu.intel.com/i915",
        "gpu.intel.com/xe",
        "habana.ai/gaudi",
        "google.com/tpu",
        "aws.amazon.com/neuron",
    ),
    *(
        "nvidia.com/gpumem",
        "nvidia.com/gpucores",
        "nvidia.com/rdma-vf",
        "deviceclass.resource.kubernetes.io/gpu.nvidia.com",
    ),
    *("rdma/hca", "example.com/gpu", "nvidia.com/GPU", "nvidia.com/", "/gpu", "nvidia.com/gpu/gpu", "gpu", "\x00"),
)
MIG_NAMES: Final = (
    *("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", "7g.80gb", "1g.12gb", "1g.18gb", "2g.35gb"),
    *("1g.5gb.me", "1g.5gb+me", "1g.10gb.me.all", "1c.2g.10gb", "4g.5gb", "9g.1000gb", "1g", "", "g.gb", "1g.5GB"),
    *(
        "0g.0gb",
        "-1g.5gb",
        "1g.5gb ",
        "01g.05gb",
        "1g.5gb.",
        "1" * 60 + "g.5gb",
        "1g." + "9" * 60 + "gb",
        "1g.5gb-1g.5gb",
    ),
)
MEMORY: Final = (
    "4Gi",
    "5Gi",
    "10Gi",
    "20Gi",
    "60Gi",
    "100Gi",
    "1",
    "0",
    "-4Gi",
    "4G",
    "4096Mi",
    "1e3",
    "9" * 30,
    "lots",
    "",
)
PRODUCTS: Final = (
    "NVIDIA-H100-80GB-HBM3",
    "NVIDIA-A100-SXM4-40GB",
    "NVIDIA-L4",
    "Tesla-T4",
    "NVIDIA-GB200",
    "H100,L4",
    "nothing",
    "",
)

_RAW: Final = '"@raw:'
RAW: Final = {
    "@raw:huge": "9" * 400,
    "@raw:exponent": "1e999",
    "@raw:long": str(2**64 + 1),
    "@raw:surrogate": '"\\ud800"',
    "@raw:deep": "[" * 300 + "]" * 300,
    "@raw:deeper": '{"a":' * 900 + "1" + "}" * 900,
    "@raw:deepest": "[" * 5000 + "]" * 5000,
    "@raw:twice": '{"a":1,"a":2}',
    "@raw:nan": "NaN",
}
"""What stands for JSON that no document in memory can hold, or that is refused when it is written."""


def with_raw(text: bytes) -> bytes:
    """Return a text with what its markers stand for."""
    if is_plain(text):
        return text
    for marker, raw in RAW.items():
        text = text.replace(f'"{marker}"'.encode(), raw.encode())
    return text


def is_plain(text: bytes) -> bool:
    """Say whether a document's text is what it says: no marker stands in it for anything else."""
    return _RAW.encode() not in text


def percent(chance: Random, share: int) -> bool:
    """Say yes in so many of a hundred times."""
    return chance.random() * 100 < share


def anything(chance: Random) -> Any:
    """Return some JSON value, of whatever type."""
    return chance.choice(_ANYTHING)(chance)


def _container(chance: Random) -> Any:
    return chance.choice(([], {}, [None], [[]], [{}], {"": None}, {"a": {}}, [1, "a"], ["", ""], {"name": []}))


_ANYTHING: Final = (
    lambda _: None,
    lambda chance: chance.choice((True, False)),
    lambda chance: chance.choice((0, 1, -1, 2**31, 2**63, -(2**63), 1.5, -0.0)),
    lambda chance: chance.choice(TEXTS),
    lambda chance: chance.choice(NAMES),
    _container,
    _container,
    lambda chance: chance.choice(tuple(RAW)),
)
