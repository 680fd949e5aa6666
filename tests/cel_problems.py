"""The problems that the compilation of an expression reports."""

import pytest

from podberth.cel.engine import CelType, CompileError, Environment, Expression, Want


def problems(environment: Environment, source: str, want: Want = Want.ANY) -> list[str]:
    nodes = environment.compile("topology.nodes(gpu)", want=Want.ANY)
    variables: dict[str, CelType | Expression] = {"nodes": nodes, "level": CelType("string")}
    with pytest.raises(CompileError) as caught:
        environment.compile(source, want=want, variables=variables)
    return [f"{each.line}:{each.column}: {each.message}" for each in caught.value.problems]
