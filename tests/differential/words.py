"""CEL expressions of random shape: over objects of several kinds, the request, the namespace, params and variables.

They are well typed for the most part. Many fail on some of the objects, and a few do not compile.
"""

from collections.abc import Callable, Sequence  # noqa: TC003 - annotations are evaluated
from random import Random
from typing import Final

_PATHS: Final = (
    "object.spec.replicas",
    "object.spec.template.spec.containers",
    "object.spec.containers",
    "object.metadata.labels",
    "object.metadata.annotations",
    "object.spec",
    "object.data",
    "object.spec.template",
    "object.spec.nodeSelector",
)
_FIELDS: Final = (
    "object.metadata.name",
    "object.metadata.namespace",
    "object.kind",
    "object.apiVersion",
    "object.metadata.labels.team",
    "object.metadata.labels['team']",
    "object.spec.schedulerName",
    "object.spec.template.spec.restartPolicy",
    "object.spec.restartPolicy",
    "object.spec.containers[0].image",
    "object.spec.template.spec.containers[0].image",
    "object.spec.containers[1].name",
    "object.spec.strategy.type",
    "object.data.key",
    "request.name",
    "request.namespace",
    "request.operation",
    "request.kind.kind",
    "request.resource.resource",
    "request.resource.group",
    "request.requestKind.version",
    "request.userInfo.username",
    "namespaceObject.metadata.name",
    "namespaceObject.metadata.labels.team",
    "namespaceObject.metadata.labels['env']",
    "namespaceObject.status.phase",
    "object.metadata.?labels[?'team'].orValue('none')",
    "object.?spec.?priorityClassName.orValue('')",
    "oldObject.?metadata.?name.orValue('new')",
    "string(object.spec.replicas)",
    "object.metadata.generateName",
    "object.spec.template.metadata.labels.app",
)
_PARAM_FIELDS: Final = (
    "params.data.text",
    "params.metadata.name",
    "params.?data[?'missing'].orValue('absent')",
    "params.data['missing']",
    "params.kind",
)
_NUMBERS: Final = (
    "object.spec.replicas",
    "size(object.spec.containers)",
    "object.spec.template.spec.containers.size()",
    "size(object.metadata.labels)",
    "object.spec.parallelism",
    "object.spec.backoffLimit",
    "object.spec.terminationGracePeriodSeconds",
    "object.spec.template.spec.terminationGracePeriodSeconds",
    "object.spec.revisionHistoryLimit",
    "size(object.metadata.name)",
)
_PARAM_NUMBERS: Final = ("int(params.data.number)", "int(params.data.text)", "size(params.data)")
_LITERALS: Final = ("'a'", "'team-a'", "'web'", "'nginx:1'", "'Deployment'", "'default'", "''", "'x'", "'prod'")
_PATTERNS: Final = ("'^[a-z]+'", "'a'", "'.*:latest$'", "'^web-[0-9]+$'")
_BROKEN: Final = (
    "object.spec.replicas >",
    "unknown == 1",
    "1 + 'a' == 2",
    "object.metadata.name",
    "request.uid == 'a'",
    "variables.nothing == 1",
    "'a'.matches(1)",
    "size(1) == 1",
    "'a' && true",
    "request.nmae == 'x'",
    "namespaceObject.kind == 'Namespace'",
)
_CONTAINERS: Final = ("object.spec.containers", "object.spec.template.spec.containers")


