"""Kubernetes' authorizer library (apiserver pkg/cel/library/authz.go): the rights of users.

Native policies have the variables ``authorizer`` and ``authorizer.requestResource``; GPUPolicies have neither. Each
value of the library is the JSON of a ``Question`` or an ``Answer``. The answers come from the review's ``Authorizer``.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from ...kube.object_names import is_label, is_subdomain
from .overload import (
    AUTHORIZER,
    DECISION,
    GROUP_CHECK,
    PATH_CHECK,
    RESOURCE_CHECK,
    LibraryError,
    Overload,
    overload,
)

if TYPE_CHECKING:
    from ..functions import ReviewContext

UNJUDGED: Final = "authorizer is not judged: "
"""The beginning of an error that says that podberth does not know the API server's answer."""
_NO_AUTHORIZER: Final = "no such attribute(s): authorizer"


class UnknownAnswerError(LibraryError):
    """podberth does not know whether the user has a right, because no roles or bindings were given, or not all."""

    def __init__(self, why: str) -> None:
        """Create the error with the message ``why``, after a prefix by which podberth recognises the error later."""
        super().__init__(f"{UNJUDGED}{why}")


@dataclass(frozen=True, slots=True)
class User:
    """The user whose rights a question is about."""

    name: str
    groups: tuple[str, ...] = ()


NOBODY: Final = User("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to the authorizer: whether a user may access a resource, or the path ``path`` if it is not empty."""

    user: User = NOBODY
    """``NOBODY``: the expression has no authorizer."""
    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def text(self) -> str:
        """The question as JSON, the value that represents the question while an expression is evaluated."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of an authorizer: whether the access is allowed, and why. RBAC never answers with an error."""

    allowed: bool
    reason: str = ""


class Authorizer(Protocol):
    """The rights of all users."""

    def answer(self, question: Question) -> Answer:
        """Return the answer to a question.

        Raises:
            UnknownAnswerError: the rights of the user are not known.
        """


def _question(text: str) -> Question:
    found = json.loads(text)
    user = found.pop("user")
    asked = Question(user=User(user["name"], tuple(user["groups"])), **found)
    if asked.user == NOBODY:
        raise LibraryError(_NO_AUTHORIZER)
    return asked


def _with(field: str) -> Callable[[str, str], str]:
    """Return a function of (a question as JSON, a value); it returns the question with the value in ``field``."""
    changed: Callable[..., Question] = replace
    return lambda question, value: changed(_question(question), **{field: value}).text


def _not_blank(field: str) -> Callable[[str, str], str]:
    set_field = _with(field)

    def answer(question: str, value: str) -> str:
        if not value.strip():
            raise LibraryError(f"{field} must not be empty")
        return set_field(question, value)

    return answer


def _service_account(question: str, namespace: str, name: str) -> str:
    asked = _question(question)
    if not is_subdomain(name):
        raise LibraryError("Invalid service account name")
    if not is_label(namespace):
        raise LibraryError("Invalid service account namespace")
    # Without system:authenticated, which authentication adds (ServiceAccountInfo.UserInfo, apiserver
    # pkg/authentication/serviceaccount/util.go)
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return replace(asked, user=User(f"system:serviceaccount:{namespace}:{name}", groups)).text


def _unread(question: str, _: str) -> str:
    """Return the question unchanged, because RBAC ignores field and label selectors."""
    return _question(question).text


def _check(review: "ReviewContext", question: str, verb: str) -> str:
    asked = replace(_question(question), verb=verb)
    if review.authorizer is None:
        raise UnknownAnswerError(
            "it needs the cluster's roles and bindings; give --authorizer FILE, or in a suite these among its objects"
        )
    return json.dumps(asdict(review.authorizer.answer(asked)))


def _answered(field: str) -> Callable[[str], Any]:
    return lambda answer: json.loads(answer)[field]


_A, _P, _G, _R, _D = AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION
OVERLOADS: tuple[Overload, ...] = (
    overload("authorizer_path", f".path({_A}, string): {_P}", _not_blank("path")),
    overload("authorizer_group", f".group({_A}, string): {_G}", _with("group")),
    overload("authorizer_serviceaccount", f".serviceAccount({_A}, string, string): {_A}", _service_account),
    overload("groupcheck_resource", f".resource({_G}, string): {_R}", _not_blank("resource")),
    overload("resourcecheck_subresource", f".subresource({_R}, string): {_R}", _with("subresource")),
    overload("resourcecheck_namespace", f".namespace({_R}, string): {_R}", _with("namespace")),
    overload("resourcecheck_name", f".name({_R}, string): {_R}", _with("name")),
    overload("authorizer_fieldselector", f".fieldSelector({_R}, string): {_R}", _unread),
    overload("authorizer_labelselector", f".labelSelector({_R}, string): {_R}", _unread),
    replace(overload("pathcheck_check", f".check({_P}, string): {_D}", _check), asks=True),
    replace(overload("resourcecheck_check", f".check({_R}, string): {_D}", _check), asks=True),
    overload("decision_errored", f".errored({_D}): bool", lambda _: False),
    overload("decision_error", f".error({_D}): string", lambda _: ""),
    overload("decision_allowed", f".allowed({_D}): bool", _answered("allowed")),
    overload("decision_reason", f".reason({_D}): string", _answered("reason")),
)
