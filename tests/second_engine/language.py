"""What celpy's parser and evaluator are taught: optionals, quoted fields, and ``has()`` as the specification has it.

celpy 0.5.0 does not parse ``a.?b``, ``m[?k]``, ``[?x]`` and ``{?k: x}``, and leaves its own scenarios for them out
(https://github.com/cloud-custodian/cel-python/blob/main/features/optionals.feature). The grammar is celpy's own with
four rules amended, after cel-go's parser/gen/CEL.g4; the evaluator is celpy's own with methods for the new rules.
"""

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import celpy
from celpy import celtypes
from celpy.celparser import CELParser
from celpy.evaluation import CELEvalError, Evaluator
from lark import Lark, Token, Tree

from .operators import find
from .values import ABSENT, Optional

_AMENDMENTS: Mapping[str, str] = {
    '\nmember_dot     : member "." IDENT\n': """
member_dot     : member "." _field
_field         : IDENT | QUOTED
QUOTED         : /`[^`]+`/
""",
    "\nmember         : member_dot |": """
member_optional_dot   : member "." "?" _field
member_optional_index : member "[" "?" expr "]"
optional              : "?" expr
member         : member_optional_dot | member_optional_index | member_dot |""",
    '\nlist_lit       : "[" [exprlist] "]"': """
list_lit       : "[" [elements] "]"
elements       : _element ("," _element)* ","?
_element       : expr | optional""",
    '\nmapinits       : expr ":" expr ("," expr ":" expr)*': """
mapinits       : _element ":" expr ("," _element ":" expr)* ","?""",
}
# The first engine reads 32 levels of nesting; each is some 50 calls of Python's here. celpy asks for 2500.
_RECURSION = 5000

_LOOPS = frozenset({"map", "filter", "all", "exists", "exists_one"})


@cache
def parser() -> Lark:
    """Return the parser of the amended grammar; its trees are for ``Taught``."""
    grammar = files(celpy).joinpath("cel.lark").read_text(encoding="utf-8")
    for original, amended in _AMENDMENTS.items():
        if grammar.count(original) != 1:
            raise RuntimeError(f"cel.lark: got another grammar than cel-python 0.5.0's, want {original.strip()!r} once")
        grammar = grammar.replace(original, amended)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION))
    return Lark(  # as celpy.celparser.CELParser makes its own
        grammar,
        parser="lalr",
        start="expr",
        g_regex_flags=re.MULTILINE,
        lexer_callbacks={
            "QUOTED": lambda token: token.update(value=token.strip("`")),
            # The last one: lark 1.3 compares the last name with the type of each token (BasicLexer._build_scanner).
            "IDENT": CELParser.ambiguous_literals,
        },
        propagate_positions=True,
        maybe_placeholders=False,
        priority="invert",
    )


