"""Loading and compiling a model as the command line says."""

from __future__ import annotations

import re
from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING

from workbench.cli.output import Output
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.runtime.execution.executable import Executable
    from workbench.target import Target


def parse_shapes(items: list[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of ``--shape NAME=1x3x224x224``.

    Raises
    ------
    UsageError
        ``usage.shape`` for a form that is not understood or a name that comes twice.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    hint = "write NAME=1x3x224x224, with the name of the model's input"
    for item in items:
        name, _, dims = item.rpartition("=")
        if not name or not re.fullmatch(r"\d+([x,]\d+)*", dims):
            raise UsageError("usage.shape", f"The shape '{item}' is not understood", (), hint)
        shape = tuple(int(d) for d in re.split("[x,]", dims))
        if 0 in shape:
            raise UsageError("usage.shape", f"The shape '{item}' has an empty dimension", (), hint)
        if name in shapes:
            raise UsageError("usage.shape", f"The shape of '{name}' is given twice", (name,), "give it once")
        shapes[name] = shape
    return shapes


def parse_dynamic(items: list[str]) -> dict[str, range]:
    """Return the lengths of ``--dynamic NAME=1..512``, or ``NAME=32..640..32`` with a step.

    Raises
    ------
    UsageError
        ``usage.dynamic`` for a form that is not understood or a name that comes twice.
    """
    found: dict[str, range] = {}
    for item in items:
        name, _, text = item.rpartition("=")
        parts = re.fullmatch(r"(\d+)\.\.(\d+)(?:\.\.(\d+))?", text)
        if not name or not parts or name in found or parts[3] == "0":
            hint = "write NAME=1..512, with the name of an open dimension, each once"
            raise UsageError("usage.dynamic", f"The lengths '{item}' are not understood", (), hint)
        found[name] = range(int(parts[1]), int(parts[2]) + 1, int(parts[3] or 1))
    return found


def make_target(options: Namespace, elsewhere: bool = False) -> Target:
    """Return the target of ``--target`` and ``--threads``; it may be a machine `elsewhere`, or has to be this one."""
    from workbench.codegen.backend import require_compilable, require_runnable
    from workbench.target import Target

    if options.target is None:
        return Target.host(threads=options.threads)
    target = Target(options.target, threads=options.threads)
    (require_compilable if elsewhere else require_runnable)(target)
    return target


def check_model_options(options: Namespace) -> None:
    """Raise what is wrong with the options of a model, before anything is loaded."""
    parse_shapes(options.shape)
    parse_dynamic(getattr(options, "dynamic", []))
    if options.save_filled is not None and options.fill_weights is None:
        hint = "add --fill-weights SEED"
        raise UsageError("usage.save_filled", "--save-filled needs filled weights", (), hint)


def check_log(options: Namespace) -> None:
    """Raise what is wrong with the log, before the model is loaded."""
    from workbench.log.reader import open_for_reading

    if options.log is not None:
        open_for_reading(options.log).close()


def compiled(graph: Graph, options: Namespace, output: Output, target: Target) -> Executable:
    """Compile a graph with the schedules of the log, and say which of its tasks the log does not know."""
    from workbench.network.compile import compile

    executable = compile(graph, log=options.log, target=target, nearest=options.nearest)
    if options.log is not None:
        warn_untuned(executable, output)
    return executable


def load_graph(options: Namespace, output: Output, target: Target) -> Graph:
    """Load, fill and optimise the model of a command line."""
    from workbench.graph.passes import optimized

    shapes = parse_shapes(options.shape) or None
    without = passes_left_out(options)
    return optimized(read_model(options, output, target, shapes), without, options.precision, target)


def passes_left_out(options: Namespace) -> list[str]:
    """Return the passes of ``--without``.

    Raises
    ------
    UsageError
        ``usage.pass`` for one that does not exist.
    """
    from workbench.graph.passes import DEFAULT, select_passes

    names = [name.strip() for item in options.without for name in item.split(",") if name.strip()]
    select_passes(DEFAULT, names)
    return names


def read_model(options: Namespace, output: Output, target: Target, shapes: dict[str, tuple[int, ...]] | None) -> Graph:
    """Load the model as it is, its weights filled where that was asked for."""
    from workbench.graph import load_onnx

    dynamic = parse_dynamic(getattr(options, "dynamic", [])) or None
    if options.fill_weights is None:
        return load_onnx(options.model, shapes, dynamic)
    from workbench.graph.onnx.model_proto_file import save_onnx
    from workbench.graph.seeded_weights import fill_weights
    from workbench.network.compile import execute

    output.say(f"Filling in weights (seed {options.fill_weights}) ...")
    here = None if target.missing_here() else target
    model = fill_weights(options.model, options.fill_weights, partial(execute, target=here), shapes)
    if options.save_filled is not None:
        save_onnx(model, options.save_filled)
    return load_onnx(model, shapes, dynamic)


SHOWN = 8
"""Borrowed schedules that are told one by one."""


def warn_untuned(executable: Executable, output: Output) -> None:
    """Name the tasks that a log does not know, and say what they have instead."""
    for task, how in list(executable.borrowed.items())[:SHOWN]:
        output.say(f"borrowed for {task}: {how}")
    if len(executable.borrowed) > SHOWN:
        output.say(f"... and for {len(executable.borrowed) - SHOWN} more tasks (--json lists them all)")
    if executable.untuned:
        names = ", ".join(executable.untuned[:3]) + (", …" if len(executable.untuned) > 3 else "")
        output.warn(f"{len(executable.untuned)} tasks are not in the log and use default schedules: {names}")
