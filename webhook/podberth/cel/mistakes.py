"""The advice about parts of an expression that other languages have and CEL has not.

Authors bring such parts from Python, JavaScript, Go templates, Rego and JMESPath. A function here reads at most
``_NEAR`` characters before and after the place of an error, so that all errors of a long expression together cost
linear time.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NEAR: Final = 200
"""A label's key has 317 characters at most, and nearly all keys are much shorter."""

_LOOP: Final = "a.exists(x, condition)"
_LOOPS: Final = f"a.all(x, condition) or {_LOOP}"
_DEFAULT: Final = "a.?b.orValue(c)"
_CHOICE: Final = "c ? a : b"
_CONSEQUENCE: Final = "!(a) || b"
_PARTS: Final = "each part as one of spec.variables"

FUNCTIONS: Mapping[str, str] = {
    "all": "a.all(x, condition)",
    "any": _LOOP,
    "append": "a + [b]",
    "coalesce": _DEFAULT,
    "containsKey": "'b' in a",
    "count": "size(a), or size(a.filter(x, condition))",
    "default": _DEFAULT,
    "defined": "has(a.b)",
    "every": "a.all(x, condition)",
    "exists": f"{_LOOP}, or has(a.b) for a field",
    "filter": "a.filter(x, condition)",
    "float": "double(a)",
    "forEach": "a.all(x, condition)",
    "get": "a[?'b'].orValue(c)",
    "has": "has(a.b), or 'b' in a",
    "hasKey": "'b' in a",
    "hasOwnProperty": "'b' in a",
    "hasPrefix": "a.startsWith(b)",
    "hasSuffix": "a.endsWith(b)",
    "includes": "a.contains(b) for a text, b in a for a list",
    "isdigit": "a.matches('^[0-9]+$')",
    "isinstance": "type(a) == int",
    "items": "a.all(k, v, condition) or a.exists(k, v, condition)",
    "keys": "'b' in a, or a.exists(k, condition)",
    "len": "size(a)",
    "length": "size(a)",
    "map": "a.map(x, b)",
    "max": "[a, b].max()",
    "min": "[a, b].min()",
    "not": "!(a)",
    "range": "a <= x && x < b, or lists.range(n)",
    "some": _LOOP,
    "sprintf": "'%d'.format([a])",
    "str": "string(a)",
    "strip": "a.trim()",
    "sum": "a.sum()",
    "toString": "string(a)",
    "toLowerCase": "a.lowerAscii()",
    "toUpperCase": "a.upperAscii()",
    "typeof": "type(a) == int",
    "undefined": "!has(a.b)",
    "values": "a.exists(k, v, condition)",
}
"""Functions of other languages, and what CEL has in their place."""

LOOPS: Final = frozenset({"all", "any", "every", "exists", "filter", "forEach", "map", "some"})
"""The functions that CEL or another language calls with a variable of their own."""

WORDS: Mapping[str, str] = {
    "None": "null",
    "nil": "null",
    "undefined": "null",
    "NULL": "null",
    "True": "true",
    "TRUE": "true",
    "False": "false",
    "FALSE": "false",
    "pod": "object",
    "input": "object",
    "self": "object",
    "oldSelf": "oldObject",
    "spec": "object.spec",
    "metadata": "object.metadata",
    "containers": "object.spec.containers",
    "_": _LOOPS,
    "re": "a.matches(b)",
    "regex": "a.matches(b)",
    "strings": "a.startsWith(b), a.contains(b) or another function of a text",
}
"""Names of other languages, and what CEL or podberth has in their place."""

_RESERVED: Mapping[str, str] = {
    "if": _CHOICE,
    "else": _CHOICE,
    "return": "the value alone",
    "let": _PARTS,
    "var": _PARTS,
    "const": _PARTS,
    "for": _LOOPS,
    "while": _LOOPS,
}

OF_RESERVED: Final = ("CEL has no ", "CEL reserves the word ")
"""The beginnings of the messages about reserved words."""

OPERATORS: Mapping[str, str] = {
    "and": "&&",
    "or": "||",
    "map": "a.map(x, b)",
    "max": "[a, b].max()",
    "min": "[a, b].min()",
    "not": "!(a)",
    "is": "==",
    "=": "==",
    "=<": "<=",
    "=>": ">=",
    "=~": "a.matches(b)",
    "&": "&&",
    "|": "||, or a.f() to call a function",
    "eq": "==",
    "ne": "!=",
    "has": "'b' in a",
    "like": "a.contains(b), a.startsWith(b) or a.matches(b)",
    "between": "b <= a && a <= c",
    "instanceof": "type(a) == int",
    "else": _CHOICE,
    ":=": _PARTS,
    ";": f"&& between conditions, and {_PARTS}",
    "#": "the comment in YAML, above the field",
    "/": "a.matches('pattern')",
    "$": "the name alone",
    "contains": "a.contains(b)",
    "startsWith": "a.startsWith(b)",
    "endsWith": "a.endsWith(b)",
    "matches": "a.matches(b)",
}
"""Operators and words of other languages at the place of an error, and what CEL has in their place."""

