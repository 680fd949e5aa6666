"""CEL expressions of random shape over pods, each put to a real API server and to podberth, which compare by value.

A policy has several expressions as messages of validations that fail, so that one creation answers all of them as
warnings. ``python -m differential --expressions N`` makes at least N pairs of expression and pod.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from http.client import RemoteDisconnected
from random import Random
from typing import Any, Final

from controlplane.api import Api

from .answers import plain
from .ours import Ours
from .scenes import CASE, VERSION, Document, Scene, namespace_name, namespaces, pod
from .tally import Pair, Tally
from .upstream import Upstream

_TOGETHER: Final = 16
"""The expressions of a policy: an answer has 4,096 characters of warnings at most."""
_PODS: Final = 4
_POLICIES: Final = 40
_PLACE: Final = re.compile(r"spec\.validations\[(\d+)\]")
_WARNING: Final = re.compile(r"': (\d+): (.*)\Z", re.DOTALL)
_DEPTH: Final = 3


def compare(api: Api, *, pairs: int, seed: int) -> Tally:
    """Return what came of at least that many pairs of expression and pod, put to an API server and to podberth."""
    tally = Tally()
    upstream = Upstream(api, namespaces(_POLICIES), [])
    try:
        ours = Ours(upstream.namespaces, upstream.params, upstream.user)
        batch = 0
        while tally.pairs < pairs:
            _batch(upstream, ours, Random(f"expressions {seed} {batch}"), f"expressions-{batch}", tally)  # noqa: S311
            batch += 1
    finally:
        upstream.remove()
    return tally


def _batch(upstream: Upstream, ours: Ours, random: Random, name: str, tally: Tally) -> None:
    scenes: dict[int, tuple[Scene, Sequence[str]]] = {}
    for number in range(_POLICIES):
        made = [Expressions(random).root() for _ in range(_TOGETHER)]
        kept = _taken(upstream, ours, made, tally)
        if kept:
            scenes[number] = _scene(kept, number, f"{name}-{number}"), kept
    with upstream.in_force([scene for scene, _ in scenes.values()]):
        for number, (scene, taken) in scenes.items():
            given = [_pod(random, number, index) for index in range(_PODS)]
            for document, own in zip(given, ours.answers(scene, given), strict=True):
                mine, theirs = _values(own.warnings), _values(upstream.answer(document).warnings)
                for place, expression in enumerate(taken):
                    differs = "" if mine.get(place) == theirs.get(place) else "value"
                    pair = Pair([_shown(expression)], document, mine.get(place), theirs.get(place), differs)
                    tally.add(pair, "no value" if theirs.get(place) == "no value" else "a value")


def _taken(upstream: Upstream, ours: Ours, expressions: Sequence[str], tally: Tally) -> Sequence[str]:
    """Return the expressions that both take; one that either refuses is a pair."""
    kept = list(expressions)
    refused = {expressions[place] for place in _places(" ".join(ours.problems(_scene(kept, 0, "refused"))))}
    while kept:
        mine = {place for place, each in enumerate(kept) if each in refused}
        try:
            theirs = _places(upstream.refusal(_scene(kept, 0, "refused").policy))
        except RemoteDisconnected:
            tally.outcomes["the API server panicked"] += len(kept)
            return []
        if not mine | theirs:
            return kept
        for place in sorted(mine | theirs):
            differs = "" if place in mine and place in theirs else "refusal"
            pair = Pair([_shown(kept[place])], {"kind": "none"}, place in mine, place in theirs, differs)
            tally.add(pair, "refused")
        kept = [each for place, each in enumerate(kept) if place not in mine | theirs]
    return kept


def _places(said: str) -> set[int]:
    """Return the places of the validations that problems name."""
    return set(map(int, _PLACE.findall(said)))


def _shown(expression: str) -> Document:
    return {"metadata": {"name": expression}, "spec": {}}


def _values(warnings: Sequence[str]) -> Mapping[int, str]:
    found = (_WARNING.search(plain(each)) for each in warnings)
    return {int(each[1]): each[2] for each in found if each}


def _scene(expressions: Sequence[str], number: int, name: str) -> Scene:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    validations = [
        {
            "expression": "false",
            "messageExpression": f"'{place}: ' + '%s'.format([dyn({each})])",
            "message": f"{place}: no value",
        }
        for place, each in enumerate(expressions)
    ]
    spec = {
        "matchConstraints": {
            "resourceRules": [rule],
            "namespaceSelector": {"matchLabels": {CASE: str(number)}},
        },
        "validations": validations,
    }
    binding = {"policyName": name, "validationActions": ["Warn"]}
    return Scene(
        number,
        {"apiVersion": VERSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        [
            {
                "apiVersion": VERSION,
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": {"name": name},
                "spec": binding,
            }
        ],
    )


def _pod(random: Random, number: int, index: int) -> Document:
    made = json.loads(json.dumps(pod(random)))
    labels = {key: random.choice(("a", "team-a", "1", "x.y")) for key in ("team", "app") if random.random() < 0.7}
    made["metadata"] = {"name": f"web-{index}", "namespace": namespace_name(number), "labels": labels}
    if random.random() < 0.4:
        made["metadata"]["annotations"] = {"note": random.choice(("1h30m", "2026-01-02T03:04:05Z", "1.2.3", ""))}
    return dict[str, Any](made)


class Expressions:
    """Expressions by type, most of which compile and have a value."""

    def __init__(self, random: Random) -> None:
        """Draw from ``random``."""
        self._random = random
        self._names: list[tuple[str, str]] = []
        """The loop variables in scope, as (name, type)."""

    def root(self) -> str:
        """Return an expression whose value ``format`` can write."""
        return self._of(self._random.choice(("bool", "int", "text", "double", "texts", "ints", "any")), _DEPTH)

    def _of(self, kind: str, depth: int) -> str:
        random = self._random
        named = [name for name, each in self._names if each == kind]
        if named and random.random() < 0.4:
            return random.choice(named)
        if depth <= 0 or random.random() < 0.15:
            return random.choice(_LEAVES[kind])
        template = random.choice(_SHAPES[kind])
        return "".join(self._filled(template, depth - 1))

    def _filled(self, template: str, depth: int) -> Iterator[str]:
        """Yield a template's parts: ``<kind>`` is an expression, and ``{name:kind|...}`` binds a loop variable."""
        for text, kind, loop in _PART.findall(template):
            if kind:
                yield f"({self._of(kind, depth)})"
            elif loop:
                of, inner = loop.split("|", 1)
                name = f"x{len(self._names)}"
                self._names.append((name, of))
                yield f"{name}, {''.join(self._filled(inner, depth))}"
                self._names.pop()
            else:
                yield text


