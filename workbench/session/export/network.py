"""A whole network to take away: compiled with the fastest schedule known of each task, or a script that does that."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench import __version__
from workbench.errors import UsageError
from workbench.graph.graph import Graph, Source
from workbench.log import Database, Record
from workbench.safe_text import legible_line
from workbench.session.export.exporters import Work, exporter, slug
from workbench.session.export.files import File
from workbench.session.registry import Host
from workbench.session.state.session_state import SessionState
from workbench.session.state.tuning_watch import held

KEPT = ("task_key", "task", "trial", "target", "variant", "latency_ms", "spread", "caches", "origin", "trace")
"""What a script needs of a trial: the schedule, whose it is, and the number that spoke for it."""


def fastest(state: SessionState) -> list[Record]:
    """Return the fastest schedule known of each task, whoever found it, as the table of tasks counts."""
    return [record for index in range(len(state.infos)) if (record := _fastest(state, index)) is not None]


def _fastest(state: SessionState, index: int) -> Record | None:
    best = state.best(index)
    if best is None:
        return None
    if (found := state.traced(index, best.record)) is not None:
        return replace(found, latency_ms=best.ms, trial=max(found.trial, -1))  # one that is in no log has no number
    logged = state.stats.of(state.infos[index].key).best
    return None if logged is None else replace(logged.record, latency_ms=logged.ms)


def _network(host: Host) -> SessionState:
    state = host.state
    if state.opened.graph is None:
        raise UsageError("session.no_model", "There is no network to export", (), "open a model, as wb.Workbench(path)")
    return state


@exporter(
    "network", label="Script", group="Whole network", needs="model", about="compiled with the fastest schedules known"
)
def _script(host: Host, args: Mapping[str, Any]) -> Work:
    """A Python script that compiles the network with the fastest schedules known, runs it and times it."""
    state = _network(host)
    records, about = fastest(state), list(_about(state))
    name = slug(f"{slug(state.opened.title)}.network")  # with a dot: a module of the model's name would hide others
    source = _source(state)
    note = "" if source else f"it needs the model's file: python {name}.py MODEL.onnx"
    lines = [
        *(f"# {legible_line(line)}" for line in about),
        "import sys",
        *(["from pathlib import Path"] if source and os.path.isabs(source.path) else []),
        "",
        "import workbench as wb",
        *(["from workbench import labs"] if source and source.seed is not None else []),
        "from workbench.log.database import Database",
        "from workbench.log.record import Record",
        "",
        *([f"MODEL = {source.path!r}"] if source else []),
        f"TARGET = {str(state.target)!r}",
        "",
        "# the fastest schedule of each task, as a line of a tuning log has it",
        "SCHEDULES = [",
        *(f"    {_kept(record, str(state.target))!r}," for record in records),
        "]",
        "",
        'if __name__ == "__main__":',
        *(f"    {line}" for line in _loading(state, source, name)),
        '    best = Database(Record.from_json({"status": "ok", "target": TARGET, **line}) for line in SCHEDULES)',
        f"    net = wb.compile(graph, best, TARGET{_left_out(state)})",
        "    for task in net.untuned:",
        '        print("not tuned:", task)',
        "    print(net.benchmark())  # of random inputs; net.run(...) takes your own, net.export(path) makes a library",
    ]
    return lambda: File(f"{name}.py", "text/x-python", "\n".join([*lines, ""]), note=note)


@exporter("library", label="Library", group="Whole network", needs="model")
def _library(host: Host, args: Mapping[str, Any]) -> Work:
    """A shared library with a C header, compiled with the fastest schedules known."""
    state = _network(host)
    graph, target, records, watch, name = (
        state.opened.graph,
        state.target,
        fastest(state),
        state.watch,
        slug(state.opened.title),
    )

    tasks = len(state.infos)

    def work() -> File:
        # most sessions never load the compiler
        from workbench.network.compile import compile
        from workbench.runtime.export.write_library import check_destination

        assert graph is not None
        check_destination(f"{name}.so", None, target)  # before anything is compiled
        with held(watch):  # what is timed meanwhile would be disturbed
            made = compile(graph, Database(records), target)
        note = f"{len(made.untuned)} of {tasks} tasks without a schedule that was measured" if made.untuned else ""
        return File(f"{name}.so", "application/octet-stream", write=made.export, beside=(".h",), note=note)

    return work


def _kept(record: Record, target: str) -> dict[str, Any]:
    """Return the JSON form of what a script needs; its text is Python, too."""
    value = record.to_json()
    return {name: value[name] for name in KEPT if value[name] not in (None, "", target)}


def _about(state: SessionState) -> Iterator[str]:
    yield f"{state.opened.title}: the whole network, written by the Schedule Workbench {__version__}."
    timed = [(info.weight, best.ms) for i, info in enumerate(state.infos) if (best := state.best(i)) is not None]
    tasks = len(state.infos)
    if not timed:
        yield f"None of its {tasks} tasks was measured there: all have the schedule that they have without tuning."
        return
    total = sum(weight * ms for weight, ms in timed)
    yield f"Schedules of {len(timed)} of its {tasks} tasks; their times there, as often as they occur: {total:.5g} ms."


def _source(state: SessionState) -> Source | None:
    """Return where the model was read from, before anything was optimised."""
    graph = state.opened.graph
    assert graph is not None
    return graph.source if graph.origin is None else graph.origin.graph.source


def _loading(state: SessionState, source: Source | None, name: str) -> Iterator[str]:
    """Yield the lines that load the model: that of the command line, else the one that was open."""
    graph = state.opened.graph
    assert graph is not None
    as_it_is = state.opened.path and not state.opened.shaped
    shapes = {} if as_it_is else {name: tuple(kind.shape) for name, kind in graph.input_types().items()}
    given = f", {shapes!r}" if shapes else ""
    if source is None or source.seed is None:
        given = _sized(graph, bool(as_it_is)) if graph.dynamic else given
    if source is None:
        yield "if not sys.argv[1:]:"
        yield f'    sys.exit("The model was not read from a file, so say where it is: python {name}.py MODEL.onnx")'
        yield f"graph = wb.load_onnx(sys.argv[1]{given})"
        return
    yield "model = MODEL"
    if os.path.isabs(source.path):
        yield "beside = Path(__file__).with_name(Path(MODEL).name)"
        yield "if beside.exists() and not Path(MODEL).exists():  # script and model were moved together"
        yield "    model = str(beside)"
    if source.seed is None:
        yield f"graph = wb.load_onnx(sys.argv[1] if sys.argv[1:] else model{given})"
        return
    yield "if sys.argv[1:]:"
    yield f"    graph = wb.load_onnx(sys.argv[1]{given})"
    yield "else:"
    yield f"    graph = labs.example_model(model, {source.seed}, wb.Target(TARGET){given})  # with the same weights"


def _sized(graph: Graph, as_it_is: bool) -> str:
    """Arguments of `load_onnx` that give a network of open dimensions: fixed shapes, and ranges of lengths."""
    sizes = graph.open
    assert sizes is not None
    fixed = (
        {} if as_it_is else {v.name: v.dims for v in sizes.program.inputs if all(type(d) is int for d in v.dims or ())}
    )
    ranges = ", ".join(f"{name!r}: {_lengths(r)}" for name, r in sizes.ranges.items())
    return f"{f', {fixed!r}' if fixed else ''}, dynamic={{{ranges}}}"


def _lengths(r: tuple[int, ...]) -> str:
    """Lengths as a range where they are one."""
    step = r[1] - r[0] if len(r) > 1 else 1
    found = range(r[0], r[-1] + 1, step)
    return (repr(found) if len(r) > 1 else str(r[0])) if tuple(found) == r else repr(r)


def _left_out(state: SessionState) -> str:
    graph = state.opened.graph
    without = () if graph is None or graph.origin is None else graph.origin.without
    return f", without={list(without)!r}" if without else ""