_TOKEN: Final = re.compile(r"[A-Za-z]+|=~|=<|=>|:=|&(?!&)|\|(?!\|)|=(?!=)|[;#/$]")
# The start of a call whose argument is a function of JavaScript or Python, such as c => c.name.
_ARGUMENT: Final = r"(?P<call>\w+)\(\s*(?:\w+|\([\w\s,]*\))\s*-?"
_CALL: Final = re.compile(f"{_ARGUMENT}$")
# (what is before the place of the error, what is there, the form of another language, CEL's form)
_FORMS: Final = tuple(
    (re.compile(f"(?:{before})$"), re.compile(there), form, instead)
    for before, there, form, instead in (
        ("==", "=", "===", "=="),
        ("!=", "=", "!==", "!="),
        ("[-+*/]", "=(?!=)", "assignments", _PARTS),
        ("<", ">", "<>", "!="),
        (r"[=<>][^&|()]*", "=>", "=>", _CONSEQUENCE),
        (r"[=<>][^&|()]*-", ">", "->", _CONSEQUENCE),
        ("-", ">", "->", _LOOP),
        (_ARGUMENT, "=>", "=>", _LOOP),
        (r"\?", r"\?", "??", _DEFAULT),
        (r"\?", ":", "?:", _DEFAULT),
        (r"\*", r"\*", "**", "a * a"),
        (r"\[", r"\*|\]", "a[*]", _LOOPS),
        (r"\w\[[^\[\]{}?]*", ":", "a[i:j]", "a.substring(i, j) for a text, a.slice(i, j) for a list"),
        (r"\b[fu]", "['\"]", "f'...'", "'a' + string(b)"),
        ("", r"is\s+not\b", "is not", "!="),
        (r"\bin\s*\([^()]*", ",", "tuples", "a in [b, c]"),
        (r"(?i:\bnot)\s+", "", "not", "!(a)"),
        (r"\blambda\s+", "", "lambda", _LOOP),
        (r"\b(?:some|every)\s+", r"\w", "some or every", _LOOPS),
        (r"^\s*(?:eq|ne|gt|lt)\s+", r"\S", "operators before their operands", "a == b, a != b, a > b or a < b"),
        (r"\{\{.*", r"\}", "{{ }}", "what is between the braces, with object for request.object"),
        (r"\d", r"[KMGT]i?\b", "units", "the number alone, or quantity('40Gi')"),
        (r"\d", r"_\d", "numbers with _", "the digits alone"),
        ("", r"if\b", "a if c else b", _CHOICE),
        ("", r"for\b", "for", f"a.map(x, b), a.filter(x, c), {_LOOPS}"),
        (r"\d\.", r"\.\d", "a..b", "a <= x && x <= b"),
        ("", r"\.\d", "a.0", "a[0]"),
        ("", "`", "`a`", "'a', and 'a' + string(b) for a text with values"),
        ("", "[\u2018-\u201f]", "typographic quotes", "'a'"),
    )
)
TEXT: Final = r"(?:'[^']*'|\"[^\"]*\")"
"""The pattern of a text in quotes."""
_ITEM: Final = rf"(?:{TEXT}|-?\d+)"
_TUPLE: Final = re.compile(rf"\bin\s*\(?\s*(?P<first>{_ITEM})\s*$")
_ITEMS: Final = re.compile(rf"(?:\s*,\s*{_ITEM})+")
_MAPS: Final = "labels|annotations|nodeSelector|matchLabels|data"
_KEY_OF_MAP: Final = re.compile(rf"(?P<map>[A-Za-z_][\w.?]*\.\??(?:{_MAPS}))\.\??(?P<key>\w[\w./-]*)")


@dataclass(frozen=True, slots=True)
class Around:
    """The characters of a line before and after the place of an error, at most ``_NEAR`` of each."""

    before: str
    after: str

    @classmethod
    def place(cls, line: str, index: int) -> "Around":
        """Return the characters around ``index`` (from 0) in a line."""
        return cls(line[max(index - _NEAR, 0) : index], line[index : index + _NEAR])


