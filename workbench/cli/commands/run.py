"""Compile a model and run or time it."""

from __future__ import annotations

import io
import os
import zipfile
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.arguments import path as as_path
from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.interrupt import load_heavy_modules
from workbench.cli.model import check_log, check_model_options, compiled, load_graph, make_target
from workbench.cli.output import Output, columns
from workbench.errors import InputError, ShapeError, did_you_mean

if TYPE_CHECKING:
    import numpy as np

    from workbench.graph import Graph
    from workbench.graph.graph import TensorType
    from workbench.runtime.execution.executable import Executable
    from workbench.target import Target

    Arrays = Mapping[str, np.ndarray[Any, Any]]


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    shared.model(command)
    shared.target(command)
    command.add_argument("--log", metavar="F", help="take the best schedules from this log")
    command.add_argument(
        "--nearest", action="store_true", help="tasks that the log does not know take the nearest task's, adapted"
    )
    command.add_argument("--inputs", metavar="IN.npz", help="inputs by their ONNX names; missing ones are random")
    command.add_argument("--outputs", metavar="OUT.npz", help="save the outputs under their ONNX names")
    command.add_argument("--seed", type=int, default=0, metavar="K", help="seed of the random inputs (default 0)")
    command.add_argument("--benchmark", action="store_true", help="time the whole model")
    command.add_argument("--profile", action="store_true", help="time every call, and compare it with the machine")
    command.add_argument("--trace", metavar="FILE", help="write one run as a timeline for Perfetto or chrome://tracing")
    command.add_argument(
        "--repeat", type=shared.positive, metavar="R", help="timed repeats of --benchmark and --profile"
    )


def run(options: Namespace, output: Output) -> int:
    """Run the command."""
    check_model_options(options)
    check_log(options)
    load_heavy_modules()
    given = read_npz(options.inputs) if options.inputs is not None else {}
    for path in (options.outputs, options.trace):
        if path is not None:
            check_folder(path)
    target = make_target(options)
    graph = load_graph(options, output, target)
    from workbench.graph.size_limits import check_memory

    check_memory(graph)  # before inputs are drawn
    inputs = complete_inputs(graph, given, options.seed)
    executable = compiled(graph, options, output, target)
    data: dict[str, Any] = {"model": str(options.model), "threads": target.threads, "untuned": list(executable.untuned)}
    data["borrowed"] = executable.borrowed
    measured = _measured(
        executable, _beside(graph, target, options), inputs, options, data
    )  # before any other run: the first one is told
    results = executable.run(inputs)
    if options.outputs is not None:
        write_npz(options.outputs, results)
    data["outputs"] = {n: {"shape": list(a.shape), "dtype": str(a.dtype)} for n, a in results.items()}
    text = [_describe(results), *measured]
    output.result(data, "\n".join(text))
    return 0


def _beside(graph: Graph, target: Target, options: Namespace) -> Executable | None:
    """Return the network with default schedules, where that of a log is to be compared with it."""
    from workbench.network.compile import compile

    return compile(graph, target=target) if options.benchmark and options.log is not None else None


def _measured(
    executable: Executable, default: Executable | None, inputs: Arrays, options: Namespace, data: dict[str, Any]
) -> list[str]:
    """Time what was asked for, beside the network with `default` schedules where there is one: numbers go to `data`;
    returns lines of text.
    """
    from workbench.network.benchmark_groups import in_groups, in_turns

    text: list[str] = []
    repeat = {"repeat": options.repeat} if options.repeat else {}
    if options.benchmark:
        timing = in_groups(executable, inputs, options.repeat, int(data["threads"]))
        data.update(timing.to_json())
        text += ["", str(timing)]
        if default is not None:
            turns = in_turns(default, executable, inputs)
            data["turns"] = turns.to_json()
            text += [str(turns)]
    if options.profile:
        profile = executable.profile(inputs, **repeat)
        data["profile"] = {**profile.attrs, "calls": profile.to_json_rows()}
        text += ["", str(profile)]
    if options.trace is not None:
        executable.trace(options.trace, inputs)
        data["trace"] = str(options.trace)
        text += ["", f"Timeline: {options.trace} (open it in ui.perfetto.dev or chrome://tracing)"]
    return text


def _describe(results: Arrays) -> str:
    rows = []
    for name, array in results.items():
        wide = array.astype("float64") if array.size else array
        figures = [f"{wide.min():.6g}", f"{wide.mean():.6g}", f"{wide.max():.6g}"] if array.size else ["-"] * 3
        rows.append([name, "x".join(map(str, array.shape)) or "scalar", str(array.dtype), *figures])
    return columns(["Output", "Shape", "Type", "Min", "Mean", "Max"], rows, {3, 4, 5})


def random_input(kind: TensorType, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return a seeded input: standard normal numbers, small integers from 0, or truth values."""
    import numpy as np

    dtype = np.dtype(kind.dtype)
    if dtype.kind == "f" or dtype.kind == "V":
        return rng.standard_normal(kind.shape, dtype=np.float32).astype(dtype)
    return rng.integers(0, 2, kind.shape).astype(dtype)


def complete_inputs(graph: Graph, given: Arrays, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return all inputs of a graph: the given ones, and seeded random ones for the rest.

    Raises
    ------
    ShapeError
        ``shape.name`` for an input that the model does not have.
    """
    import numpy as np

    program = graph.untyped
    inputs = graph.inputs if program is None else tuple(v.name for v in program.inputs)
    for name in given:
        if name not in inputs:
            hint = did_you_mean(name, inputs, "inputs")
            raise ShapeError("shape.name", f"The model has no input '{name}'", [name], hint)
    if program is not None and set(given) == set(inputs):
        return dict(given)
    graph = graph.typed()
    rng = np.random.default_rng(seed)
    # Every input draws its numbers, so that giving one does not change the others.
    drawn = {name: random_input(graph.types[name], rng) for name in graph.inputs}
    return {**drawn, **given}


def read_npz(path: str) -> dict[str, np.ndarray[Any, Any]]:
    """Read an npz file; nothing in it is unpickled."""
    import numpy as np

    hint = "write it with numpy.savez(path, **{name: array})"
    try:
        if Path(path).is_char_device():
            raise InputError("inputs.format", "The inputs are not an npz file but a device", [path], hint)
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise InputError("inputs.format", "The inputs are a single array, not an npz file with names", [path], hint)
        with file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise InputError("inputs.missing", "There is no such input file", [path], "check the path") from None
    except InputError:
        raise
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, AttributeError, TypeError) as error:
        raise InputError("inputs.format", f"The inputs cannot be read: {error}", [path], hint) from error


def check_folder(path: str) -> None:
    """Raise ``outputs.unwritable`` before any work is done for an output that cannot be written."""
    folder = Path(as_path("the path", path)).absolute().parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        hint = "choose a file in a directory that exists and that you may write to"
        raise InputError("outputs.unwritable", "The outputs cannot be written there", [path], hint)


def write_npz(path: str, arrays: Arrays) -> None:
    """Write arrays under their names; unlike numpy.savez, any name will do and the path is taken as it is."""
    import numpy as np

    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, np.asanyarray(array), allow_pickle=False)
                archive.writestr(f"{name}.npy", buffer.getvalue())
    except OSError as error:
        message = f"The outputs cannot be written: {error.strerror or error}"
        raise InputError("outputs.unwritable", message, [path], "choose another file") from error
