"""Rewrites the CEL engine's error texts into messages and positions that help the author of an expression.

The errors are errors of compilation and of evaluation. Only this module parses the engine's texts (cel-expr-python
0.1.3, cel-cpp's checker). An unknown text passes through unchanged.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ..errors import BudgetError, EvaluationError, UndecidedError, did_you_mean
from .libraries.authz import UNJUDGED
from .libraries.native import NAMES
from .libraries.overload import QUANTITY, SEMVER
from .types import NODES, CelType, Want

# Functions of upstream that podberth does not have, with a replacement.
NOT_HAD: Mapping[str, str] = {
    "Object": "Object{...} is not known here; write a map: {'key': value}",
    "JSONPatch": ("JSONPatch{...} is not known here; write a map: {'op': 'add', 'path': '/a/b', 'value': value}"),
    "exists_one": "exists_one takes one variable here, and then a condition; with two write existsOne(k, v, condition)",
    "authorizer": (
        "authorizer is not known here, for podberth asks no API server while it decides; read request.userInfo, or "
        "leave the check to a ValidatingAdmissionPolicy"
    ),
}

_ELSEWHERE: Mapping[str, str] = {
    "namespaceObject": "; matchConstraints.namespaceSelector matches a policy to namespaces by their labels",
}
"""What to write where a variable is not available."""

# Operators that quantities and versions lack, and their functions.
INSTEAD: Mapping[str, str] = {
    "_+_": "a.add(b)",
    "_-_": "a.sub(b)",
    "_<_": "a.isLessThan(b)",
    "_>_": "a.isGreaterThan(b)",
    "_<=_": "a.compareTo(b) <= 0",
    "_>=_": "a.compareTo(b) >= 0",
}

# Operators and functions of other languages, and what CEL has in their place.
OPERATORS: Mapping[str, str] = {"and": "&&", "or": "||", "not": "!(a)", "is": "==", "=": "==", "=~": "a.matches(b)"}
FUNCTIONS: Mapping[str, str] = {
    "any": "a.exists(x, condition)",
    "len": "size(a)",
    "length": "size(a)",
    "has": "has(a.b), or 'b' in a",
}
WORDS: Mapping[str, str] = {"None": "null", "True": "true", "False": "false", "pod": "object"}
"""Names of other languages, and what CEL or podberth has in their place."""

CALLS: Final = (
    ("_+_", "string", "write string(...)"),
    ("contains", "(list(", "write b in a"),
    ("contains", "(map(", "write b in a"),
    ("sum", QUANTITY, "sum numbers, such as those of asApproximateFloat()"),
    ("!_", "", "write parentheses around what is negated, as in !(a in b)"),
)
"""The advice about a call that no function takes: (function, a part of the operands' types, advice)."""

# One entry: "ERROR: <input>:1:7: text", then lines of source that start with " | ". Line and column count from 1, the
# column by code points.
_ENTRY = re.compile(
    r"^(?:INVALID_ARGUMENT: )?ERROR: <input>:(-?\d+):(-?\d+): (.*?)(?: \[INVALID_ARGUMENT\])?$", re.MULTILINE
)
_FIELD = re.compile(r"undefined field '(?P<field>[^']*)' not found in struct '(?P<message>[^']*)'")
_REFERENCE = re.compile(r"undeclared reference to '(?P<name>[^']*)'")
_OVERLOAD = re.compile(r"found no matching overload for '(?P<function>[^']*)' applied to '(?P<operands>.*)'")
_OPERATOR = re.compile(r"Syntax error: (?:mismatched input|token recognition error at:) '(?P<operator>\S+?)\s*'")
_FIELD_OF_LIST = re.compile(r"expression of type 'list\(.*\)' cannot be the operand of a select operation")
_OF_LIST = "a list has no fields; write a[0].b, a.all(x, condition), or size(a) for the number of its items"
_KEY = re.compile(r"[{,]\s*(?P<key>\w+)\s*:")
_DASHED = re.compile(r"(?<![\w.'\"-])[A-Za-z_]\w*(?:-\w+)+")
# A whole source that looks like a text; a single name that resembles none that is known, or no expression at all.
_WORD = re.compile(r"[A-Za-z0-9][\w./-]*")
_SYNTAX = "Syntax error: "
_AFTERWARDS = ("*error*", "<<nil>> parsetree")
_LEAD = re.compile(r"[.?\s]*")
_TAIL = re.compile(r"[\w.\s]*")
_TOO_DEEP = re.compile(r"recursion (?:depth|limit)")

TOO_DEEP = "nested too deeply; got more than 32 levels, want fewer (a + b + c + ... nests too); split it with variables"
"""The message for an expression beyond the nesting limit of cel-cpp's parser, or that of protobuf (100 nested
messages)."""


@dataclass(frozen=True, slots=True, order=True)
class CelProblem:
    """One problem of an expression. Line and column count from 1 in the expression's source."""

    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that an author may have meant, for suggestions after a misspelt name."""

    names: frozenset[str]
    """The variables that the expression may use."""
    forbidden: frozenset[str]
    """The variables that exist, but that the expression may not use."""
    functions: frozenset[str]
    """The functions that podberth adds to the CEL engine's functions."""
    fields: Mapping[str, Iterable[str]]
    """The field names of each message type, by the type's name."""


def explain(text: str, source: str, words: Vocabulary) -> tuple[CelProblem, ...]:
    """Return the problems that the CEL engine's compilation error ``text`` reports, sorted; there is at least one.

    ``words`` are the names that may be suggested in place of a misspelt name.
    """
    found: set[CelProblem] = set()
    for match in _ENTRY.finditer(text):
        line, column, said = int(match[1]), int(match[2]), match[3]
        # The rest of the expression around a part that failed already.
        if found and any(each in said for each in _AFTERWARDS):
            continue
        message, name = _say(said, words)
        problem = _placed(source, line, column, name, message)
        found.add(_of_unquoted(source, problem) or problem if _REFERENCE.search(said) else problem)
    if any(each.message.startswith(_SYNTAX) for each in found):
        # The others of a line are about its rest, which is not read as it is meant.
        found = {min(each for each in found if each.line == line) for line in {each.line for each in found}}
    word = source.strip()
    if _WORD.fullmatch(word) and _is_text(word, found, words):
        found = {CelProblem(1, 1, f"{word} is no expression; if it is a text, quote it: \"'{word}'\"")}
    if not found:
        found.add(CelProblem(1, 1, TOO_DEEP if _TOO_DEEP.search(text) else text))
    return tuple(sorted(found))


def unwanted(found: CelType, want: Want) -> CelProblem:
    """Return the problem of an expression whose type ``found`` differs from the type ``want``."""
    hint = (
        "; write string(...)" if want in (Want.STRING, Want.MESSAGE) else "; take its .terms" if found == NODES else ""
    )
    return CelProblem(1, 1, f"got {found}, want {want.value}{hint}")


def _is_text(word: str, problems: Iterable[CelProblem], words: Vocabulary) -> bool:
    """Return whether an expression of one word is no misspelt variable; then it is probably a text without quotes."""
    known = {name.partition(".")[0] for name in words.names}
    is_variable = word.partition(".")[0] in known or did_you_mean(word, known)
    said = (_SYNTAX, f"undeclared reference to '{word}'")
    return not is_variable and any(each.message.startswith(said) for each in problems)


def _of_unquoted(source: str, problem: CelProblem) -> CelProblem | None:
    """Return a better problem for an unknown name that needs quotes: a key of a map, or a part of a text with dashes.

    None if the name is neither.
    """
    index = problem.column - 1
    line = source.split("\n")[problem.line - 1]
    for match in _KEY.finditer(line):
        if match.start("key") == index:
            key = match["key"]
            return replace(problem, message=f"{key} is no known name; if it is the key of a map, quote it: '{key}'")
    for match in _DASHED.finditer(line):
        if match.start() <= index < match.end():
            text = match[0]
            quoted = f"\"'{text}'\"" if text == source.strip() else f"'{text}'"
            message = f"{text} is a subtraction of unknown names; if it is a text, quote it: {quoted}"
            return CelProblem(problem.line, match.start() + 1, message)
    return None


def _say(said: str, words: Vocabulary) -> tuple[str, str]:
    """Return (podberth's message for a message of the engine, the name in the source that the message is about).

    The name is "" if the message is about no name.
    """
    if match := _FIELD.search(said):
        field, message = match["field"], match["message"]
        known = [name for name in words.fields.get(message, ()) if not name.startswith("__")]
        return f"undefined field '{field}' in {message.rpartition('.')[2]}{did_you_mean(field, known)}", field
    if match := _REFERENCE.search(said):
        return _undeclared(match["name"], words)
    if match := _OVERLOAD.search(said):
        return f"found no matching overload for {match[0].partition(' for ')[2]}{_overload_hint(match)}", ""
    return _say_without_name(said), ""


def _say_without_name(said: str) -> str:
    if _TOO_DEEP.search(said):
        return TOO_DEEP
    if _FIELD_OF_LIST.search(said):
        return _OF_LIST
    if (match := _OPERATOR.match(said)) and match["operator"] in OPERATORS:
        return f"{_SYNTAX}CEL has no {match['operator']}; write {OPERATORS[match['operator']]}"
    # "Syntax error: mismatched input '<EOF>' expecting {'[', '{', ...": the list of every token helps nobody.
    return re.sub(r" expecting \{.*\}$", "", said)


def _undeclared(name: str, words: Vocabulary) -> tuple[str, str]:
    first, _, rest = name.partition(".")
    if first in words.forbidden:
        available = f"{first} is not available here; available are {', '.join(sorted(words.names))}"
        return available + _ELSEWHERE.get(first, ""), first
    if first == "variables":
        declared = [known.partition(".")[2] for known in words.names if known.startswith("variables.")]
        variable = rest.partition(".")[0]
        hint = did_you_mean(variable, declared) or f"; declared before it: {', '.join(sorted(declared)) or 'none'}"
        return f"undeclared reference to 'variables.{variable}'{hint}", variable
    if first in NOT_HAD:
        return NOT_HAD[first], first
    if instead := FUNCTIONS.get(first) or WORDS.get(first):
        return f"undeclared reference to '{first}'; write {instead}", first
    if f"variables.{first}" in words.names:
        return f"undeclared reference to '{first}'; write variables.{first}", first
    known_names = {known.partition(".")[0] for known in words.names}
    return f"undeclared reference to '{first}'{did_you_mean(first, [*known_names, *NAMES, *words.functions])}", first


def _overload_hint(match: re.Match[str]) -> str:
    function, operands = match["function"], match["operands"]
    if "null_type" in operands and function == "_?_:_":
        return "; write condition ? optional.of(value) : optional.none()"
    if "null_type" in operands:
        return "; ask has(...) instead of comparing with null"
    if function in INSTEAD and any(each in operands for each in (QUANTITY, SEMVER)):
        return f"; write {INSTEAD[function]}"
    return next((f"; {advice}" for name, part, advice in CALLS if name == function and part in operands), "")


def _placed(source: str, line: int, column: int, name: str, message: str) -> CelProblem:
    """Return the problem at the position of ``name`` in the source.

    The CEL engine reports the position of a dot or bracket near the name.
    """
    lines = source.split("\n")
    if not 1 <= line <= len(lines):
        return CelProblem(1, 1, message)
    text, index = lines[line - 1], min(max(column - 1, 0), len(lines[line - 1]))
    return CelProblem(line, (_find(text, index, name) if name else index) + 1, message)


def _find(text: str, index: int, name: str) -> int:
    """Return the index of ``name`` near ``index`` in a line of source; ``index`` itself if the name is not near."""
    lead = _LEAD.match(text, index)
    if lead and text.startswith(name, lead.end()):  # a field: at the dot
        return lead.end()
    before = text.rfind(name, 0, index)
    if before >= 0 and _TAIL.fullmatch(text, before + len(name), index):  # a function: at its parenthesis
        return before
    inside = re.compile(rf"\.\??\s*(?={re.escape(name)}\b)").search(text, index)  # has(a.b): at the macro's
    return inside.end() if inside else index


# ---- evaluation -----------------------------------------------------------------------------------------------------
# In upstream's words (cel-go common/types, interpreter) where it has some. The status code in front says nothing more.
_STATUS = re.compile(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$")
# Run-time names of library functions: cel.dispatch.
_OURS = re.compile(r"\b(?:library|internal)\.(?=\w)")
_BUDGET = re.compile(r"Iteration budget exceeded")
# Limits of podberth's functions (libraries.lists, dispatch), which upstream's do not have.
_OWN_LIMIT = re.compile(r"lists\.range: got \d+, want at most|got a text of \d+ characters, want at most")
_FAILURES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Key not found in map : \"?(.*?)\"?$"), r"no such key: \1"),
    (re.compile(r"Index error: index=(-?\d+) size=(\d+)"), r"index out of bounds: \1, size \2"),
    (re.compile(r"No value with name \"(.*?)\" found in Activation"), r"no such attribute: \1"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"No matching overloads found : <jump_condition>"), "no such overload: a condition that is no bool"),
    (re.compile(r"No matching overloads found : <iter_range>"), "no such overload: a loop over what is no list or map"),
    (re.compile(r"No matching overloads found : (.*)"), r"no such overload: \1"),
    (re.compile(r"Applying SELECT to non-message type"), "no such field: a field of null or of a scalar was asked for"),
    (_BUDGET, "out of budget: more than 10,000 iterations"),
)


def error_of(text: str) -> EvaluationError:
    """Return the error of an evaluation that failed with the engine's error ``text``."""
    if _BUDGET.search(text) or _OWN_LIMIT.search(text):
        return BudgetError(failure(text))
    return (UndecidedError if UNJUDGED in text else EvaluationError)(failure(text))


def failure(text: str) -> str:
    """Return the CEL engine's error text of an evaluation, shortened."""
    said = _STATUS.sub("", _STATUS.sub("", text)).strip()
    for pattern, words in _FAILURES:
        if pattern.search(said):
            return _OURS.sub("", pattern.sub(words, said)).replace("int64", "int")
    return said