def form(around: Around) -> str:
    """Return the advice about the syntax of another language at the place of a syntax error; empty if none is known."""
    if listed := _list_of_tuple(around):
        return f"CEL has no tuples; write {listed}"
    for before, there, other, instead in _FORMS:
        if there.match(around.after) and before.search(around.before):
            precise = {_CHOICE: _ternary, _LOOP: _loop}.get(instead)
            return f"CEL has no {other}; write {precise(around) if precise else instead}"
    token = _TOKEN.match(around.after)
    word = next((each for each in (token[0], token[0].lower()) if each in OPERATORS), "") if token else ""
    return f"CEL has no {token[0]}; write {OPERATORS[word]}" if token and word else ""


def reserved(word: str, around: Around) -> str:
    """Return the advice about a word that CEL reserves; the word must not be used as a name."""
    if word in _RESERVED and not around.before.endswith(("-", ".")):
        return f"{OF_RESERVED[0]}{word}; write {_RESERVED[word]}"
    if word == "namespace" and not around.before.endswith(("-", ".")):
        return f"{OF_RESERVED[1]}'namespace'; write request.namespace"
    return f"{OF_RESERVED[1]}{word}; take another name"


def function(name: str, around: Around) -> str:
    """Return CEL's form of a function of another language; empty if none is known. ``around`` is the function's name.

    ``a.b.get('c', d)`` becomes ``a.?b[?'c'].orValue(d)``, and the form of other functions is general.
    """
    receiver = re.search(r"(?P<of>\w+(?:\.\w+)*)\.(?P<field>\w+)\.$", around.before)
    asked = re.match(rf"get\(\s*(?P<key>{TEXT})\s*(?:,\s*(?P<default>{_ITEM})\s*)?\)", around.after)
    if receiver and asked and receiver["of"] != "variables":
        return f"{receiver['of']}.?{receiver['field']}[?{asked['key']}].orValue({asked['default'] or repr('')})"
    return FUNCTIONS.get(name) or FUNCTIONS.get(f"{name[:1].lower()}{name[1:]}", "")


def key_of_map(line: str, index: int) -> tuple[int, str] | None:
    """Return (the index in the line, advice) if an error is inside ``a.labels.my-key``; None if it is not.

    CEL reads ``-`` and ``/`` as operators, and ``.`` as a select.
    """
    around = Around.place(line, index)
    before = re.search(r"[\w./?-]*$", around.before)
    after = re.match(r"[\w./-]*(?P<call>\()?", around.after)
    if before is None or after is None:
        return None
    run = before[0] + after[0].removesuffix("(")
    if after["call"]:
        run = run.rpartition(".")[0]
    match = _KEY_OF_MAP.fullmatch(run)
    if match is None or match["key"].isidentifier():
        return None
    name, key = match["map"].replace("?", ""), match["key"]
    sign = next(each for each in "-/." if each in key)
    if sign == "." and key.rpartition(".")[2] in FUNCTIONS:
        return None
    ask = f"'{key}' in {name}"
    use = ask if around.before.endswith(f"has({before[0]}") else f"{name}['{key}'], and ask {ask} first"
    return index - len(before[0]), f"CEL reads the {sign} of {key} as an operator; write {use}"


def argument_of_has(around: Around) -> str:
    """Return the advice about an argument of ``has`` that is no field."""
    asked = re.search(r"\bhas\(\s*(?P<map>[\w.]+)$", around.before)
    key = re.match(r"\[\s*(?P<key>'[^']*'|\"[^\"]*\")\s*\]", around.after)
    if asked and key:
        return f"write {key['key']} in {asked['map']}"
    return "write has(a.b), 'b' in a for the key of a map, or size(a) > 0 for a list"


def _list_of_tuple(around: Around) -> str:
    """Return a list for the constants that stand after ``in`` without brackets; empty if other values stand there."""
    before = _TUPLE.search(around.before)
    after = _ITEMS.match(around.after)
    return f"in [{before['first']}{after[0]}]" if before and after else ""


def _loop(around: Around) -> str:
    """Return the loop of the name of the call around a function such as ``c => c.name``; ``exists`` for other names."""
    call = _CALL.search(around.before)
    return FUNCTIONS[call["call"]].partition(", or")[0] if call and call["call"] in LOOPS else _LOOP


def _ternary(around: Around) -> str:
    """Return CEL's form of Python's ``a if c else b``; a general one if the whole is too long, or has a bracket.

    A bracket might enclose the whole, or begin inside a part.
    """
    value, condition = around.before.strip(), around.after.removeprefix("if")
    condition, _, other = condition.partition(" else ")
    is_whole = len(around.before) < _NEAR and len(around.after) < _NEAR
    if not is_whole or not other or any(each in around.before + around.after for each in "()[]{}?"):
        return _CHOICE
    return f"{condition.strip()} ? {value} : {other.strip()}"
