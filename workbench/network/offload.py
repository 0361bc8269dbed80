"""`offload`: products of a quantised network on an accelerator, the rest on this processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench import markup as m
from workbench.arguments import is_a
from workbench.codegen.backend import backend_for
from workbench.codegen.vta.nests import program_of
from workbench.codegen.vta.simulator import Run, simulate
from workbench.errors import BuildError, ModelError, TargetError
from workbench.graph import Graph
from workbench.graph.as_loaded import require_as_loaded
from workbench.graph.graph import Array, Node
from workbench.graph.group import Group
from workbench.graph.offloading import Offloading, offloading
from workbench.graph.ops.extern import Implementation, extern_node
from workbench.graph.tasks import groups_alone
from workbench.log import Database
from workbench.log.replay import schedule_of
from workbench.network.compile import compile, database_of
from workbench.runtime.execution.executable import Executable
from workbench.runtime.kernel import Kernel, logical_shape
from workbench.runtime.networks.execution_plan import main_node
from workbench.schedule import Schedule
from workbench.space.default_schedule import default_schedule
from workbench.target import Target

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A node that the accelerator computes.

    Attributes
    ----------
    name, description : str
    schedule : Schedule
    tuned : bool
        Whether the schedule comes from the log.
    run : workbench.codegen.vta.simulator.Run
        Its cycles, which are the same for all data.
    """

    name: str
    description: str
    schedule: Schedule
    tuned: bool
    run: Run


