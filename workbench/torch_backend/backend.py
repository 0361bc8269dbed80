"""`torch.compile` with the workbench: what an FX graph can leave to our kernels, and what runs it."""

from __future__ import annotations

import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from workbench.errors import ModelError, ModelWarning, UsageError
from workbench.graph import Graph
from workbench.graph.passes import optimized
from workbench.graph.tasks import extract_tasks
from workbench.log.database import Database
from workbench.log.reader import load_log
from workbench.network.compile import compile as compile_graph
from workbench.runtime.execution.executable import Executable
from workbench.target import Target
from workbench.torch_backend.aten import MOVES, Unsupported
from workbench.torch_backend.conversion import Converted, arrays_of, convert, obstacles, tensor_of
from workbench.torch_backend.decompositions import decompositions, packet
from workbench.tune.run.start import tune

#: Executables that a part keeps, one for each combination of shapes, the most recent ones. Chosen, not measured.
KEPT = 64
#: Operators that a warning names.
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Options:
    """What ``torch.compile(model, backend="workbench", options={...})`` takes.

    Parameters
    ----------
    log : path, optional
        Where the best schedules come from.
    trials : int, optional
        Tune what the log does not know yet with so many trials, before the first run; written to `log`.
    target : Target or str, optional
        What to compile for; this machine by default.
    threads : int, optional
        Threads to run with; those of the target by default.
    precision : {"float32", "bfloat16"}
        As for `workbench.compile`.
    fallback : bool
        Whether operators may stay in torch, which a warning tells ("torch.left"). Without it that is an error.
    """

    log: str | os.PathLike[str] | None = None
    trials: int | None = None
    target: Target | str | None = None
    threads: int | None = None
    precision: str = "float32"
    fallback: bool = True

    def __post_init__(self) -> None:
        if self.trials is not None and self.log is None:
            raise UsageError(
                "torch.log", "Trials are to be kept in a log", ("trials",), 'add "log": "net.tunelog.jsonl"'
            )


def compile_fx(module: GraphModule, examples: Sequence[Any], options: Options) -> Callable[..., Any]:
    """Return what runs an FX graph of Dynamo's."""
    found = {
        k: x for k, x in enumerate(examples) if isinstance(x, torch.Tensor) and hasattr(x, "_dynamo_static_input_type")
    }
    weights = {k: x for k, x in found.items() if not x.is_inference()}
    if len(weights) < len(found):
        text = "Weights made in inference mode are read in each run: torch does not say when one changes"
        hint = "make the model outside of torch.inference_mode(); its weights are then packed once"
        warnings.warn(ModelWarning("torch.inference_weights", text, (), hint), stacklevel=2)

    def inference(aten: GraphModule, inputs: Sequence[Any]) -> Any:
        known = weights if len(inputs) == len(examples) else {}
        with unset_fake_temporarily():  # weights are read
            return make_boxed_func(_in_parts(aten, list(map(_hinted, inputs)), known, options))

    compiled: Callable[..., Any] = aot_autograd(
        fw_compiler=_training, bw_compiler=_as_it_is, inference_compiler=inference, decompositions=decompositions()
    )(module, examples)
    return compiled


def _as_it_is(module: GraphModule, inputs: Sequence[Any]) -> Any:
    return make_boxed_func(module.forward)


def _training(module: GraphModule, inputs: Sequence[Any]) -> Any:
    text = "Gradients are wanted, so the model runs in torch: the workbench compiles for inference"
    warnings.warn(ModelWarning("torch.gradients", text, (), "call it within torch.no_grad()"), stacklevel=2)
    return _as_it_is(module, inputs)


def _hinted(x: Any) -> Any:
    """An input with the sizes that it has first, where they are open."""
    if isinstance(x, torch.SymInt):
        return x.node.hint
    if not isinstance(x, torch.Tensor):
        return x
    shape, strides = ([_hinted(n) for n in sizes] for sizes in (x.shape, x.stride()))
    return torch.empty_strided(shape, strides, dtype=x.dtype) if x.device.type == "cpu" else x


def _in_parts(
    module: GraphModule, inputs: Sequence[Any], weights: Mapping[int, Any], options: Options
) -> Callable[..., Any]:
    """Cut an FX graph into what our kernels compute and what stays in torch; compile the former."""
    found = obstacles(module, inputs)
    left = [f"{n.target} ({why})" for n, why in found.items()]
    partitioner = CapabilityBasedPartitioner(module, _Supported(found), allows_single_node_partition=True)
    worth = [p for p in partitioner.propose_partitions() if any(map(_computes, p.nodes))]
    cut = partitioner.fuse_partitions(worth)
    places = {n: k for k, n in enumerate(n for n in cut.graph.nodes if n.op == "placeholder")}
    parts = dict[str, tuple[Part, list[Any]]]()
    for node in cut.graph.nodes:
        if node.op == "call_module":
            inner = cut.get_submodule(node.target)
            given = [_hinted(n.meta["val"]) for n in inner.graph.nodes if n.op == "placeholder"]
            fixed = {k: weights[places[n]] for k, n in enumerate(node.args) if places.get(n, -1) in weights}
            part = Part(inner, tuple(fixed), options)
            parts[node.target] = part, [fixed.get(k, x) for k, x in enumerate(given)]
    left += _compiled(cut, parts, options)
    _tell(left, sum(n.op == "call_function" for n in module.graph.nodes), options)
    run: Callable[..., Any] = cut.forward
    return run


