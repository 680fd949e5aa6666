"""The engine's calls of our functions: bound to the review at hand, and relieved of what the engine never gives back.

cel-expr-python 0.1.3 keeps a reference to the tuple of operands that it makes for a call, and one to the result
(cel_expr_python/py_cel_function.cc, Invoke): half a KiB a call, a GiB in a million reviews. Both are given back here
once the evaluation is over. One kind of callable in the standard library is handed the tuple itself, the errcheck of a
foreign function (https://docs.python.org/3/library/ctypes.html#ctypes._CFuncPtr.errcheck). So each of our functions is
the errcheck of one that does nothing.
"""

import ctypes
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any, TypeAlias

from .libraries import LibraryError

if TYPE_CHECKING:
    from .functions import ReviewContext

Bind: TypeAlias = Callable[[Callable[..., Any], int], Any]
"""Makes what the engine calls of a function of ours, which is handed the review first, and how many operands it has."""

# Names of the stable ABI; the first takes nothing and changes nothing.
_NOTHING = ("Py_IsInitialized", ctypes.pythonapi)
_give_back: Callable[[Any], None] = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_DecRef", ctypes.pythonapi))
# A variable's and that of the question itself.
_OURS = 2


def _whole(result: Any) -> Any:
    """Return a result that the engine takes as it is.

    Raises:
        LibraryError: it does not.
    """
    if _has_nul(result):
        raise LibraryError("got a text with the character NUL in it, want one without")
    return result


def _has_nul(result: Any) -> bool:
    """Return whether a result has a text that the engine would truncate: its Python interface takes texts as C does."""
    if isinstance(result, str):
        return "\0" in result
    if isinstance(result, dict):
        return any(map(_has_nul, result)) or any(map(_has_nul, result.values()))
    return isinstance(result, list) and any(map(_has_nul, result))


class Calls:
    """Where the functions find the review under evaluation, and leave an exception that is a bug.

    Apart from the Runner, because the engine holds the functions: a cycle through it is one that Python cannot see, and
    every reload would leave a Runner behind.
    """

    __slots__ = ("_operands", "_results", "fault", "review")

    def __init__(self) -> None:
        """Know no review yet."""
        self.review: ReviewContext | None = None
        self.fault: BaseException | None = None
        self._operands: list[tuple[Any, ...]] = []
        self._results: list[Any] = []

    def bind(self, call: Callable[..., Any], operands: int) -> Any:
        """Return a function of so many operands as the engine calls it.

        The engine makes an error value of an exception, and an error value may be absorbed (``false && error``). Ours
        are bugs: they are kept, and are the whole evaluation's error when it is over.
        """

        def answer(_: int, __: Any, given: tuple[Any, ...]) -> Any:
            self._operands.append(given)
            try:
                result = _whole(call(self.review, *given))
            except LibraryError:  # the expression's own error
                raise
            except BaseException as fault:
                self.fault = fault
                raise
            self._results.append(result)
            return result

        function: Any = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.py_object] * operands)(_NOTHING)
        function.errcheck = answer
        return function

    def settle(self) -> None:
        """Give back what the engine has kept of the calls of one evaluation, which is over."""
        kept = False
        while self._operands:
            given = self._operands.pop()
            if getrefcount(given) > _OURS:
                kept = True
                _give_back(given)
        while self._results:
            result = self._results.pop()
            # A result may have other holders, so it does not tell by itself: one engine keeps both or neither.
            if kept:
                _give_back(result)
