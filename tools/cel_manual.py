"""What each function of podberth's own answers, for the reader of docs/policy.md, with an example of each.

By the signature as the page has it; a function without a row here stops the tool that writes the page.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Manual(NamedTuple):
    """What an answer is, and an expression that asks for it."""

    meaning: str
    example: str


MANUALS: Mapping[str, Manual] = {
    "topology.nodes(gpu)": Manual(
        "the nodes that could run this pod by its accelerators and memory need, among those that its own "
        "nodeSelector and required affinity choose and whose taints do not keep it off; taints that mark "
        "nodes with accelerators count as tolerated",
        "topology.nodes(gpu).exist",
    ),
    "Nodes.withLinkDomain(int)": Manual(
        "those of them with so many of the requested GPUs in one NVLink domain; up to 1: all",
        "topology.nodes(gpu).withLinkDomain(4).terms",
    ),
    "Nodes.narrowestSafeLevel(int)": Manual(
        "the same, but on which every domain with a fitting node holds so many: whichever the first member "
        "goes to, the others fit. For who requires one domain",
        "topology.nodes(gpu).narrowestSafeLevel(gang.size)",
    ),
    "Nodes.narrowestLevel(int)": Manual(
        "the label key of the narrowest topology level with a domain that holds so many such pods, by "
        "accelerators, on empty nodes; `''`: none does. 0, an unknown number, is taken as two",
        "topology.nodes(gpu).narrowestLevel(gang.size)",
    ),
    "mig.smallest(int)": Manual(
        "the smallest MIG resource with at least so many MiB on the nodes that the pod chooses and can reach",
        "mig.smallest(gpu.memoryMiB).resource",
    ),
    "mig.smallest(int, int)": Manual(
        "the same, of those with at least so many compute slices (the second number)",
        "mig.smallest(gpu.memoryMiB, 2).resource",
    ),
    "mig.parse(string)": Manual(
        "a name read in any spelling, to be had in both: `profile` and `resource`. Its memory is what an "
        "instance of that name has at least, whatever the model",
        "mig.parse('nvidia.com/mig-1g.10gb.me').profile",
    ),
    "mig.capacity(string)": Manual(
        "how many instances of the profile one GPU holds, of the nodes that the pod chooses and can reach: "
        "at most, where their models differ; 0: none of them can be cut so",
        "mig.capacity('1g.10gb')",
    ),
    "mig.gpuNodes(string)": Manual(
        "the nodes that the pod chooses and can reach on which `nvidia.com/gpu` is an instance of the "
        "profile: strategy `single`, and GKE",
        "mig.gpuNodes('1g.10gb').terms",
    ),
    "mig.fits(list(string))": Manual(
        "one GPU of these nodes can be cut into all of these instances at once. A name that stands twice is"
        " two instances",
        "mig.fits(['3g.40gb', '4g.40gb'])",
    ),
    "mig.known(string)": Manual(
        "some GPU model has this profile, or some node reports it. Takes a profile or a resource, in any spelling",
        "mig.known('1g.10gb')",
    ),
    "mig.offered(string)": Manual(
        "some known node has it, or a DeviceClass serves it",
        "mig.offered('nvidia.com/mig-1g.10gb')",
    ),
    "mig.nearest(string)": Manual(
        "the name that was probably meant, of the cluster's first, then of all; in the form asked in; `''`:"
        " nothing is near",
        "mig.nearest('nvidia.com/mig-4g.5gb')",
    ),
    "mig.suggestions(string)": Manual(
        "the same, and up to two more that it may have been, the best first",
        "mig.suggestions('lg.5gb')",
    ),
    "topology.offers(string)": Manual(
        "some known node has the resource, whether it is an accelerator or not, or a DeviceClass serves it",
        "topology.offers('rdma/hca')",
    ),
    "topology.memoryMiB(string)": Manual(
        "MiB that a GPU of a model (as GFD's or GKE's label has it) or an instance of a MIG profile has at "
        "most: on the known nodes of that model, or else by a table of usual ones; 0: not known. What the "
        "nodes have that a pod may land on is `Nodes.mostMemoryMiB`",
        "topology.memoryMiB('NVIDIA-L4')",
    ),
    "shell.commands(list(string))": Manual(
        "the commands that a command line (`command` and `args` of a container in one list) runs, each as "
        "its words: below",
        "shell.commands(['sh', '-c', 'vllm serve a'])",
    ),
    "shell.flag(list(string), list(string))": Manual(
        "the value of a flag in the words of a command, by any of its names; of several the last: `--x=v` "
        "or `--x v`; `''`: absent, or without a value",
        "shell.flag(['vllm', 'serve', '--port=1'], ['--port'])",
    ),
    "models.named(string)": Manual(
        "what the name of a model, or the path or URL of one, says of its size: below",
        "models.named('llama-3-70b')",
    ),
    "jsonpatch.escapeKey(string)": Manual(
        "a key as one step of a JSON Pointer: `~` becomes `~0`, `/` becomes `~1`; as upstream",
        "'/metadata/labels/' + jsonpatch.escapeKey('example.com/a')",
    ),
}
