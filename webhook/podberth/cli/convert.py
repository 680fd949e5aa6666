"""``podberth convert``: converts GPUPolicies to native policies, and native policies to GPUPolicies.

Native policies are Kubernetes' own: ValidatingAdmissionPolicies and MutatingAdmissionPolicies.
"""

import argparse
from pathlib import Path

from ..convert.folder import convert
from ..convert.result import as_text
from ..files.deadline import new_environment
from ..files.loading import find_policies, read_pod_schema
from ..native.documents import is_native
from ..policy.parse import parse_policies
from .access import add_pod_schema
from .exitcodes import ExitCode
from .output import talk, write_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``podberth convert``: the files."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        type=Path,
        help="files with GPUPolicies, or with native policies and their bindings; directories are read recursively",
    )
    add_pod_schema(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the converted documents, and on stderr the parts that are left out; return the exit code."""
    files = find_policies(arguments.paths)
    texts = [(file, text) for file, text in files.policies if file in files.asked]
    of_gpu = new_environment(read_pod_schema(arguments.pod_schema))
    of_native = of_gpu.native()
    converted = convert(parse_policies(texts, is_native), of_gpu, of_native)
    write_text(as_text(converted.documents))
    talk(map(str, converted.left_out))
    return ExitCode.FINDINGS if converted.left_out else ExitCode.OK
