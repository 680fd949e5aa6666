"""What the price table is measured with: for every function of an expression, calls of it on the worst input known.

``TEXT``, ``WORDS``, ``NUMBERS`` and ``MAPS`` in a source stand for inputs of a size that the measurement chooses; ``i``
is another number in each round, so that nothing is answered from memory. What stands behind ``less`` is measured, too,
and taken off: what makes the operands. The worst input of a function of ours is what its own module goes through in
full: a name that is nearly a MIG profile, a command line as long as it is read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from podberth.cel.functions import NODES_FIELDS
from podberth.workload.command_line import LONGEST


@dataclass(frozen=True, slots=True)
class Case:
    """One way to call a function. ``text`` makes the worst text of a size for it."""

    source: str
    less: str = "i"
    text: Callable[[int], str] = lambda size: "a" * size
    words: Callable[[int], list[str]] = lambda size: [f"w{at}" for at in range(size)]
    most: int = 1_000_000
    """The largest text that it reads."""


def _alone(*sources: str, less: str = "i") -> tuple[Case, ...]:
    return tuple(Case(each, less) for each in sources)


def _text(source: str, *texts: Callable[[int], str], most: int = 65_000) -> tuple[Case, ...]:
    makers = texts or (lambda size: "a" * size, lambda size: "a,1." * (size // 4), lambda size: "1" * size)
    # What names the text is charged for by itself, as parts.
    read = ", ".join(["TEXT"] * source.count("TEXT"))
    return tuple(Case(source, read, text=each, most=most) for each in makers)


def _parsed(source: str, other: str, less: str = "TEXT") -> tuple[Case, ...]:
    """Return calls that read a text which says nothing: the error that they make is left aside."""
    return (Case(f"({source} == {other} || true)", less, most=1_000_000),)


_LINE = "70b-7b-1b- " * (LONGEST // 16) + "a" * (LONGEST // 4)
_COMMAND: tuple[Callable[[int], list[str]], ...] = (
    lambda _: ["sh", "-c", _LINE[:LONGEST]],
    lambda size: ["--a", "-b", *["x=y"] * size],
    lambda size: ["a"] * size,
)
_NAMES: tuple[Callable[[int], str], ...] = (
    lambda size: "1g.6gb"[:size].ljust(size, "x"),
    lambda size: "lg.5gb"[:size].ljust(size, "x"),
    lambda size: "nvidia.com/mig-1" + " " * max(size - 40, 0) + "g.9gb.shared",
    lambda size: "a" * size,
)
_TWICE = "[{0}, {0}]"
_TIMED = "timestamp('2026-01-02T03:04:05Z')"
_BYTES = "bytes(TEXT)"


def _names(source: str) -> tuple[Case, ...]:
    # Without readable numbers, and as long as a profile's name: it is compared with each letter by letter.
    spelled = source.replace("NAME", "'lg.' + string(i) + 'gb'")
    return (*(Case(source.replace("NAME", "(TEXT + string(i))"), text=each) for each in _NAMES), *_alone(spelled))


def _of_two(name: str, *kinds: tuple[str, str]) -> tuple[Case, ...]:
    return tuple(Case(f"{one}.{name}({other})", _TWICE.replace("{0}, {0}", f"{one}, {other}")) for one, other in kinds)


_PATTERN = "('(a|b)*c(d|e)*f')"


def _searching(called: str) -> tuple[Case, ...]:
    """Return calls with a short pattern, and with one that takes long for each byte; compiling that is taken off."""
    compiled = called.replace("TEXT", "''") + _PATTERN
    return (*_text(f"{called}('b')", most=1_000_000), Case(called + _PATTERN, less=compiled))


_QUANTITY, _VERSION, _URL = "quantity('1500Mi')", "semver('1.2.3-rc.1+b')", "url('https://h.example:80/p?a=1&b=2')"
_IP, _CIDR = "ip('2001:db8::1')", "cidr('2001:db8::/32')"
_QUANTITIES, _VERSIONS = (_QUANTITY, _QUANTITY), (_VERSION, _VERSION)
_HEADS: Mapping[str, str] = {
    "getScheme": _URL,
    "getHost": _URL,
    "getHostname": _URL,
    "getPort": _URL,
    "getEscapedPath": _URL,
    "getQuery": _URL,
    "asApproximateFloat": _QUANTITY,
    "asInteger": "quantity('15')",
    "isInteger": _QUANTITY,
    "family": _IP,
    "isUnspecified": _IP,
    "isLoopback": _IP,
    "isLinkLocalMulticast": _IP,
    "isLinkLocalUnicast": _IP,
    "isGlobalUnicast": _IP,
    "prefixLength": _CIDR,
    "masked": _CIDR,
    "major": _VERSION,
    "minor": _VERSION,
    "patch": _VERSION,
}
_PARTS = ("FullYear", "Month", "Date", "DayOfMonth", "DayOfWeek", "DayOfYear", "Hours", "Minutes", "Seconds")
_FORMATS: tuple[str, ...] = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "labelValue",
    "uri",
    "uuid",
    "byte",
)
_FORMATS += ("dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "date", "datetime")
_MACHINE = "topology.nodes(gpu)"

OURS: Mapping[str, Sequence[Case]] = {
    "nodes": _alone(f"{_MACHINE}.count", less="gpu"),
    "withLinkDomain": _alone(f"{_MACHINE}.withLinkDomain(i).count", less=f"{_MACHINE}.count"),
    "narrowestLevel": _alone(
        f"{_MACHINE}.narrowestLevel(i)", f"{_MACHINE}.narrowestLevel(1000000)", "topology.narrowestLevel(gang)"
    ),
    "narrowestSafeLevel": _alone(
        f"{_MACHINE}.narrowestSafeLevel(i)",
        f"{_MACHINE}.narrowestSafeLevel(99999)",
        "topology.narrowestSafeLevel(gang)",
    ),
    "anyOffers": _names(f"{_MACHINE}.anyOffers(NAME)"),
    "offers": _names("topology.offers(NAME)"),
    "memoryMiB": _names("topology.memoryMiB(NAME)"),
    "smallest": _alone("mig.smallest(i)", "mig.smallest(i, 1)", "mig.smallest(99999999)"),
    "parse": _names("mig.parse(NAME)"),
    "known": _names("mig.known(NAME)"),
    "offered": _names("mig.offered(NAME)"),
    "capacity": (*_names("mig.capacity(NAME)"), *_alone("mig.capacity('1g.10gb')")),
    "gpuNodes": (*_names("mig.gpuNodes(NAME).count"), *_alone("mig.gpuNodes('1g.10gb').count")),
    "fits": (
        Case("mig.fits(WORDS)"),
        Case("mig.fits(WORDS)", words=lambda size: ["1g.10gb"] * min(size, 7)),
        Case("mig.fits(WORDS)", words=lambda size: ["1g.10gb", "2g.20gb", "1g.20gb+me"][: max(size, 1)]),
    ),
    "nearest": _names("mig.nearest(NAME)"),
    "suggestions": _names("mig.suggestions(NAME)"),
    "escapeKey": _text("jsonpatch.escapeKey(TEXT)", lambda size: "~/" * (size // 2), most=1_000_000),
    "commands": tuple(Case("shell.commands(WORDS)", words=each) for each in _COMMAND),
    "flag": tuple(Case("shell.flag(WORDS, ['--z', '-y', 'serve'])", words=each) for each in _COMMAND),
    "named": (
        # As long a name as is read, whatever the size; and one that is not.
        *_text("models.named(TEXT)", lambda _: ("70b-7b-1b- " * 64)[:512], lambda _: "7" * 512, most=0),
        *_text("models.named(TEXT)", lambda size: "7" * max(size, 513)),
    ),
}
"""Of ``cel.functions``."""

LIBRARIES: Mapping[str, Sequence[Case]] = {
    **{name: _alone(f"{of}.{name}()", less=of) for name, of in _HEADS.items()},
    "sign": _alone(f"sign({_QUANTITY})", less=_QUANTITY),
    "quantity": (
        *_parsed("quantity(TEXT)", "quantity('1')"),
        *_alone("quantity('1500Mi')", f"quantity('{'1' * 120}')", "quantity('1.5e3')"),
    ),
    "isQuantity": _text("isQuantity(TEXT)"),
    "isGreaterThan": _of_two("isGreaterThan", _QUANTITIES, _VERSIONS),
    "isLessThan": _of_two("isLessThan", _QUANTITIES, _VERSIONS),
    "compareTo": _of_two("compareTo", _QUANTITIES, _VERSIONS),
    "add": _of_two("add", _QUANTITIES, (_QUANTITY, "1")),
    "sub": _of_two("sub", _QUANTITIES, (_QUANTITY, "1")),
    "url": _text("isURL(TEXT)", lambda size: "https://h.example/" + "a/" * (size // 2)),
    "isURL": _text(
        "isURL(TEXT)", lambda size: "https://h.example/?a=" + "%41&b" * (size // 5), lambda size: "/" * size
    ),
    "ip": (*_text("isIP(TEXT)"), *_alone(_IP, f"{_CIDR}.ip()")),
    "isIP": _text("isIP(TEXT)", lambda size: "1:" * (size // 2)),
    "ip.isCanonical": _alone("ip.isCanonical('2001:db8::1')", "ip.isCanonical('10.0.0.1')"),
    "cidr": (*_text("isCIDR(TEXT)"), *_alone(_CIDR)),
    "isCIDR": _text("isCIDR(TEXT)", lambda size: "1:" * (size // 2) + "/64"),
    "containsIP": _of_two("containsIP", (_CIDR, "'2001:db8::1'"), (_CIDR, _IP)),
    "containsCIDR": _of_two("containsCIDR", (_CIDR, "'2001:db8::/64'"), (_CIDR, _CIDR)),
    "semver": (*_text("isSemver(TEXT)", lambda size: "1.2.3-" + "a." * (size // 2) + "a"), *_alone(_VERSION)),
    "isSemver": _text(
        "isSemver(TEXT)", lambda size: "1.2.3-" + "a." * (size // 2) + "a", lambda size: "1." * (size // 2)
    ),
    "format.named": (
        *_alone("format.named('dns1123Label')", "format.named('none')"),
        *_text("format.named(TEXT)"),
    ),
    **{f"format.{name}": _alone(f"format.{name}()") for name in _FORMATS},
    "validate": tuple(
        case
        for name in _FORMATS
        for case in _text(f"format.{name}().validate(TEXT)", lambda size: "a" * size, lambda size: "a." * (size // 2))
    ),
    "find": _searching("TEXT.find"),
    "findAll": _text("TEXT.findAll('a')", lambda size: "a" * size, lambda size: "ba" * (size // 2), most=1_000_000),
    "isSorted": _alone("NUMBERS.isSorted()"),
    "sum": _alone("NUMBERS.sum()"),
    "min": _alone("NUMBERS.min()"),
    "max": _alone("NUMBERS.max()"),
    "optional.unwrap": _alone("optional.unwrap([optional.of(i)])"),
    "unwrapOpt": _alone("[optional.of(i)].unwrapOpt()"),
    "string": (
        *_alone("string(i)", "string(1.5)", "string(true)", f"string({_TIMED})", "string(duration('1h'))"),
        *_alone(f"string({_IP})", less=_IP),
        *_text(f"string({_BYTES})", most=1_000_000),
    ),
    "charAt": _text("TEXT.charAt(1)", most=1_000_000),
    "format": (
        *_text("'%s %s'.format([TEXT, i])", most=1_000_000),
        *_alone("'%s'.format([NUMBERS])", "'%s'.format([MAPS])"),
    ),
    "indexOf": (*_text("TEXT.indexOf('zz')", most=1_000_000), *_alone("NUMBERS.indexOf(-1)")),
    "lastIndexOf": (*_text("TEXT.lastIndexOf('zz')", most=1_000_000), *_alone("NUMBERS.lastIndexOf(-1)")),
    "join": (Case("WORDS.join(', ')"),),
    "lowerAscii": _text("TEXT.lowerAscii()", lambda size: "A" * size, most=1_000_000),
    "upperAscii": _text("TEXT.upperAscii()", most=1_000_000),
    "trim": _text("TEXT.trim()", lambda size: " " * size, lambda size: "a" * size, most=1_000_000),
    "replace": _text("TEXT.replace('a', 'b')", most=1_000_000),
    "split": _text("TEXT.split('')", lambda size: "a" * size, lambda size: "a," * (size // 2), most=1_000_000),
    "substring": _text("TEXT.substring(1)", most=1_000_000),
    "strings.quote": _text("strings.quote(TEXT)", lambda size: '"\\' * (size // 2), most=1_000_000),
}
"""Of ``cel.libraries``."""

NATIVE: Mapping[str, Sequence[Case]] = {
    **{f"_{sign}_": _alone(f"i {sign} 2") for sign in ("-", "*", "/", "%")},
    **{
        f"_{sign}_": (*_alone(f"i {sign} 2"), *_text(f"TEXT {sign} TEXT", most=1_000_000))
        for sign in ("<", "<=", ">", ">=")
    },
    "_&&_": _alone("i > 0 && i > 1"),
    "_||_": _alone("i < 0 || i < 1"),
    "!_": _alone("!(i > 0)"),
    "-_": _alone("-i"),
    "_?_:_": _alone("i > 0 ? 1 : 2"),
    "_==_": (*_alone("i == 2"), *_text("TEXT == TEXT", most=1_000_000)),
    "_!=_": (*_alone("i != 2"), *_text("TEXT != TEXT", most=1_000_000)),
    "@in": _alone("-1 in NUMBERS"),
    "_+_": (*_alone("i + 2"), *_text("TEXT + 'a'", most=1_000_000)),
    "_[_]": _alone("[1, 2][0]", "{'a': 1}['a']"),
    "_[?_]": _alone("[1, 2][?0]", "{'a': 1}[?'a']"),
    "_?._": _alone("{'a': 1}.?a"),
    "size": (*_text("TEXT.size()", lambda size: "é" * (size // 2), most=1_000_000), *_alone("NUMBERS.size()")),
    "contains": _text("TEXT.contains('zz')", most=1_000_000),
    "startsWith": _text("TEXT.startsWith(TEXT)", most=1_000_000),
    "endsWith": _text("TEXT.endsWith(TEXT)", most=1_000_000),
    "matches": _searching("TEXT.matches"),
    "bool": (*_alone("bool('true')", "bool(true)"), *_parsed("bool(TEXT)", "true")),
    "bytes": _text(f"{_BYTES}", most=1_000_000),
    "double": (*_alone("double(i)"), *_text("'1.5' + TEXT == '' ? 1.0 : double('1.5')")),
    "int": (*_alone("int('12')", "int(1.5)", f"int({_TIMED})"), *_parsed("int(TEXT)", "1")),
    "uint": (*_alone("uint(2)", "uint('12')"), *_parsed("uint(TEXT)", "1u")),
    "dyn": _alone("dyn(i)"),
    "type": _alone("type(i)"),
    "timestamp": (*_alone(_TIMED, "timestamp(i)"), *_parsed("timestamp(TEXT)", _TIMED)),
    "duration": (*_alone("duration('1h2m3.5s')"), *_parsed("duration(TEXT)", "duration('1h')")),
    **{
        f"get{part}": (
            *_alone(f"{_TIMED}.get{part}()", f"{_TIMED}.get{part}('Europe/Berlin')", less=_TIMED),
            *_parsed(f"{_TIMED}.get{part}(TEXT)", "1", less=f"TEXT, {_TIMED}"),
        )
        for part in (*_PARTS, "Milliseconds")
    },
    "slice": _alone("NUMBERS.slice(0, 1)", "NUMBERS.slice(0, NUMBERS.size())"),
    "flatten": _alone("[NUMBERS].flatten()", "[NUMBERS, NUMBERS].flatten(2)"),
    "distinct": _alone("[i, i, 1].distinct()"),
    "reverse": _alone("NUMBERS.reverse()"),
    "sort": _alone("NUMBERS.sort()", "NUMBERS.reverse().sort()"),
    "lists.range": _alone("lists.range(NUMBERS.size())"),
    "sets.contains": _alone("sets.contains([i, 1], [i, 2])"),
    "sets.equivalent": _alone("sets.equivalent([i, 1], [i, 2])"),
    "sets.intersects": _alone("sets.intersects([i, 1], [3, 2])"),
    "optional.of": _alone("optional.of(i)"),
    "optional.none": _alone("optional.none()"),
    "optional.ofNonZeroValue": _alone("optional.ofNonZeroValue(i)"),
    "hasValue": _alone("optional.of(i).hasValue()"),
    "value": _alone("optional.of(i).value()"),
    "orValue": _alone("optional.of(i).orValue(1)"),
    "or": _alone("optional.of(i).or(optional.of(1))"),
    "first": _alone("NUMBERS.first()"),
    "last": _alone("NUMBERS.last()"),
}
"""Of the engine: ``cel.libraries.native``."""


def _merged() -> dict[str, tuple[Case, ...]]:
    found = {f"Nodes.{name}": _alone(f"{_MACHINE}.{name}", less=_MACHINE) for name in NODES_FIELDS}
    for group in (OURS, LIBRARIES, NATIVE):
        for name, cases in group.items():
            found[name] = (*found.get(name, ()), *cases)
    return found


ALL: Mapping[str, Sequence[Case]] = _merged()
"""Of every function, and of every field of Nodes."""
