"""The engine's calls of podberth's functions: bound to the current review, without the engine's leaks.

cel-expr-python 0.1.3 keeps a reference to the tuple of operands that it makes for a call, and one to the result
(cel_expr_python/py_cel_function.cc, Invoke): half a KiB a call, a GiB in a million reviews. Both are released here once
the evaluation is over. One kind of callable in the standard library is given the tuple itself, the errcheck of a
foreign function (https://docs.python.org/3/library/ctypes.html#ctypes._CFuncPtr.errcheck). So each of podberth's
functions is the errcheck of one that does nothing.
"""

import ctypes
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any, TypeAlias

from .libraries import LibraryError

if TYPE_CHECKING:
    from .functions import ReviewContext

Bind: TypeAlias = Callable[[Callable[..., Any], int], Any]
"""Makes the engine's callable from a function, which is given the review first, and its number of operands."""

# Names of the stable ABI; the first takes nothing and changes nothing.
_NOTHING = ("Py_IsInitialized", ctypes.pythonapi)
_give_back: Callable[[Any], None] = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_DecRef", ctypes.pythonapi))
# A variable's reference and that of the question itself.
_OURS = 2


def _whole(result: Any) -> Any:
    """Return a result that the engine accepts unchanged.

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
    """The slot in which functions find the current review, and leave an exception that is a bug.

    Separate from the Runner, because the engine holds the functions: Python cannot see a cycle through the engine, and
    every reload would leak a Runner.
    """

    __slots__ = ("_operands", "_results", "fault", "review")

    def __init__(self) -> None:
        """Start without a review."""
        self.review: ReviewContext | None = None
        self.fault: BaseException | None = None
        self._operands: list[tuple[Any, ...]] = []
        self._results: list[Any] = []

    def bind(self, call: Callable[..., Any], operands: int) -> Any:
        """Return a function of this many operands in the form that the engine calls.

        The engine turns an exception into an error value, and an error value may be absorbed (``false && error``).
        Exceptions of podberth's functions are bugs: they are kept, and become the error of the whole evaluation.
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
        """Release the engine's references to the calls of a finished evaluation."""
        kept = False
        while self._operands:
            given = self._operands.pop()
            if getrefcount(given) > _OURS:
                kept = True
                _give_back(given)
        while self._results:
            result = self._results.pop()
            # A result may have other holders, so its count alone proves nothing: one engine keeps both or neither.
            if kept:
                _give_back(result)
