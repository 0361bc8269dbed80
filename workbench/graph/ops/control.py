"""Control flow: If, Loop and Scan, whose bodies are programs: compiled ones, or run node by node by the reference.

What a body reads from outside are the last inputs of its node. The attribute ``captures`` has the names that the body
knows them by: a pass may have renamed the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.errors import ModelError
from workbench.graph.graph import Array, Graph, Node, TensorType
from workbench.graph.model import Program
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.reference import interpret

#: Nodes that a Scan is written as at most. Chosen, not measured: kernels of equal nodes are compiled once.
_UNROLLED = 1024


def _named(body: Program, values: Sequence[str]) -> dict[str, str]:
    return {v.name: x for v, x in zip(body.inputs, values, strict=True)}


class Control(OpDef):
    """Base: operators that have bodies."""

    multi = True

    def body(self, c: Call, name: str) -> Program:
        """Attribute that is a body."""
        found = c.node.attrs.get(name)
        if not isinstance(found, Program):
            raise c.error("invalid_graph", f"has no body {name!r}")
        return found

    def own(self, c: Call) -> int:
        """Number of inputs that the file lists."""
        return len(c.node.inputs) - len(self.captures(c))

    def captures(self, c: Call) -> tuple[str, ...]:
        """Names by which the bodies know the inputs that follow the node's own."""
        found = c.node.attrs.get("captures", ())
        return tuple(map(str, found)) if isinstance(found, tuple) else ()

    def run(self, c: Call, body: Program, args: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
        """Outputs of a body for values of its inputs."""
        if len(given) != len(body.inputs):
            raise c.error("invalid_graph", f"gives {len(given)} values to a body with {len(body.inputs)} inputs")
        outside = dict(zip(self.captures(c), args[self.own(c) :], strict=True))
        values = {**outside, **{v.name: x for v, x in zip(body.inputs, given, strict=True)}}
        found = body.compiled(values) if body.compiled else None
        if found is None:
            found = interpret(body.nodes, {**body.constants, **values}, body.outputs)
        return tuple(found[o] for o in body.outputs)

    def given(self, c: Call) -> dict[str, tuple[TensorType, ...]]:
        """Types of what each body gets at every turn, by attribute; of those bodies whose types are known."""
        return {}

    def body_graphs(self, c: Call) -> dict[str, Graph]:
        """Typed graphs of the bodies, by attribute; without those of a branch that does not fit."""
        found = dict[str, Graph]()
        for name, types in self.given(c).items():
            try:
                found[name] = self.body_graph(c, self.body(c, name), types)
            except ModelError:
                continue
        return found

    def body_types(self, c: Call, body: Program, given: Sequence[TensorType]) -> tuple[TensorType, ...]:
        """Types of a body's outputs."""
        graph = self.body_graph(c, body, given)
        return tuple(graph.types[o] for o in body.outputs)

    def body_graph(self, c: Call, body: Program, given: Sequence[TensorType]) -> Graph:
        """Typed graph of a body."""
        own, names = self.own(c), self.captures(c)
        outside = {n: t for n, t in zip(names, c.types[own:], strict=True) if t is not None}
        known = {n: v for n, v in zip(names, c.values[own:], strict=True) if v is not None}
        return body.typed({**outside, **{v.name: t for v, t in zip(body.inputs, given, strict=True)}}, known)


@operator("If", "opaque")
class If(Control):
    """One of two bodies, by a condition."""

    def given(self, c: Call) -> dict[str, tuple[TensorType, ...]]:
        return {"then_branch": (), "else_branch": ()}

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        cond = c.scalar(0)
        names = ("then_branch", "else_branch") if cond is None else ("then_branch" if cond else "else_branch",)
        try:
            found = {self.body_types(c, self.body(c, name), ()) for name in names}
        except ModelError:
            if len(names) == 1:
                raise
            found = set()  # a branch that would not be taken need not fit
        if len(found) != 1:
            raise c.error("dynamic_shape", "gives results whose types depend on a condition that is computed")
        return found.pop()

    def reference(self, c: Call, *args: Any) -> tuple[Array, ...]:
        chosen = "then_branch" if bool(np.asarray(args[0]).reshape(-1)[0]) else "else_branch"
        return self.run(c, self.body(c, chosen), args, ())


@operator("Loop", "opaque")
class Loop(Control):
    """A body repeated while a condition holds, at most a number of times; per-iteration results are stacked."""

    def given(self, c: Call) -> dict[str, tuple[TensorType, ...]]:
        states = [c.type(i) for i in range(2, self.own(c))]
        return {"body": (TensorType((), "int64"), TensorType((), "bool"), *states)}

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        """Types of states that no turn changes, where there is nothing else."""
        try:
            given = self.given(c)["body"]
            found = self.body_types(c, self.body(c, "body"), given)
        except ModelError:  # a sequence, or what only its values tell
            given, found = (), ()
        if not found or found[1:] != given[2:]:
            raise c.error("dynamic_shape", "repeats its body as often as its values say")
        return found[1:]

    def reference(self, c: Call, *args: Any) -> tuple[Any, ...]:
        body, own = self.body(c, "body"), self.own(c)
        limit = None if args[0] is None else int(np.asarray(args[0]).reshape(-1)[0])
        go = args[1] is None or bool(np.asarray(args[1]).reshape(-1)[0])
        state = list(args[2:own])
        stacked: list[list[Any]] = [[] for _ in body.outputs[1 + len(state) :]]
        count = 0
        while go and (limit is None or count < limit):
            more, *rest = self.run(c, body, args, [np.array(count, np.int64), np.array(True), *state])
            go = bool(np.asarray(more).reshape(-1)[0])
            for kept, value in zip(stacked, rest[len(state) :], strict=True):
                kept.append(value)
            state = rest[: len(state)]
            count += 1
        if not count and stacked:
            raise c.error("dynamic_shape", "ends before its first iteration, so that results to stack have no shape")
        return (*state, *(np.stack(s) for s in stacked))


@operator("Scan", "opaque")
class Scan(Control):
    """A body over the slices of its inputs, with a state; results are stacked."""

    def _parts(self, c: Call) -> tuple[int, int]:
        scanned = c.get_int("num_scan_inputs", 1)
        return self.own(c) - scanned, scanned

    def accepts(self, node: Node) -> bool:
        return node.version >= 9  # before, everything had a batch dimension

    def given(self, c: Call) -> dict[str, tuple[TensorType, ...]]:
        states, _ = self._parts(c)
        given = [c.type(i) for i in range(states)]
        for t, axis in self._scanned(c):
            given.append(TensorType((*t.shape[:axis], *t.shape[axis + 1 :]), t.dtype))
        return {"body": tuple(given)}

    def _scanned(self, c: Call) -> list[tuple[TensorType, int]]:
        """Inputs that are cut into slices, and the axes."""
        states, scanned = self._parts(c)
        axes = c.get_ints("scan_input_axes") or (0,) * scanned
        found = [c.type(states + k) for k in range(scanned)]
        return [(t, c.axis(a, t.rank)) for t, a in zip(found, axes, strict=False)]

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        states, _ = self._parts(c)
        length = next((t.shape[axis] for t, axis in reversed(self._scanned(c))), 0)
        found = self.body_types(c, self.body(c, "body"), self.given(c)["body"])
        outs = c.get_ints("scan_output_axes") or (0,) * (len(found) - states)
        stacked = []
        for t, a in zip(found[states:], outs, strict=True):
            axis = c.axis(a, t.rank + 1)
            stacked.append(TensorType((*t.shape[:axis], length, *t.shape[axis:]), t.dtype))
        return (*found[:states], *stacked)

    def decompose(self, c: Call, steps: Steps) -> bool:
        """The body once for each slice, where that gives a few hundred nodes."""
        (states, scanned), body = self._parts(c), self.body(c, "body")
        nested = any(isinstance(v, Program) for n in body.nodes for v in n.attrs.values())
        numbers = c.get_ints("scan_input_axes") or (0,) * scanned
        axes = [c.axis(a, c.type(states + k).rank) for k, a in enumerate(numbers)]
        length = c.shape(states)[axes[0]] if scanned else 0
        if nested or not 0 < length * len(body.nodes) <= _UNROLLED:
            return False
        back = c.get_ints("scan_input_directions") or (0,) * scanned
        names = dict(zip(self.captures(c), c.node.inputs[self.own(c) :], strict=True))
        names |= {n: steps.constant(f"{n}.of_body", a) for n, a in body.constants.items()}
        given, state, rows = c.node.inputs[states : states + scanned], list(c.node.inputs[:states]), list[list[str]]()
        for k in range(length):
            places = [np.array(length - 1 - k if b else k, np.int64) for b in back]
            slices = [
                steps.add("Gather", (x, steps.constant("number", n)), "slice", {"axis": a})
                for x, n, a in zip(given, places, axes, strict=True)
            ]
            found = self._written(body, {**names, **_named(body, [*state, *slices])}, steps)
            state = found[:states]
            rows.append(found[states:])
        self._stacked(c, steps, state, rows)
        return True

    def _written(self, body: Program, names: dict[str, str], steps: Steps) -> list[str]:
        """Write the nodes of a body for the names that its tensors have; returns those of its results."""
        for n in body.nodes:
            outputs = tuple(steps.editor.fresh(f"{steps.base}.{o}") if o else "" for o in n.outputs)
            names |= {o: new for o, new in zip(n.outputs, outputs, strict=True) if o}
            inputs = tuple(names[i] if i else "" for i in n.inputs)
            steps.nodes.append(
                replace(n, name=steps.editor.fresh(f"{steps.base}.{n.name}"), inputs=inputs, outputs=outputs)
            )
        return [names[o] for o in body.outputs]

    def _stacked(self, c: Call, steps: Steps, state: list[str], rows: list[list[str]]) -> None:
        """The last state, and the results of all slices side by side."""
        states = len(state)
        for x, out in zip(state, c.node.outputs[:states], strict=True):
            if out:
                steps.add("Identity", (x,), "state")
                steps.finish(out)
        count = len(c.node.outputs) - states
        axes, turn = (c.get_ints(f"scan_output_{n}") or (0,) * count for n in ("axes", "directions"))
        for j, out in enumerate(c.node.outputs[states:]):
            if out:
                whole = steps.graph.types[out].shape
                axis = c.axis(axes[j], len(whole))
                one = (*whole[:axis], 1, *whole[axis + 1 :])
                parts = [steps.reshape(row[j], one) for row in (rows[::-1] if turn[j] else rows)]
                steps.add("Concat", tuple(parts), "stacked", {"axis": axis})
                steps.finish(out)

    def reference(self, c: Call, *args: Any) -> tuple[Any, ...]:
        states, scanned = self._parts(c)
        body, state = self.body(c, "body"), list(args[:states])
        axes = c.get_ints("scan_input_axes") or (0,) * scanned
        back = c.get_ints("scan_input_directions") or (0,) * scanned
        inputs = [np.moveaxis(np.asarray(args[states + k]), axes[k], 0) for k in range(scanned)]
        inputs = [x[::-1] if b else x for x, b in zip(inputs, back, strict=True)]
        rows = []
        for k in range(len(inputs[0])):
            found = self.run(c, body, args, [*state, *(x[k] for x in inputs)])
            state = list(found[:states])
            rows.append(found[states:])
        columns = list(zip(*rows, strict=True))
        outs = c.get_ints("scan_output_axes") or (0,) * len(columns)
        turn = c.get_ints("scan_output_directions") or (0,) * len(columns)
        stacked = [np.stack(col[::-1] if t else col, axis=a) for col, a, t in zip(columns, outs, turn, strict=True)]
        return (*state, *stacked)