_PART: Final = re.compile(r"([^<{]+|<(?![a-z]+>)|\{(?![a-z]+\|))|<([a-z]+)>|\{([a-z]+\|[^{}]*)\}")

_LEAVES: Final[Mapping[str, Sequence[str]]] = {
    "bool": ("true", "false", "object.spec.hostNetwork", "has(object.spec.nodeSelector)"),
    "int": ("0", "1", "-3", "7", "9223372036854775807", "object.spec.terminationGracePeriodSeconds", "int(2.9)"),
    "uint": ("0u", "5u", "uint(3)"),
    "double": ("0.0", "1.5", "-2.25", "1e10", "double(3)", "0.1"),
    "text": (
        "''",
        "'a'",
        "'team-a'",
        "'Äb c'",
        "'1,2,,3'",
        "object.metadata.name",
        "object.metadata.labels.team",
        "object.metadata.annotations.note",
        "object.spec.containers[0].image",
        "request.operation",
        "namespaceObject.metadata.name",
    ),
    "texts": ("['a', 'b']", "['b', 'a', 'a']", "object.spec.containers.map(c, c.name)", "['']"),
    "ints": ("[1, 2, 3]", "[3, 1, 1]", "lists.range(4)", "[-1]"),
    "any": (
        "object.metadata.labels",
        "object.spec.containers[0].resources",
        "object.spec.absent",
        "object.spec.containers[0].ports",
        "null",
        "oldObject",
        "object.metadata.annotations",
        "object.spec.terminationGracePeriodSeconds",
    ),
    "time": ("timestamp('2026-01-02T03:04:05Z')", "timestamp(0)", "timestamp('1999-12-31T23:59:59.25Z')"),
    "span": ("duration('90s')", "duration('1h1m')", "duration('0s')", "duration('1500ms')"),
    "quantity": ("quantity('1')", "quantity('500m')", "quantity('2Gi')", "quantity('1.5')"),
}
_SHAPES: Final[Mapping[str, Sequence[str]]] = {
    "bool": (
        "<bool> && <bool>",
        "<bool> || <bool>",
        "!<bool>",
        "<bool> ? <bool> : <bool>",
        "<int> < <int>",
        "<int> >= <double>",
        "<int> == <uint>",
        "<double> != <double>",
        "<text> == <text>",
        "<text> < <text>",
        "<any> == <any>",
        "dyn(<int>) == dyn(<text>)",
        "<text> in <texts>",
        "<int> in <ints>",
        "<text>.startsWith(<text>)",
        "<text>.contains(<text>)",
        "<text>.matches('^[a-z]+(-[a-z0-9]+)*$')",
        "<texts>.all({text|<bool>})",
        "<texts>.exists({text|<bool>})",
        "<ints>.exists_one({int|<bool>})",
        "<texts>.isSorted()",
        "<time> < <time>",
        "<span> >= <span>",
        "<quantity>.isGreaterThan(<quantity>)",
        "<quantity>.compareTo(<quantity>) == 0",
        "isQuantity(<text>)",
        "sets.contains(<texts>, <texts>)",
        "sets.intersects(<ints>, <ints>)",
        "sets.equivalent(<ints>, <ints>)",
        "has(object.metadata.labels.team)",
        "object.metadata.?labels[?<text>].hasValue()",
        "object.spec.?containers[<int>].hasValue()",
        "type(<any>) == type(<any>)",
        "isIP(<text>)",
        "isSemver(<text>)",
        "format.dns1123Label().validate(<text>).hasValue()",
        "bool(<text>)",
        "<ints> == <ints>",
    ),
    "int": (
        "<int> + <int>",
        "<int> - <int>",
        "<int> * <int>",
        "<int> / <int>",
        "<int> % <int>",
        "-<int>",
        "<bool> ? <int> : <int>",
        "size(<text>)",
        "<texts>.size()",
        "size(<any>)",
        "int(<text>)",
        "int(<double>)",
        "int(<uint>)",
        "<ints>[<int>]",
        "<ints>.sum()",
        "<ints>.min()",
        "<ints>.max()",
        "<texts>.indexOf(<text>)",
        "<text>.indexOf(<text>)",
        "<text>.lastIndexOf(<text>)",
        "<text>.indexOf(<text>, <int>)",
        "<time>.getFullYear()",
        "<time>.getDayOfWeek()",
        "<span>.getMinutes()",
        "<span>.getMilliseconds()",
        "object.?spec.?priority.orValue(<int>)",
        "object.metadata.?labels[?'team'].optMap(t, size(t)).orValue(<int>)",
        "<quantity>.asInteger()",
        "<quantity>.sign()",
        "cel.bind(b, <int>, b + b)",
        "math.greatest(<int>, <int>)",
    ),
    "uint": ("<uint> + <uint>", "<uint> - <uint>", "uint(<int>)", "<uint> / <uint>"),
    "double": (
        "<double> + <double>",
        "<double> * <double>",
        "<double> / <double>",
        "double(<int>)",
        "double(<text>)",
        "-<double>",
        "<bool> ? <double> : <double>",
        "<quantity>.asApproximateFloat()",
    ),
    "text": (
        "<text> + <text>",
        "<bool> ? <text> : <text>",
        "string(<int>)",
        "string(<double>)",
        "string(<bool>)",
        "string(<uint>)",
        "string(<span>)",
        "string(<time>)",
        "<texts>[<int>]",
        "<texts>.join(<text>)",
        "<text>.substring(<int>)",
        "<text>.substring(<int>, <int>)",
        "<text>.charAt(<int>)",
        "<text>.lowerAscii()",
        "<text>.upperAscii()",
        "<text>.trim()",
        "<text>.replace(<text>, <text>)",
        "<text>.replace(<text>, <text>, <int>)",
        "<text>.find('[a-z]+')",
        "'%s-%d'.format([<text>, <int>])",
        "'%s %s'.format([<ints>, <double>])",
        "'%.2f|%e'.format([<double>, <double>])",
        "'%x %b %o'.format([<int>, <bool>, <int>])",
        "object.metadata.?labels[?<text>].orValue(<text>)",
        "object.metadata.?annotations.?note.orValue(<text>)",
        "<texts>.max()",
        "string(type(<any>) == map)",
        "string(<quantity>.add(<quantity>).asApproximateFloat())",
    ),
    "texts": (
        "<texts> + <texts>",
        "[<text>, <text>]",
        "<texts>.filter({text|<bool>})",
        "<texts>.map({text|<text>})",
        "<ints>.map({int|<text>})",
        "<text>.split(<text>)",
        "<text>.split(<text>, <int>)",
        "<text>.findAll('[a-z0-9]')",
        "<texts>.sort()",
        "<texts>.distinct()",
        "<texts>.reverse()",
        "<texts>.slice(<int>, <int>)",
        "[?object.metadata.?labels[?'team'], <text>]",
    ),
    "ints": (
        "<ints> + <ints>",
        "[<int>, <int>]",
        "<ints>.filter({int|<bool>})",
        "<ints>.map({int|<int>})",
        "<texts>.map({text|<int>})",
        "<ints>.sort()",
        "<ints>.distinct()",
    ),
    "any": (
        "object.metadata.labels[<text>]",
        "object.spec[<text>]",
        "object.spec.containers[<int>]",
        "object.spec.containers.filter({any|<bool>})",
        "{'k': <int>, 'l': <int>}",
        "{<text>: <text>}",
        "dyn([<ints>, <ints>].flatten())",
        "dyn(<text>)",
        "<bool> ? dyn(<int>) : dyn(<text>)",
        "[dyn(<int>), dyn(<text>)]",
        "object.?spec.?nodeSelector.orValue({})",
    ),
    "time": ("<time> + <span>", "<time> - <span>", "timestamp(<int>)", "<bool> ? <time> : <time>"),
    "span": ("<span> + <span>", "<time> - <time>", "duration(<text>)", "<bool> ? <span> : <span>"),
    "quantity": ("<quantity>.add(<quantity>)", "<quantity>.sub(<quantity>)", "quantity(<text>)"),
}
