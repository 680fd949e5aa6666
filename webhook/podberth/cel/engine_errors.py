"""Rewrites the CEL engine's error texts into messages and positions that help the author of an expression.

The errors are errors of compilation and of evaluation. Only this module parses the engine's texts (cel-expr-python
0.1.3, cel-cpp's checker). An unknown text passes through unchanged.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import BudgetError, EvaluationError, UndecidedError
from ..words import did_you_mean
from . import mistakes
from .libraries.authz import UNJUDGED
from .libraries.native import NAMES
from .mistakes import Around
from .operands import advice_about
from .types import NODES, OPTIONAL, CelType, Want

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
    "variables": (
        "; matchConditions are evaluated before the variables, and exceptions have none; "
        "write the variable's expression"
    ),
}
"""What to write where a variable is not available."""

# One entry: "ERROR: <input>:1:7: text", then lines of source that start with " | ". Line and column count from 1, the
# column by code points.
_ENTRY = re.compile(
    r"^(?:INVALID_ARGUMENT: )?ERROR: <input>:(-?\d+):(-?\d+): (.*?)(?: \[INVALID_ARGUMENT\])?$", re.MULTILINE
)
_FIELD = re.compile(r"undefined field '(?P<field>[^']*)' not found in struct '(?P<message>[^']*)'")
_REFERENCE = re.compile(r"undeclared reference to '(?P<name>[^']*)'")
_OVERLOAD = re.compile(r"found no matching overload for '(?P<function>[^']*)' applied to '(?P<operands>.*)'")
_UNREAD = re.compile(
    r"Syntax error: (?:mismatched input|extraneous input|no viable alternative at input|token recognition error at:|"
    r"missing (?P<missing>\S+) at) '(?P<got>.*?)\s*'(?: expecting (?P<want>.*))?"
)
# A text in quotes before an error: if the rest of its line has one quote too many, this text is not closed
_OPEN_QUOTE = re.compile(r"(?P<quote>['\"])(?:(?!(?P=quote)).)*(?P=quote)\s*$")
_UNCLOSED = "the text that begins here has no closing {}"
# Optional chaining in JavaScript
_CHAIN = re.compile(r"\?\.(?=[A-Za-z_])")
_RESERVED = re.compile(r"reserved identifier: (?P<word>\w+)")
# The engine reports what is behind the dot, which may be on a later line.
_NO_NAME = re.compile(
    r"Syntax error: (?:no viable alternative at input '\.|mismatched input .* expecting \{IDENTIFIER, ESC)"
)
_DOT = re.compile(r"(?:[A-Za-z_]\w*|[\])}'\"])\s*(?P<dot>\.\??)$")
_NO_FIELDS = re.compile(r"expression of type '(?P<type>.*)' cannot be the operand of a select operation")
# A part of an expression that gives an optional: a.?b, a[?'b'] and what is selected from them.
_OF_OPTIONAL = re.compile(r"(?:\.\?\w|\[\?[^\[\]]*\])[\w.]*$")
_OPTIONAL_FUNCTIONS = ("hasValue()", "value()", "or(b)", "orValue(b)", "optMap(x, b)", "optFlatMap(x, b)")
_OF_LIST = "a list has no fields; write a[0].b, a.all(x, condition), or size(a) for the number of its items"
_MAY_BE_KEY = re.compile(
    r"undeclared reference|reserved identifier|select operation|overload for '_[-/]_'|must be a field selection"
)
_OF_HAS = "has() argument must be a field selection"
_KEY = re.compile(r"[{,]\s*$")
_DASHED = re.compile(r"(?<![\w.'\"-])[A-Za-z_]\w*(?:-\w+)+")
# A whole source that looks like a text: words, of which none is known and none is followed by an operator.
_TEXT = re.compile(r"[A-Za-z0-9][\w./ -]*")
# The same where a text is wanted: a line without a quote, a bracket or an operator.
_PLAIN = re.compile(r"[^\n'\"`\\()\[\]{}?=<>&|!+*]+")
_OPERATOR = re.compile(r"\s[-/%](?:\s|$)")
# Two words at the beginning, which no expression has but for operators; a quote would end the text in quotes.
_SENTENCE = re.compile(r"[A-Za-z]\w* (?P<second>[A-Za-z]\w*)\b[^\n'\"\\]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# A label's key below a domain, which would be a division of fields that nothing has.
_LABEL_KEY = re.compile(r"[a-z][\w-]*(?:\.[\w-]+)*\.(?:ai|cloud|com|dev|io|net|org)/[A-Za-z][\w.-]*")
# The text that begins with an unknown name, behind an operator or in a list.
_UNQUOTED = re.compile(r"[A-Za-z_]\w*(?:[./-]\w+)*(?!\s*(?:[\w(.\[{=!<>]|in\b))")
# The same at the beginning of a condition, where a field or a map may follow.
_FIRST = re.compile(rf"{_UNQUOTED.pattern}|[A-Za-z_]\w*(?=\s*(?:in|[=!]=)\s*[A-Za-z])")
_QUOTE_TEXT = "if it is a text, quote it: \"'{}'\""
_SYNTAX = "Syntax error: "
_LONGEST = 40
"""The length at which a token is truncated in a message."""
_OF_TEXT = (Want.STRING, Want.MESSAGE)
_HAVE_STRING = frozenset(
    {"bool", "int", "uint", "double", "bytes", "net.IP", "net.CIDR", "dyn"}
    | {f"google.protobuf.{each}" for each in ("Timestamp", "Duration")}
)
"""The types whose values string() takes."""
_BEGINS = re.compile(r"(?:^|[(!]|&&|\|\|)\s*$")
"""The text before the first operand of a condition."""
_HOLDERS: Mapping[str, str] = {"gpu": "podberth.Gpu", "object.spec": "k8s.PodSpec", "object.metadata": "k8s.ObjectMeta"}
"""The values whose fields are named without them, each with its type."""
_COMPARISONS: Mapping[str, str] = {"string": "a != ''", "int": "a > 0", "double": "a > 0.0"}
"""A condition on a value of each type."""
_QUOTE_IT = "; a text has quotes; did you mean '{}'?"
_OF_METADATA = frozenset({"labels", "annotations", "name", "namespace"})
_LOOPS = tuple(f"undeclared reference to '{name}'; write " for name in mistakes.LOOPS)
_LOOSE = re.compile(r"undeclared reference to '\w+'(?:; a text has quotes.*|; did you mean.*)?")
_AFTERWARDS = ("*error*", "<<nil>> parsetree", "more errors were truncated", "maximum number of ERROR issues")
_LEAD = re.compile(r"(?<=\bhas)\(\s*|[.?\s]*")
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


def explain(text: str, source: str, words: Vocabulary, want: Want = Want.PART) -> tuple[CelProblem, ...]:
    """Return the problems that the CEL engine's compilation error ``text`` reports, sorted; there is at least one.

    ``words`` are the names that may be suggested in place of a misspelt name. ``want`` is the type of the value: where
    that is a text, an expression that cannot be parsed may be the text itself, without quotes.
    """
    lines = source.split("\n")
    found: set[CelProblem] = set()
    for match in _ENTRY.finditer(text):
        line, column, said = int(match[1]), int(match[2]), match[3]
        # The rest of the expression around a part that failed already.
        if found and any(each in said for each in _AFTERWARDS):
            continue
        written = lines[line - 1] if 1 <= line <= len(lines) else ""
        at = min(max(column - 1, 0), len(written))
        if _NO_NAME.match(said) and (unnamed := _unnamed(lines, line, written[:at])):
            found.add(unnamed)
            continue
        index, message = _explained(said, written, at, words)
        found.add(CelProblem(line, index + 1, message) if written else CelProblem(1, 1, message))
    if any(each.message.startswith(_SYNTAX) for each in found):
        # The others of a line are about its rest, which is not read as it is meant.
        wrong = sorted(found, key=lambda each: (each.line, each.message.startswith(_OF_HAS), each))
        found = {next(each for each in wrong if each.line == line) for line in {each.line for each in found}}
    if loops := {each.line for each in found if each.message.startswith(_LOOPS)}:
        # The variable of a loop that CEL does not know.
        found = {each for each in found if each.line not in loops or not _LOOSE.fullmatch(each.message)}
    word = source.strip()
    is_plain = want in _OF_TEXT and _is_plain(word, found, words)
    if is_plain or (found and _TEXT.fullmatch(word) and (_LABEL_KEY.fullmatch(word) or _is_text(word, found, words))):
        found = {CelProblem(1, 1, f"{word} is no expression; {_QUOTE_TEXT.format(word)}")}
    if not found:
        found.add(CelProblem(1, 1, TOO_DEEP if _TOO_DEEP.search(text) else text))
    return tuple(sorted(found))


def unwanted(found: CelType, want: Want, source: str) -> CelProblem:
    """Return the problem of the expression ``source`` whose type ``found`` differs from the type ``want``."""
    hint, word = "", source.strip()
    if found.name == OPTIONAL and (want is Want.BOOL or want in _OF_TEXT):
        hint = "; write a.orValue(b)"
    elif want in _OF_TEXT:
        # A single word may be meant as a text: the variable gpu, the literals true and 5.
        is_word = _NUMBER.fullmatch(word) or word.isidentifier()
        hint = f"; {_QUOTE_TEXT.format(word)}" if is_word else "; write string(...)" * (found.name in _HAVE_STRING)
    elif found == NODES:
        hint = "; take its .terms"
    elif found.name in _COMPARISONS and want is Want.BOOL:
        hint = f"; write a comparison, as in {_COMPARISONS[found.name]}"
    return CelProblem(1, 1, f"got {found}, want {want.value}{hint}")


def _is_text(text: str, problems: Iterable[CelProblem], words: Vocabulary) -> bool:
    """Return whether an expression of words is probably a text without quotes, and no misspelt variable."""
    known = {name.partition(".")[0] for name in words.names} | mistakes.WORDS.keys()
    first = re.split("[. ]", text, maxsplit=1)[0]
    said = (f"{_SYNTAX}got", f"undeclared reference to '{text}'")
    return (
        first not in known
        and not did_you_mean(first, known)
        and any(each.message.startswith(said) for each in problems)
    )


def _is_plain(text: str, problems: Iterable[CelProblem], words: Vocabulary) -> bool:
    """Return whether an expression that does not compile has the form of a text: a sentence, or no operator but ``/``.

    The value of a division is no text, so names on both sides of a slash may be a path.
    """
    known = {name.partition(".")[0] for name in words.names}
    sentence = _SENTENCE.fullmatch(text)
    said = (_SYNTAX, *mistakes.OF_RESERVED, *(("undeclared reference",) if "/" in text else ()))
    return (
        any(each.message.startswith(said) for each in problems)
        and (
            bool(sentence and sentence["second"] not in mistakes.OPERATORS)
            or bool(_PLAIN.fullmatch(text) and not _OPERATOR.search(text))
        )
        and re.split(r"\.(?=\w)", text, maxsplit=1)[0] not in known
    )


def _explained(said: str, line: str, index: int, words: Vocabulary) -> tuple[int, str]:
    """Return (the index of a problem in its line, podberth's message) for a message of the engine.

    ``index`` is the index that the engine reports, which may be the index of a dot or bracket near the name.
    """
    around = Around.place(line, index)
    if match := _UNREAD.fullmatch(said):
        start, message = _unread(match, around)
        return index - start, _SYNTAX + message
    if match := _FIELD.search(said):
        return _find(line, index, match["field"]), _no_field(match["field"], match["message"], words)
    if _MAY_BE_KEY.search(said) and (found := mistakes.key_of_map(line, index)):
        return found
    if match := _REFERENCE.search(said):
        return _undeclared(match["name"], line, index, words)
    if match := _OVERLOAD.search(said):
        advice = advice_about(match["function"], match["operands"], around)
        return index, f"found no matching overload for {match[0].partition(' for ')[2]}{advice and f'; {advice}'}"
    return index, _say_without_name(said, around)


def _unread(match: re.Match[str], around: Around) -> tuple[int, str]:
    """Return (the number of characters from the mistake to the place, the message) for what the parser cannot read."""
    before = _OPEN_QUOTE.search(around.before)
    if before and around.after.count(before["quote"]) % 2 and not around.after.startswith(("'", '"')):
        return len(before[0]), f"{_UNCLOSED.format(before['quote'])} before {match['got']}"
    wanted = match["missing"] or match["want"] or ""
    if wanted == "':'" and (chain := _CHAIN.search(around.before)):
        return len(around.before) - chain.start(), "CEL has no a?.b; write .? instead of ?."
    return 0, mistakes.form(around) or _unwanted(match)


def _unwanted(match: re.Match[str]) -> str:
    """Return the message for a token that the parser does not want at its place."""
    got, want = match["got"], match["missing"] or match["want"] or ""
    if got[:1] in ("'", '"') and "token recognition" in match[0]:
        return f"{_UNCLOSED.format(got[0])} on its line"
    # "expecting {'[', '{', ...": the list of every token helps nobody.
    closing = next((each for each in ("']'", "'}'", "')'") if each in want), "")
    wanted = "a value" if "IDENTIFIER" in want else closing if want.startswith("{") else want
    wanted = wanted.replace("<EOF>", "an operator such as &&, or the end of the expression")
    return f"got {'the end' if got == '<EOF>' else repr(got)[:_LONGEST]}{wanted and f', want {wanted}'}"


def _unnamed(lines: Sequence[str], line: int, before: str) -> CelProblem | None:
    """Return the problem of a dot that no name follows; None if no such dot is last in the text before a place.

    ``before`` is the part of the line ``line`` that is before the place.
    """
    while line > 1 and not before.strip():
        line -= 1
        before = lines[line - 1]
    before = before.rstrip()
    dot = _DOT.search(Around.place(before, len(before)).before)
    if dot is None:
        return None
    message = f"{_SYNTAX}got {dot['dot']!r}, want the name of a field or function behind it"
    return CelProblem(line, len(before) - len(dot["dot"]) + 1, message)


def _no_field(field: str, message: str, words: Vocabulary) -> str:
    """Return the message about a field that a type lacks."""
    if message.endswith(".Request") and field in ("object", "oldObject"):
        return f"undefined field '{field}' in Request; the pod is {field}, without request"
    known = [name for name in words.fields.get(message, ()) if not name.startswith("__")]
    in_metadata = "metadata" in known and field in _OF_METADATA
    hint = f"; write metadata.{field}" if in_metadata else did_you_mean(field, known)
    return f"undefined field '{field}' in {message.rpartition('.')[2]}{hint}"


def _say_without_name(said: str, around: Around) -> str:
    if _TOO_DEEP.search(said):
        return TOO_DEEP
    if match := _NO_FIELDS.search(said):
        kind = match["type"]
        if kind.startswith("list("):
            return _OF_LIST
        asked = re.match(r"\.\s*(\w+)", around.after)
        near = did_you_mean(asked[1], _OPTIONAL_FUNCTIONS) if asked and _OF_OPTIONAL.search(around.before) else ""
        instead = mistakes.FUNCTIONS.get(asked[1], "a.f() to call a function") if asked else "a.f() to call a function"
        return f"{kind} has no fields{near or f'; write {instead}'}"
    if match := _RESERVED.search(said):
        return mistakes.reserved(match["word"], around)
    return f"{said}; {mistakes.argument_of_has(around)}" if said == _OF_HAS else said


def _undeclared(name: str, line: str, index: int, words: Vocabulary) -> tuple[int, str]:
    """Return (the index of an unknown name in its line, the message about it)."""
    first, _, rest = name.partition(".")
    start = _find(line, index, first)
    if first in words.forbidden:
        available = f"{first} is not available here; available are {', '.join(sorted(words.names))}"
        return start, available + _ELSEWHERE.get(first, "")
    if first == "variables":
        declared = [known.partition(".")[2] for known in words.names if known.startswith("variables.")]
        variable = rest.partition(".")[0]
        hint = did_you_mean(variable, declared) or f"; declared before it: {', '.join(sorted(declared)) or 'none'}"
        return _find(line, index, variable), f"undeclared reference to 'variables.{variable}'{hint}"
    if first in NOT_HAD:
        return start, NOT_HAD[first]
    around = Around.place(line, start)
    is_called = around.after.removeprefix(first).lstrip().startswith("(")
    if not is_called and (found := _unquoted(line, start)):
        return found
    hint = _called(first, words, around) if is_called else _variable(first, words, around)
    return start, f"undeclared reference to '{first}'{hint}"


def _variable(name: str, words: Vocabulary, around: Around) -> str:
    """Return the advice about an unknown variable."""
    if instead := mistakes.WORDS.get(name):
        return f"; write {instead}"
    if f"variables.{name}" in words.names:
        return f"; write variables.{name}"
    if _BEGINS.search(around.before):
        holders = (holder for holder, kind in _HOLDERS.items() if name in words.fields.get(kind, ()))
        if holder := next((each for each in holders if each.partition(".")[0] in words.names), ""):
            return f"; write {holder}.{name}"
    return did_you_mean(name, {each.partition(".")[0] for each in words.names}) or _quote(name, around)


def _called(name: str, words: Vocabulary, around: Around) -> str:
    """Return the advice about the name of an unknown function."""
    functions = {*NAMES, *words.functions}
    if instead := mistakes.function(name, around):
        return f"; write {instead}"
    if name in functions:
        return f"; write {name}(a)" if around.before.rstrip().endswith(".") else f"; write a.{name}(b)"
    return did_you_mean(name, functions)


def _quote(name: str, around: Around) -> str:
    """Return the advice to quote an unknown name; empty if it can hardly be a text, as the variable of a loop."""
    match = (_FIRST if _BEGINS.search(around.before) else _UNQUOTED).match(around.after)
    is_compared = around.before.rstrip().endswith(("==", "!="))
    is_number = around.before.rstrip().endswith(("-", "*", "/", "%", "<", ">"))
    text = match[0] if match and not is_number and (is_compared or match[0] == name) else ""
    return _QUOTE_IT.format(text) if len(text) > 1 else ""


def _unquoted(line: str, start: int) -> tuple[int, str] | None:
    """Return (the index, the message) for an unknown name that is a map's key or a part of a text with dashes.

    None if the name is neither.
    """
    around = Around.place(line, start)
    if _KEY.search(around.before) and (match := re.match(r"(\w+)\s*:", around.after)):
        return start, f"{match[1]} is no known name; if it is the key of a map, quote it: '{match[1]}'"
    before = re.search(r"[\w-]*$", around.before)
    begin = start - (len(before[0]) if before else 0)
    if (dashed := _DASHED.match(line, begin)) and dashed.end() > start:
        text = dashed[0]
        quoted = f"\"'{text}'\"" if text == line.strip() else f"'{text}'"
        return begin, f"{text} is a subtraction of unknown names; if it is a text, quote it: {quoted}"
    return None


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