def _compiled(cut: GraphModule, parts: Mapping[str, tuple[Part, list[Any]]], options: Options) -> list[str]:
    """Put compiled parts in the place of theirs; returns which stay, and why."""
    left = list[str]()
    ready = list[tuple[Part, list[Any], Converted]]()
    for name, (part, given) in parts.items():
        try:
            ready.append((part, given, part.converted(given)))
        except (Unsupported, ModelError) as e:
            left.append(_part(part.module, e))
            continue
        cut.set_submodule(name, part)
    if options.trials is not None:
        _tune([c.graph for _, _, c in ready], options)
    for part, given, converted in ready:
        part.compile(given, converted)
    return left


def _part(module: GraphModule, e: Unsupported | ModelError) -> str:
    many = sum(n.op == "call_function" for n in module.graph.nodes)
    return f"a part of {many} operators ({e.message if isinstance(e, ModelError) else e})"


def _tune(graphs: Sequence[Graph], options: Options) -> None:
    """Tune the tasks that the log does not know."""
    log, target = Path(options.log or ""), _target(options)
    known = Database.load(log) if log.exists() else Database()
    tasks = {t.key: t for g in graphs for t in extract_tasks(g, target) if known.best(t.key, str(target)) is None}
    if tasks:
        before = len(load_log(log).records) if log.exists() else 0
        trials = before + (options.trials or 0)
        tune(list(tasks.values()), target=target, trials=trials, log=log, resume=log.exists()).wait()


def _target(options: Options) -> Target:
    if options.target is None:
        return Target.host(options.threads)
    return options.target if isinstance(options.target, Target) else Target(options.target)


def _tell(left: Sequence[str], many: int, options: Options) -> None:
    if not left:
        return
    shown = "; ".join(dict.fromkeys(left[:_SHOWN])) + (f"; and {len(left) - _SHOWN} more" if len(left) > _SHOWN else "")
    text = f"{len(left)} of {many} operators stay in torch: {shown}"
    if not options.fallback:
        raise ModelError("torch.left", text, (), "take fallback=False away, or write the model without them")
    warnings.warn(ModelWarning("torch.left", text, (), 'options={"fallback": False} makes this an error'), stacklevel=2)


class _Supported(OperatorSupportBase):  # type: ignore[misc]  # as torch is read, of no type
    """What can be written."""

    def __init__(self, obstacles: Mapping[Node, str]) -> None:
        self._obstacles = obstacles

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        return node.op == "call_function" and node not in self._obstacles


def _computes(node: Node) -> bool:
    """Whether a call does more than move elements and count."""
    return isinstance(node.target, torch._ops.OpOverload) and packet(node.target) not in MOVES


class Part(torch.nn.Module):  # type: ignore[misc]
    """A part of an FX graph as executables, one for each combination of shapes.

    Parameters
    ----------
    module : GraphModule
        In torch.
    weights : sequence of int
        Positions of parameters and buffers among the arguments. Their elements are part of the executables, which are
        made anew when torch has changed one.
    options : Options
    """

    def __init__(self, module: GraphModule, weights: Sequence[int], options: Options) -> None:
        super().__init__()
        self.module, self._weights, self._options = module, weights, options
        self._states: tuple[tuple[int, int], ...] = ()
        self._built: OrderedDict[tuple[Any, ...], Callable[..., Any]] = OrderedDict()
        self._lock = threading.RLock()

    def forward(self, *arguments: Any) -> Any:
        """Run on tensors, and on numbers that torch has counted."""
        states = tuple((arguments[k].data_ptr(), arguments[k]._version) for k in self._weights)
        key = self._key(arguments)
        with self._lock:
            run = self._built.get(key) if states == self._states else None
            if run is None:
                run = self._anew(arguments)
            self._built.move_to_end(key)
        return run(*arguments)

    def converted(self, arguments: Sequence[Any]) -> Converted:
        """The part as a graph for arguments of these shapes."""
        fixed = {k: arrays_of(arguments[k]) for k in self._weights}
        found = convert(self.module, arguments, fixed)
        return replace(found, graph=optimized(found.graph, (), self._options.precision, _target(self._options)))

    def compile(self, arguments: Sequence[Any], converted: Converted) -> Callable[..., Any]:
        """Compile a graph, and keep it for arguments of these shapes."""
        o = self._options
        log = Database.load(o.log) if o.log is not None else None
        built = compile_graph(converted.graph, log, _target(o), threads=o.threads)
        return self._keep(arguments, _run(built, converted))

    def _anew(self, arguments: Sequence[Any]) -> Callable[..., Any]:
        try:
            return self.compile(arguments, self.converted(arguments))
        except (Unsupported, ModelError) as e:
            _tell([_part(self.module, e)], 1, self._options)
            return self._keep(arguments, self.module.forward)

    def _keep(self, arguments: Sequence[Any], run: Callable[..., Any]) -> Callable[..., Any]:
        states = tuple((arguments[k].data_ptr(), arguments[k]._version) for k in self._weights)
        if states != self._states:
            self._built.clear()
        self._states = states
        self._built[self._key(arguments)] = run
        while len(self._built) > KEPT:
            self._built.popitem(last=False)
        return run

    def _key(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """What an executable is for: shapes, and numbers, which may be sizes."""
        return tuple(
            x.shape if isinstance(x, torch.Tensor) else x for k, x in enumerate(arguments) if k not in self._weights
        )


def _run(executable: Executable, converted: Converted) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        found = executable.run({name: arrays_of(arguments[k]) for k, name in converted.inputs})
        results = tuple(tensor_of(found[o]) if isinstance(o, str) else o for o in converted.outputs)
        return results[0] if converted.single else results

    return run
