"""One network in float32, bfloat16 and int8 side by side: time, error and bytes, of each kernel and of all."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas

from workbench import markup as m
from workbench.arguments import is_a, real
from workbench.errors import ModelError, UsageError, did_you_mean
from workbench.graph import Graph
from workbench.graph.tasks import partition
from workbench.network.accuracy import BOUND, accuracy
from workbench.network.compile import compile
from workbench.network.quantization import quantize
from workbench.network.samples import random_samples, sample_list
from workbench.runtime.execution.alternating_runs import NetworkJob, time_in_turns
from workbench.runtime.execution.executable import Executable
from workbench.runtime.execution.profile import call_bytes
from workbench.safe_text import shown_legibly
from workbench.target import Target

#: What can be compared; the first is what the others are compared with.
PRECISIONS = ("float32", "bfloat16", "int8")
#: Kernels that a notebook shows: a screen.
SHOWN = 40


class Precisions(pandas.DataFrame):
    """One row per kernel, in the order of the network in float32; see `compare_precisions`."""

    @property
    def _constructor(self) -> Callable[..., pandas.DataFrame]:
        return pandas.DataFrame

    @shown_legibly
    def __repr__(self) -> str:
        if "network" not in self.attrs:
            return super().__repr__()
        whole = pandas.DataFrame(self.attrs["network"]).drop(columns="note")
        head = whole.to_string(index=False, float_format=lambda x: f"{x:.4g}", na_rep="-")
        rows = self.to_string(
            index=False, max_rows=SHOWN, max_colwidth=48, float_format=lambda x: f"{x:.4g}", na_rep="-"
        )
        told = [f"{row['precision']}: {row['note']}" for row in self.attrs["network"] if row["note"]]
        return "\n".join([head, *told, "", rows, *_notes(self.attrs)])

    __str__ = __repr__

    def _repr_html_(self) -> str | None:
        if not pandas.get_option("display.notebook_repr_html"):
            return None
        return _html(self) if "network" in self.attrs else self.to_html(max_rows=60, max_cols=20)


def compare_precisions(
    graph: Graph,
    samples: Iterable[Any] | Mapping[str, Any] | None = None,
    *,
    precisions: Sequence[str] = PRECISIONS,
    target: Target | str | None = None,
    bound: float = BOUND,
    seconds: float = 2.0,
    progress: Callable[[str, int, int], object] | None = None,
) -> Precisions:
    """Compute a network in several precisions: what each kernel takes, how far it is off, how much it moves.

    Parameters
    ----------
    graph : Graph
        In float32, as `load_onnx` returns it.
    samples : iterable or mapping, optional
        Inputs, as for `quantize`. The first three quarters calibrate int8, the others are compared; one alone does
        both. By default random numbers, of which errors say less than of inputs that the network was made for.
    precisions : sequence of {"float32", "bfloat16", "int8"}
        Beside float32, which is always computed.
    target : Target or str, optional
        What to compile for; this machine by default.
    bound : float
        Relative error above which the first layer is named.
    seconds : float
        For the times of all precisions, whose runs alternate. Schedules are the default ones.
    progress : callable, optional
        Called before each step with what it does, its number from 1, and how many there are. What it raises ends the
        comparison.

    Returns
    -------
    DataFrame
        A row for each kernel: ``kernel`` (its first node), and of each precision ``float32_ms`` (median, inside the
        network), ``float32_bytes`` (moved at least), and but for float32 ``bfloat16_error`` (of its result in float32:
        root mean square of the difference against that of the numbers); NaN where a precision has no such kernel, or
        where other programs disturbed all turns (``note``).
        ``attrs["network"]`` is a list with a row for each precision: ``precision``, ``ms``, ``error`` (of the worst
        output), ``first_above`` (first tensor whose error is above `bound`), ``bytes`` (that a run moves), ``weights``
        (bytes), ``note``. ``attrs["nodes"]`` has, for each precision, the error of each node of the optimised network
        whose result it computes too. ``attrs["random"]`` says whether the inputs are random, ``attrs["bound"]`` is
        `bound`, ``attrs["tail"]`` whether the graph has a tail, which is neither timed nor compared.

    Raises
    ------
    UsageError
        "usage.precision", "usage.number".
    ModelError
        As of `compile`; a precision that the network cannot be computed in has a ``note`` instead.
    InputError, ShapeError
        As of `quantize`.
    """
    graph = is_a("graph", graph, Graph, "load a model with load_onnx(path) first").typed()
    real("seconds", seconds)
    for name in precisions:
        if name not in PRECISIONS:
            hint = did_you_mean(str(name), PRECISIONS, "precisions")
            raise UsageError("usage.precision", f"There is no precision {name!r}.", (str(name),), hint)
    given = random_samples(graph) if samples is None else sample_list(graph, samples)
    held = given[-max(1, len(given) // 4) :]
    others = [name for name in dict.fromkeys(precisions) if name != PRECISIONS[0]]
    steps = _Steps(progress, 2 * len(others) + 2)
    steps.next("Compiling float32")
    made = {PRECISIONS[0]: compile(graph, target=target)}
    errors: dict[str, pandas.DataFrame] = {}
    notes: dict[str, str] = {}
    for k, name in enumerate(others):
        try:
            steps.next(f"Compiling {name}", 2 * k + 2)
            other = name if name == "bfloat16" else quantize(graph, given[: -len(held)] or given, target=target)
            low = compile(graph if isinstance(other, str) else other, target=target,
                          precision=name if isinstance(other, str) else None)  # fmt: skip
            steps.next(f"Comparing {name} with float32")
            errors[name] = accuracy(graph, other, held, bound=bound, target=target)
            made[name] = low
        except ModelError as error:
            notes[name] = str(error)
    steps.next("Timing all of them in turns", steps.many)
    found = _table(graph, made, errors, notes, seconds)
    found.attrs |= {"bound": bound, "random": samples is None}
    return found


class _Steps:
    """Tells of each step before it is done."""

    def __init__(self, told: Callable[[str, int, int], object] | None, many: int) -> None:
        self.told, self.many, self.at = told, many, 0

    def next(self, what: str, at: int | None = None) -> None:
        """Tell that the next step begins, or that of this number."""
        self.at = at or self.at + 1
        if self.told is not None:
            self.told(what, self.at, self.many)


def _table(
    graph: Graph,
    made: Mapping[str, Executable],
    errors: Mapping[str, pandas.DataFrame],
    notes: Mapping[str, str],
    seconds: float,
) -> Precisions:
    fused = graph if graph.groups else graph.optimize()
    kernels, results = _kernels(graph, fused)
    nodes = {name: _node_errors(fused, table) for name, table in errors.items()}
    times = dict(zip(made, time_in_turns(NetworkJob(tuple(e.plan for e in made.values()), seconds)), strict=True))
    rows: dict[str, dict[str, Any]] = {}
    for name, executable in made.items():
        calls_ms = times[name].calls_ms or (np.nan,) * len(executable.plan.calls)
        for call, ms in zip(executable.plan.calls, calls_ms, strict=True):
            node = call.name.partition(": ")[0]
            kernel = node if node in results else kernels.get(_known_name(node, kernels), node)
            row = rows.setdefault(kernel, {"kernel": kernel})
            row[f"{name}_ms"] = row.get(f"{name}_ms", 0.0) + ms
            row[f"{name}_bytes"] = row.get(f"{name}_bytes", 0) + call_bytes(call)
    last = fused.producers()
    for name, found in nodes.items():
        for kernel, row in rows.items():
            end = last.get(results.get(kernel, ""))
            row[f"{name}_error"] = np.nan if end is None else found.get(end.name, np.nan)
    parts = ("ms", "error", "bytes")
    columns = ["kernel", *(f"{name}_{part}" for part in parts for name in made)]
    frame = Precisions(list(rows.values()), columns=[c for c in columns if c != f"{PRECISIONS[0]}_error"])
    whole = [_whole(name, e, times[name], errors.get(name)) for name, e in made.items()]
    frame.attrs["network"] = whole + [{"precision": name, "note": why} for name, why in notes.items()]
    frame.attrs |= {"name": graph.name, "nodes": nodes, "tail": bool(graph.tail)}
    return frame


def _node_errors(fused: Graph, table: pandas.DataFrame) -> dict[str, float]:
    """Errors of the nodes whose first result, or what it was before passes, was compared."""
    relative = dict(zip(table["tensor"], table["relative"], strict=True))
    place = {x: k for k, n in enumerate(fused.nodes) for x in n.outputs}
    found = {}
    for k, n in enumerate(fused.nodes):
        tensor = _known_name(n.outputs[0], relative)
        if tensor in relative and place.get(tensor, k) <= k:  # a part of what a later node computes is not that
            found[n.name] = float(relative[tensor])
    return found


def _kernels(graph: Graph, fused: Graph) -> tuple[dict[str, str], dict[str, str]]:
    """Kernels of the network in float32: by the tensors of the model that they compute, and what the last one is."""
    groups = partition(fused)
    own = graph.producers()
    made = [(_known_name(t, own), g.name) for g in groups for n in g.nodes for t in n.outputs]
    kernels = dict(reversed(made))  # the first that makes a tensor, not what moves it later
    return kernels, {g.name: g.outputs[0] for g in groups}


def _known_name(name: str, known: Container[str]) -> str:
    """What a tensor or node was before passes gave it a longer name (``x.nhwc``, ``x.bytes.sums``)."""
    short = name
    while short not in known and "." in short:
        short = short.rpartition(".")[0]
    return short if short in known else name


def _whole(name: str, executable: Executable, time: Any, table: pandas.DataFrame | None) -> dict[str, Any]:
    """What is known of a whole network."""
    plan = executable.plan
    untimed = "" if time.calls_ms else "Kernels have no times: other programs disturbed every turn"
    return {
        "precision": name,
        "ms": float(np.median(time.costs_ms)) if time.costs_ms else np.nan,
        "error": 0.0 if table is None else float(table.loc[table["output"], "relative"].max()),
        "first_above": "" if table is None else table.attrs["first_above"],
        "bytes": sum(map(call_bytes, plan.calls)),
        "weights": sum(a.nbytes for a in plan.constants),
        "note": ". ".join(text.rstrip(".") for text in (executable.precision_note, time.why_not, untimed) if text),
    }


def _notes(attrs: Mapping[Any, Any]) -> list[str]:
    """What has to be said of the numbers."""
    random = ["Inputs are random numbers: errors on inputs that the network was made for may differ."]
    tail = ["What needs to know how many rows there are (the graph's tail) is neither timed nor compared."]
    return [
        *(random if attrs["random"] else []),
        *(tail if attrs["tail"] else []),
        "Schedules are the default ones: nothing was tuned.",
    ]


def _html(frame: Precisions) -> str:
    """What a notebook shows."""
    whole = frame.attrs["network"]
    base = whole[0]["ms"]
    heads = (m.Column("Precision"), m.Column("Time", number=True), m.Column("Speed-up", number=True),
             m.Column("Error", number=True), m.Column("First above the bound"), m.Column("Moved", number=True),
             m.Column("Weights", number=True), m.Column("Note"))  # fmt: skip
    rows = [
        [r["precision"], m.milliseconds(r["ms"]), f"{m.digits(base / r['ms'])}×", _error(r["error"]),
         m.text(r["first_above"], 40), m.size(r["bytes"]), m.size(r["weights"]), m.text(r["note"], 200)]
        if "ms" in r else [r["precision"], *[""] * 6, m.text(r["note"], 300)]
        for r in whole
    ]  # fmt: skip
    names = [r["precision"] for r in whole if "ms" in r]
    columns = [m.Column("Kernel"), *(m.Column(f"{n}, ms", number=True) for n in names),
               *(m.Column(f"{n} error", number=True) for n in names[1:])]  # fmt: skip
    kernels = [
        [m.text(r["kernel"], 60), *(m.milliseconds(_known(r[f"{n}_ms"])) for n in names),
         *(_error(r[f"{n}_error"]) for n in names[1:])]
        for r in frame.head(SHOWN).to_dict("records")
    ]  # fmt: skip
    head = m.heading("Precisions", frame.attrs["name"], m.plural(len(frame), "kernel"))
    notes = [m.line(m.faint(note)) for note in _notes(frame.attrs)]
    shown = m.cut(kernels, SHOWN, "kernels", len(frame))
    return m.page(head, *notes, m.table(heads, rows), m.fold("Kernels", m.table(columns, shown)))


def _known(value: float) -> float | None:
    return None if value != value else value


def _error(value: float) -> str:
    return "" if value != value else f"{value:.1e}" if value else "0"