@dataclass(frozen=True, slots=True, eq=False)
class Offloaded:
    """A network whose products an accelerator computes.

    Attributes
    ----------
    graph : Graph
        A node "Extern" stands for each of them.
    executable : Executable
        The same, compiled for this processor.
    target : Target
        The accelerator.
    layers : tuple of Layer
        What it computes, in order.
    refused : dict of str to str
        Name of a product that it does not compute -> why.
    """

    graph: Graph
    executable: Executable
    target: Target
    layers: tuple[Layer, ...]
    refused: Mapping[str, str]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Outputs by name, for inputs by name."""
        return self.executable.run(inputs)

    @property
    def cycles(self) -> int:
        """Cycles of all layers on the accelerator."""
        return sum(layer.run.cycles for layer in self.layers)

    def explain(self) -> pd.DataFrame:
        """A row for each step: who computes it; cycles, how busy the product is and bytes moved; or why not there."""
        import pandas as pd

        on, names = {layer.name: layer for layer in self.layers}, {n.name for n in self.graph.nodes}
        rows = []
        for call in self.executable.plan.calls:
            name = main_node(call.name, names) or call.name
            rows.append(_row_there(on[name]) if name in on else self._row_here(call.name, name))
        columns = ["step", "computes", "device", "cycles", "utilisation", "bytes_read", "bytes_written", "reason"]
        return pd.DataFrame(rows, columns=columns).astype({c: "Int64" for c in columns if c in _WHOLE})

    def _row_here(self, call: str, name: str) -> dict[str, object]:
        own = {"step": name, "computes": call.removeprefix(f"{name}: "), "device": "this processor"}
        return {**own, "reason": self.refused.get(name, "")}

    def __repr__(self) -> str:
        share = f"{len(self.layers)} of {len(self.layers) + len(self.refused)} products"
        return f"<Offloaded {self.graph.name}: {share} on {self.target.kind}, {self.cycles:,} cycles>"

    def _repr_html_(self) -> str:
        table = self.explain()
        rows = [[_shown(v) for v in row] for row in table.itertuples(index=False)]
        columns = [m.Column(str(c), c in _WHOLE or c == "utilisation") for c in table.columns]
        return str(m.Html("".join((m.heading("Offloaded", repr(self)), m.table(columns, rows)))))


_WHOLE = ("cycles", "bytes_read", "bytes_written")


def _row_there(layer: Layer) -> dict[str, object]:
    run = layer.run
    moved = {"bytes_read": run.bytes_read, "bytes_written": run.bytes_written}
    return {
        "step": layer.name,
        "computes": layer.description,
        "device": layer.schedule.target.kind if layer.schedule.target else "",
        "cycles": run.cycles,
        "utilisation": run.utilisation,
        **moved,
        "reason": "the best of the log" if layer.tuned else "not tuned",
    }


def _shown(v: Any) -> str:
    import pandas as pd

    if isinstance(v, str):
        return v
    return "" if pd.isna(v) else f"{v:.0%}" if isinstance(v, float) else f"{v:,}"


def offload(
    graph: Graph, target: Target | str = "vta", log: Database | str | None = None, *, threads: int | None = None
) -> Offloaded:
    """Let an accelerator compute the products of a quantised network, and this processor the rest.

    The accelerator computes sums of products of bytes, one convolution or matrix product at a time; results are exactly
    those of `compile`. What turns and pads its images, scales its sums and stands between belongs to the processor.
    ``tune(graph, target=target, log=log)`` tunes the same products.

    Parameters
    ----------
    graph : Graph
        As ``quantize(graph, samples, activations="int8")`` returns it.
    target : Target or str
        The accelerator, "vta" with options.
    log : path or Database, optional
        Where the best schedules come from; default ones for what it does not know.
    threads : int, optional
        Threads of this processor.

    Returns
    -------
    Offloaded
        `run` runs it, `explain` is the table of who computes what.

    Raises
    ------
    TargetError
        "target.network" for a target that is no accelerator, "target.tasks" where it computes nothing of the network.
    ModelError
        "model.optimised", and "model.dynamic_shape" for a network whose shapes are open or depend on values.
    LogError
        As `compile`.
    """
    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    resolved = Target(target) if isinstance(target, str) else is_a("target", target, Target)
    if backend_for(resolved).any_nest:
        text = f"{resolved.kind!r} is no accelerator: it computes whole networks or single kernels."
        raise TargetError("target.network", text, (resolved.kind,), "wb.offload(graph, target='vta')")
    require_as_loaded(graph, "offloaded")
    if graph.cuts or graph.tail is not None:
        text = f"Shapes in the network {graph.name!r} depend on values, so it cannot be offloaded."
        raise ModelError("model.dynamic_shape", text, (graph.name,), "compile it as a whole")
    found = offloading(graph, resolved)
    groups = groups_alone(found.graph, found.nodes)
    database = database_of(log, lambda: {g.key for g in groups})
    layers, functions, refused = _layers(groups, database, resolved)
    mixed = _joined(found, functions, resolved)
    exe = compile(mixed, database, threads=threads)
    return Offloaded(mixed, exe, resolved, layers, {**found.refused, **refused})


def _layers(
    groups: Sequence[Group], database: Database, target: Target
) -> tuple[tuple[Layer, ...], dict[str, _Call], dict[str, str]]:
    """Layers, the function of each by the name of its node, and why others fit no memory of the accelerator."""
    made: dict[str, _Built | BuildError] = {}
    layers, functions, refused = list[Layer](), dict[str, _Call](), dict[str, str]()
    for group in groups:
        if group.key not in made:
            made[group.key] = _built(group, database, target)
        found = made[group.key]
        if isinstance(found, BuildError):
            refused[group.name] = found.message
            continue
        layers.append(Layer(group.name, group.description, found.schedule, found.tuned, found.run))
        functions[group.name] = _Call(found.kernel, group)
    return tuple(layers), functions, refused


@dataclass(frozen=True, slots=True)
class _Built:
    schedule: Schedule
    tuned: bool
    run: Run
    kernel: Kernel


def _built(group: Group, database: Database, target: Target) -> _Built | BuildError:
    assert group.func is not None
    record = database.best(group.key, str(target))
    record = record if record is not None and record.target == str(target) else None
    try:
        s = default_schedule(group.func, target) if record is None else schedule_of(group.func, record)
        return _Built(s, record is not None, simulate(program_of(s.func, target)), s.build(target))
    except BuildError as error:
        return error


class _Call:
    """A kernel as a function of data and weights."""

    def __init__(self, kernel: Kernel, group: Group) -> None:
        self._kernel, node = kernel, group.nodes[0]
        self._order = [node.inputs.index(tensor) for _, tensor in group.args if tensor not in node.outputs]
        params = group.func.params if group.func else ()
        self._shapes = [logical_shape(b) for b in params if b.role != "output"]

    def results(self, shape: tuple[int, ...]) -> Callable[..., Sequence[Array]]:
        """The function, of a result with this shape: to a kernel an image may be one row of pixels."""

        def run(*arrays: Array) -> Sequence[Array]:
            given = [arrays[i].reshape(shape) for i, shape in zip(self._order, self._shapes, strict=True)]
            return (np.asarray(self._kernel(*given)).reshape(shape),)

        return run


def _joined(found: Offloading, functions: Mapping[str, _Call], target: Target) -> Graph:
    """The network with a node of the accelerator in the place of each layer."""
    graph = found.graph

    def there(n: Node) -> Node:
        if n.name not in functions:
            return n
        types = tuple(graph.types[o] for o in n.outputs)
        function = functions[n.name].results(types[0].shape)
        return extern_node(n.name, n.inputs, n.outputs, Implementation(target.kind, function, types))

    nodes = [there(n) for n in graph.nodes]
    return graph.rebuilt(nodes, graph.constants, graph.outputs, f"offload: {len(functions)} nodes to {target.kind}")
