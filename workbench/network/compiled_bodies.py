"""Bodies of If, Loop and Scan, which are networks of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.graph.graph import Graph
from workbench.graph.group import Group
from workbench.graph.model import Program
from workbench.graph.tasks import body_graphs
from workbench.runtime.buffers import Array
from workbench.runtime.execution.executable import Executable
from workbench.target import Target


def with_compiled_bodies(
    graph: Graph, groups: Sequence[Group], target: Target, compiled: Callable[[Graph], Executable]
) -> tuple[list[Group], list[Executable]]:
    """The groups, where nodes have their bodies compiled; and these."""
    found, executables = list[Group](), list[Executable]()
    for group in groups:
        attrs: dict[str, Any] = dict(group.nodes[0].attrs)
        for name, body in body_graphs(graph, group, target).items():
            executables.append(compiled(body))
            attrs[name] = replace(_program(attrs[name]), compiled=_run(executables[-1]))
            group = replace(group, nodes=(replace(group.nodes[0], attrs=attrs),))
        found.append(group)
    return found, executables


def _program(body: Any) -> Program:
    assert isinstance(body, Program)
    return body


def _run(executable: Executable) -> Callable[[Mapping[str, Array]], Mapping[str, Array]]:
    specs = executable.inputs
    return lambda values: executable.run({s.name: _as_given(values[s.name], s.shape) for s in specs})


def _as_given(x: Any, shape: tuple[int, ...]) -> Array:
    """A value of a body; a single number, such as a condition, may come with another rank."""
    value = np.asarray(x)
    return value.reshape(shape) if value.size == 1 == math.prod(shape) else value