class Words:
    """Expressions by type; ``variables`` are the variables declared so far, as (name, type)."""

    def __init__(self, random: Random, *, params: bool) -> None:
        """Draw from ``random``; with ``params`` the expressions may use params."""
        self._random = random
        self._params = params
        self.variables: list[tuple[str, str]] = []
        self.with_variables = False
        """Whether expressions may use the variables: those of matchConditions may not."""

    def condition(self, depth: int = 2) -> str:
        """Return an expression of type bool."""
        random = self._random
        if depth and random.random() < 0.35:
            return self._joined(depth - 1)
        made: Sequence[Callable[[], str]] = (
            lambda: f"{self.text()} {random.choice(('==', '!='))} {random.choice(_LITERALS)}",
            lambda: f"{self.number()} {random.choice(('<', '<=', '>', '>=', '==', '!='))} {random.randint(0, 5)}",
            lambda: f"{self.text()}.startsWith({random.choice(_LITERALS)})",
            lambda: f"{self.text()}.contains({random.choice(_LITERALS)})",
            lambda: f"{self.text()}.matches({random.choice(_PATTERNS)})",
            lambda: f"{self.text()} in [{', '.join(random.sample(_LITERALS, 3))}]",
            lambda: f"has({random.choice(_FIELDS[4:5] + _PATHS)})",
            lambda: f"has({random.choice(('oldObject.spec', 'object.metadata.labels.team', 'request.name'))})",
            lambda: f"{random.choice(_LITERALS)} in {random.choice(_PATHS)}",
            self._of_containers,
            lambda: f"object.metadata.labels.{random.choice(('all', 'exists'))}(k, k != {random.choice(_LITERALS)})",
            lambda: f"object.metadata.?labels[?{random.choice(_LITERALS)}].hasValue()",
            lambda: f"{random.choice(('oldObject', 'object', 'object.spec', 'namespaceObject'))} == null",
            lambda: random.choice(("true", "false")),
            lambda: f"type({random.choice(_PATHS)}) == {random.choice(('int', 'list', 'map', 'string'))}",
            lambda: self._variable("bool") or "true",
            lambda: f"{self.number()} / {random.randint(0, 1)} == {random.randint(0, 3)}",
            lambda: f"isQuantity({self.text()})",
            lambda: (
                f"{self.text()}.{random.choice(('lowerAscii', 'trim', 'upperAscii'))}() == {random.choice(_LITERALS)}"
            ),
            lambda: f"{self.text()}.split('-').size() {random.choice(('==', '>'))} {random.randint(1, 3)}",
            lambda: f"{self.text()}.find('[a-z]+') == {random.choice(_LITERALS)}",
            lambda: f"sets.contains([{', '.join(random.sample(_LITERALS, 3))}], [{self.text()}])",
            lambda: f"quantity('1').isLessThan(quantity({self.text()}))",
            lambda: f"{self.number()} % 2 == {random.randint(0, 1)}",
            lambda: f"{self.number()} in [1, 2, 3]",
            lambda: f"format.dns1123Label().validate({self.text()}).hasValue()",
            lambda: f"{random.choice(_CONTAINERS)}.map(c, c.name).{random.choice(('isSorted()', 'size() > 1'))}",
            lambda: f"{random.choice(_CONTAINERS)}.filter(c, has(c.env)).size() == {random.randint(0, 1)}",
            lambda: f"object.?spec.?replicas.orValue({random.randint(0, 3)}) > {random.randint(0, 3)}",
            lambda: f"object.?spec.optMap(s, has(s.template)).orValue({random.choice(('true', 'false'))})",
            lambda: f"object.metadata.?annotations.hasValue() || {self.text()} == {random.choice(_LITERALS)}",
            lambda: f"object.metadata.labels == {{'team': {random.choice(_LITERALS)}}}",
            lambda: f"{self.number()} > 1.5 || {self.number()} == 2.0",
            lambda: f"object.spec.{random.choice(('strategy', 'selector', 'securityContext', 'tolerations'))} == {{}}",
            lambda: f"isIP({self.text()}) || isSemver({self.text()}) || isURL({self.text()})",
            lambda: f"string({self.number()}) == {random.choice(_LITERALS)} || dyn({self.number()}) == {self.text()}",
            lambda: f"[{self.text()}, {self.text()}].join('-').size() > {random.randint(3, 20)}",
            lambda: f"object.metadata.labels.all(k, v, v.startsWith({random.choice(_LITERALS)}))",
        )
        return random.choice(made)()

    def _joined(self, depth: int) -> str:
        random = self._random
        one, other = self.condition(depth), self.condition(depth)
        return random.choice(
            (
                f"({one}) && ({other})",
                f"({one}) || ({other})",
                f"!({one})",
                f"({one}) ? ({other}) : {random.choice(('true', 'false'))}",
            )
        )

    def _of_containers(self) -> str:
        random = self._random
        inner = random.choice(
            (
                "c.image.startsWith('nginx')",
                "has(c.resources.limits)",
                "c.name == 'main'",
                "c.resources.limits['cpu'] == '1'",
                "quantity(c.resources.limits.memory).isLessThan(quantity('1Gi'))",
                "c.imagePullPolicy == 'Always'",
                "!has(c.securityContext) || !c.securityContext.privileged",
                "has(c.env) && c.env.exists(e, e.name == 'A')",
            )
        )
        return f"{random.choice(_CONTAINERS)}.{random.choice(('all', 'exists', 'exists_one'))}(c, {inner})"

    def text(self) -> str:
        """Return an expression that is a string, or dyn."""
        found = self._variable("text") if self._random.random() < 0.3 else ""
        if found:
            return found
        pool = _FIELDS + _PARAM_FIELDS if self._params else _FIELDS
        return self._random.choice(pool)

    def message(self) -> str:
        """Return a messageExpression: of type string, perhaps blank, long, of several lines, or failing."""
        random = self._random
        return random.choice(
            (
                f"'got ' + string({self.text()})",
                f"'name %s'.format([{self.text()}])",
                "' spaced '",
                "'   '",
                "'two\\nlines'",
                "'ends\\n'",
                "lists.range(300).map(i, 'twenty characters...').join('')",
                f"string({self.number()}) + ' of them'",
                "'plain'",
            )
        )

    def annotation(self) -> str:
        """Return a valueExpression of an audit annotation."""
        return self._random.choice((f"string({self.text()})", "'value'", "''", f"'n' + string({self.number()})"))

    def number(self) -> str:
        """Return an expression that is an int, or dyn."""
        found = self._variable("number") if self._random.random() < 0.3 else ""
        if found:
            return found
        return self._random.choice(_NUMBERS + _PARAM_NUMBERS if self._params else _NUMBERS)

    def broken(self) -> str:
        """Return an expression that does not compile, or is no bool."""
        return self._random.choice(_BROKEN)

    def _variable(self, kind: str) -> str:
        names = [name for name, each in self.variables if each == kind] if self.with_variables else []
        return f"variables.{self._random.choice(names)}" if names else ""
