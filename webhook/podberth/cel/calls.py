"""Makes podberth's functions callable for the CEL engine, and frees the references that the engine leaks.

cel-expr-python 0.1.3 leaks, for each call, one reference to the tuple of operands and one to the result
(cel_expr_python/py_cel_function.cc, Invoke): half a KiB for each call, a GiB in a million reviews. This module releases
both references once the evaluation is over. In the standard library, only one callable gets the tuple of operands
itself: the errcheck of a foreign function (https://docs.python.org/3/library/ctypes.html#ctypes._CFuncPtr.errcheck). So
each of podberth's functions is the errcheck of a foreign function that does nothing.
"""

import ctypes
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any, TypeAlias

from .libraries import LibraryError

if TYPE_CHECKING:
    from .functions import ReviewContext

Bind: TypeAlias = Callable[[Callable[..., Any], int], Any]
"""A function that returns a callable for the CEL engine, given a Python function and the number of the function's CEL
operands.
"""

# Names of the stable ABI; the first takes nothing and changes nothing.
_NOTHING = ("Py_IsInitialized", ctypes.pythonapi)
_give_back: Callable[[Any], None] = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_DecRef", ctypes.pythonapi))


def _own_references() -> int:
    """Return the value of ``sys.getrefcount`` for an object that only a local variable refers to.

    The value is 2 up to Python 3.13, because the argument of the call to getrefcount counts. Python 3.14 borrows the
    argument (https://docs.python.org/3/whatsnew/3.14.html, "borrowing references"), so the value is 1.
    """
    given = (object(),)
    return getrefcount(given)


_OURS = _own_references()


def _has_nul(result: Any) -> bool:
    """Return whether a result contains a text with a NUL character; the CEL engine would cut the text off there."""
    if isinstance(result, str):
        return "\0" in result
    if isinstance(result, dict):
        return any(map(_has_nul, result)) or any(map(_has_nul, result.values()))
    return isinstance(result, list) and any(map(_has_nul, result))


class Calls:
    """Holds the review for which podberth's functions are called, and the exception of a function that failed.

    The engine refers to the functions, and the functions refer to this object. So this object must not refer to the
    engine: Python cannot collect a reference cycle through the engine.
    """

    __slots__ = ("_operands", "_results", "fault", "review")

    def __init__(self) -> None:
        """Create the object without a current review."""
        self.review: ReviewContext | None = None
        self.fault: BaseException | None = None
        self._operands: list[tuple[Any, ...]] = []
        self._results: list[Any] = []

    def bind(self, call: Callable[..., Any], operands: int) -> Any:
        """Return a callable for the CEL engine that calls ``call`` with the current review and ``operands`` CEL values.

        The engine turns an exception into an error value, and an error value may be absorbed (``false && error``). An
        exception of one of podberth's functions is a bug, so the exception is kept and becomes the error of the whole
        evaluation.
        """

        def answer(_: int, __: Any, given: tuple[Any, ...]) -> Any:
            self._operands.append(given)
            try:
                result = call(self.review, *given)
            except LibraryError:  # the expression's own error
                raise
            except BaseException as fault:
                self.fault = fault
                raise
            if _has_nul(result):
                raise LibraryError("got a text with the character NUL in it, want one without")
            self._results.append(result)
            return result

        function: Any = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.py_object] * operands)(_NOTHING)
        function.errcheck = answer
        return function

    def settle(self) -> None:
        """Free the references that the CEL engine leaked in the calls of an evaluation that has ended."""
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