class Taught(Evaluator):
    """celpy's evaluator, for the trees of ``parser``. An error is a value, as everywhere in celpy."""

    def sub_evaluator(self, ast: Tree[Token]) -> "Taught":
        """Evaluate what is inside a macro as what is outside."""
        return Taught(ast, activation=self.activation)

    def _visit_tree(self, tree: Tree[Any]) -> Any:
        """Keep no tree in an error: celpy spells it out to show the error, and knows of no rule but its own."""
        value = super()._visit_tree(tree)
        if isinstance(value, CELEvalError):
            value.tree = None
        return value

    def evaluated(self, tree: Tree[Any]) -> Any:
        """Return the value that stands in a tree, so that a method of celpy's does not evaluate it again."""
        return tree.children[0]

    def optional(self, tree: Tree[Any]) -> Any:
        """Evaluate ``?x`` in a list or a map: an optional, or an error."""
        value = self.visit(tree.children[0])
        return value if isinstance(value, Optional | CELEvalError) else _no_overload("?", value)

    def member_optional_dot(self, tree: Tree[Any]) -> Any:
        """Evaluate ``a.?b``."""
        return find(self.visit(tree.children[0]), celtypes.StringType(str(tree.children[1])))

    def member_optional_index(self, tree: Tree[Any]) -> Any:
        """Evaluate ``m[?k]``."""
        return find(*self.visit_children(tree))

    def member_dot(self, tree: Tree[Any]) -> Any:
        """Evaluate ``a.b``; what is selected of an optional is optional."""
        holder = self.visit(tree.children[0])
        if isinstance(holder, Optional):
            return find(holder, celtypes.StringType(str(tree.children[1])))
        return super().member_dot(_of_value(holder, tree))

    def elements(self, tree: Tree[Any]) -> Any:
        """Evaluate what stands in a list; an optional that is absent adds nothing."""
        made = celtypes.ListType()
        for child in tree.children:
            value = self.visit(child)
            if isinstance(value, CELEvalError):
                return value
            made.extend(value.values if child.data == "optional" else [value])
        return made

    def mapinits(self, tree: Tree[Any]) -> Any:
        """Evaluate what stands in a map; an entry whose optional is absent is left out."""
        made = celtypes.MapType()
        for child, expression in zip(tree.children[::2], tree.children[1::2], strict=True):
            is_optional = child.data == "optional"
            key, value = self.visit(child.children[0] if is_optional else child), self.visit(expression)
            failed = next((each for each in (key, value) if isinstance(each, CELEvalError)), None)
            if failed is not None:
                return failed
            if is_optional and not isinstance(value, Optional):
                return _no_overload("?", value)
            for each in value.values if is_optional else [value]:
                if key in made:
                    return CELEvalError(f"duplicate key {key!r}")
                made[key] = each
        return made

    def macro_has_eval(self, exprlist: Tree[Any]) -> Any:
        """Evaluate ``has(a.b)``: an error where ``a`` is one, which celpy's own takes for false.

        https://github.com/cloud-custodian/cel-python/issues/73
        """
        selected = exprlist.children[0]
        while selected.data != "member_dot":
            selected = selected.children[0]
        holder, key = self.visit(selected.children[0]), celtypes.StringType(str(selected.children[1]))
        if isinstance(holder, Optional):
            found = find(holder, key)
            return celtypes.BoolType(bool(found.values)) if isinstance(found, Optional) else found
        if isinstance(holder, celtypes.MapType):
            return celtypes.BoolType(key in holder)
        return holder if isinstance(holder, CELEvalError) else _no_overload("has", holder)

    def function_eval(self, name_token: Token, exprlist: Any = None) -> Any:
        """Call a function; celpy's own ``string(true)`` is 'True'."""
        if str(name_token) == "string" and exprlist and isinstance(exprlist[0], celtypes.BoolType):
            return celtypes.StringType(str(exprlist[0]).lower())
        return super().function_eval(name_token, exprlist)

    def member_dot_arg(self, tree: Tree[Any]) -> Any:
        """Evaluate ``a.f(...)``: the functions of optionals, or celpy's own."""
        operand, name, *arguments = tree.children
        if operand.data == "member" and [*operand.scan_values(lambda _: True)] == ["optional"]:
            given = self.visit(arguments[0]) if arguments else []
            return self.function_eval(Token("IDENT", f"optional.{name}"), given)
        holder = self.visit(operand)
        try:
            if isinstance(holder, Optional):
                return self._of_optional(holder, tree)
            if isinstance(holder, CELEvalError):
                return holder
            if name in _LOOPS:
                return self._loop(holder, tree)
            return super().member_dot_arg(_of_value(holder, tree))
        except CELEvalError as error:  # celpy raises those in a macro; outside of it they may be absorbed
            return error

    def _loop(self, holder: Any, tree: Tree[Any]) -> Any:
        """Evaluate a macro over a list or a map; celpy has those of one variable, and no ``map`` with a condition."""
        if not isinstance(holder, celtypes.ListType | celtypes.MapType):
            return _no_overload(str(tree.children[1]), holder)
        variable, *expressions = tree.children[2].children
        if len(expressions) == 1:
            return super().member_dot_arg(_of_value(holder, tree))
        if tree.children[1] != "map":
            return CELEvalError(f"undeclared reference to {str(tree.children[1])!r} of two variables")
        for name, expression in zip(("filter", "map"), expressions, strict=True):
            call = [Token("IDENT", name), Tree("exprlist", [variable, expression])]
            holder = super().member_dot_arg(Tree(tree.data, [Tree("evaluated", [holder]), *call], tree.meta))
        return holder

    def _of_optional(self, holder: Optional, tree: Tree[Any]) -> Any:
        _, name, *arguments = tree.children
        given = holder.values
        match str(name):
            case "hasValue":
                found: Any = celtypes.BoolType(bool(given))
            case "value":
                found = given[0] if given else CELEvalError("optional.none() dereference")
            case "or":
                found = holder if given else self._argument(arguments)
            case "orValue":
                found = given[0] if given else self._argument(arguments)
            case "optMap":
                found = Optional(tuple(map(self.build_macro_eval(tree), given)))
            case "optFlatMap":
                found = next(map(self.build_macro_eval(tree), given), ABSENT)
            case other:
                found = _no_overload(other, holder)
        return found

    def _argument(self, arguments: list[Tree[Any]]) -> Any:
        """Return the one argument, which is evaluated only where it is needed."""
        given = self.visit(arguments[0])
        return given if isinstance(given, CELEvalError) else given[0]


def _of_value(holder: Any, tree: Tree[Any]) -> Tree[Any]:
    return Tree(tree.data, [Tree("evaluated", [holder]), *tree.children[1:]], tree.meta)


def _no_overload(name: str, holder: Any) -> CELEvalError:
    return CELEvalError(f"no such overload: {name} of {type(holder).__name__}")
