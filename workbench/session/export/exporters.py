"""What can be taken away from a session: a script, the steps, tables, drawings. Each is a decorated function.

An *exporter* looks at the session in its own thread and returns the work, a function without arguments that makes the
file and may run anywhere. The packages above add exporters of their own: a page that needs a front end, for example.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench import __version__
from workbench.errors import UsageError
from workbench.ir.text import printer
from workbench.log.conditions import constants_in
from workbench.registry import Registry
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.schedule import Schedule
from workbench.schedule.trace import script
from workbench.session.export.drawings import draw
from workbench.session.export.files import File, written
from workbench.session.export.tables import csv_text
from workbench.session.registry import Host, answer, drawing, table
from workbench.session.state.history import open_parts
from workbench.session.state.results import Result
from workbench.session.state.session_state import SessionState
from workbench.session.state.statistics import rounded
from workbench.session.state.told_times import told

MEASURED_WITH = ("repeat", "min_repeat_ms", "flush_cache", "constants", "budget_ms", "seed")
"""Options that a number depends on; the others only say for how long to wait."""


PNG = b"\x89PNG\r\n\x1a\n"

Work = Callable[[], File]
Prepare = Callable[[Host, Mapping[str, Any]], Work]


@dataclass(frozen=True, slots=True)
class Exporter:
    """A declared export, and what a dialog says of it.

    Attributes
    ----------
    prepare : callable
        Looks at the session in its own thread, given the host and the arguments of the question "export".
    label, about : str
        Text of the button and what stands beside it, where ``{step}`` is the variant that was chosen. Without a label
        the dialog does not list it: it has controls of its own.
    needs : str
        What has to be open: "schedule" or "model"; "" for anything.
    group : str
        Exports of one group stand in one line, under its name.
    """

    prepare: Prepare
    label: str = ""
    about: str = ""
    needs: str = ""
    group: str = ""

    def describe(self, name: str) -> dict[str, str]:
        """Return what a dialog needs to know."""
        return {"name": name, "label": self.label, "about": self.about, "needs": self.needs, "group": self.group}


EXPORTERS: Registry[Exporter] = Registry("export", "exports", "export.what")


def exporter(name: str, **dialog: str) -> Callable[[Prepare], Prepare]:
    """Declare an exporter: a function of the host and the arguments, with what a dialog says, see `Exporter`."""

    def declare(function: Prepare) -> Prepare:
        EXPORTERS[name] = Exporter(function, **dialog)
        return function

    return declare


def prepare(host: Host, args: Mapping[str, Any]) -> Work:
    """Look at what is to be exported, in the session's thread; the work that is returned makes the file.

    Raises
    ------
    UsageError
        "export.what" for something that cannot be exported.
    """
    return EXPORTERS.find(args.get("what")).prepare(host, args)


def kept(work: Work) -> Callable[[], dict[str, str]]:
    """Return work that also writes the file, into the folder where the kernel works: that of its notebook."""

    def write() -> dict[str, str]:
        file = work()
        path = written(file, Path(".")).absolute()
        beside = " and ".join(path.with_suffix(suffix).name for suffix in file.beside)
        return {"name": path.name, "path": str(path), "beside": beside, "note": file.note}

    return write


# ----- what is exported


@dataclass(frozen=True, slots=True)
class Variant:
    """A state of the schedule on show, with its row of the slice `history`."""

    schedule: Schedule
    row: Mapping[str, Any]

    @property
    def label(self) -> str:
        """``v5``, or ``trial-90`` of one that is no variant."""
        return f"trial-{self.row['trial']}" if self.row["id"] is None else f"v{self.row['id']}"


def variant(host: Host, node: object = None) -> Variant:
    """Return a variant by its number; that on show for None, the best trial of the task on show for "tuner".

    Raises
    ------
    UsageError
        "session.variant" when there is none of that number, "session.no_program", "usage.nothing_measured".
    """
    state = host.state
    if node == "tuner" and state.index is not None:
        schedule, best = state.tuned(state.index)
        found = told(Result.of_record(best), best, state.stats.of(best.task_key))
        timed = {"ms": rounded(found.ms), "spread": rounded(found.spread, 3), "doubt": found.doubt()}
        return Variant(schedule, {"id": None, "name": "", "status": best.status, "trial": best.trial, **timed})
    shown = state.variant(node)
    rows = state.history.rows(state.tree, state.doing)
    return Variant(shown.schedule.copy(), next(row for row in rows if row["id"] == shown.id))


def stem(host: Host, *parts: str) -> str:
    """Name of a file without its ending: what is open, the task where there are several, and `parts`."""
    state = host.state
    names = [state.opened.title]
    if state.index is not None and len(state.infos) > 1:
        names.append(state.infos[state.index].name)
    return slug(".".join([*(slug(name) for name in names), *parts]))


def slug(text: str) -> str:
    """Letters, digits, dots and dashes, at most 100 of them.

    >>> slug("conv2d 3x3 16→64 @55x55 + bias")
    'conv2d-3x3-16-64-55x55-bias'
    """
    plain = unicodedata.normalize("NFKD", text.removesuffix(".onnx").removesuffix(".jsonl"))
    return re.sub(r"[^A-Za-z0-9._]+", "-", plain).strip("-.")[:100] or "workbench"


# ----- exporters


@exporter("script", label="Python script", about="rebuilds {step} and measures it again", needs="schedule")
def _script(host: Host, args: Mapping[str, Any]) -> Work:
    """A Python script that rebuilds a variant and measures it again."""
    found, target = variant(host, args.get("node")), str(host.state.target)
    title, name, options = host.state.opened.title, stem(host), _options(host.state, found.row)

    def work() -> File:
        return File(f"{name}.{found.label}.py", "text/x-python", _script_text(found, target, title, options))

    return work


def _options(state: SessionState, row: Mapping[str, Any]) -> dict[str, object]:
    """Return the options that a variant's number was measured with: its trial's, else those of measuring by hand."""
    options: dict[str, object] = {name: getattr(MeasureOptions(), name) for name in MEASURED_WITH}
    options["constants"] = state.constants
    if row["trial"] is None or state.index is None:
        return options
    key, stats = state.infos[state.index].key, state.stats
    record = next((r for r in reversed(stats.records) if r.task_key == key and r.trial == row["trial"]), None)
    told = None if record is None else stats.of(key).of(record)
    if record is not None and told is not None and row["ms"] == rounded(told.ms):  # not measured by hand since
        options |= {"seed": record.seed, "flush_cache": record.caches == "flushed"}
        options["constants"] = constants_in(record.caches)
    return options


def _script_text(found: Variant, target: str, title: str, options: Mapping[str, object]) -> str:
    schedule, row = found.schedule, found.row
    expected = _expected(row)
    name = f" ({row['name']})" if row["name"] else ""
    about = [f"{title}: {found.label}{name}, written by the Schedule Workbench {__version__}."]
    holes = open_parts(schedule)
    if holes:
        about.append(f"Left open, so that there is nothing to measure yet: {', '.join(holes)}. wb.tune(s) fills them.")
    elif expected:
        about.append(f"Measured there: {expected}.")
        about += [f"Timed in turns: {row['than']}."] if row.get("than") else []
    elif row["status"] not in ("", "ok", "queued", "measuring"):
        about.append(f"Measuring it there failed: {row['status'].replace('_', ' ')}.")
    return script(
        schedule.trace,
        schedule.base,
        schedule.source,
        target=target,
        about=about,
        measure=None if holes else options,
        recorded=None if row["ms"] is None else (row["ms"], row["spread"], (row.get("doubt") or {}).get("text", "")),
    )


def _expected(row: Mapping[str, Any]) -> str:
    if row["ms"] is None:
        return ""
    if doubt := row.get("doubt"):
        least = "" if doubt["at_least"] is None else f"at least {doubt['at_least']:.5g} ms, "
        return f"{least}{row['ms']:.5g} ms seen ({doubt['text']})"
    spread = "" if row["spread"] is None else f", spread {100 * row['spread']:.2g} %"
    return f"{row['ms']:.5g} ms{spread}"


@exporter("trace", label="Steps", about="JSON: the steps of {step}, and what every variant measured", needs="schedule")
def _trace(host: Host, args: Mapping[str, Any]) -> Work:
    """The steps of a variant as JSON, with what they are about and all variants beside it."""
    found, state = variant(host, args.get("node")), host.state
    info = state.infos[state.index or 0]
    rows, target, name = state.history.rows(state.tree, state.doing), str(state.target), stem(host)
    best = state.history.best.get(state.index or 0)
    kept = ("id", "parent", "edge", "name", "star", "by", "text", "ms", "spread", "status", "trial", "doubt", "same",
            "than")  # fmt: skip

    def work() -> File:
        value = {
            "schema": 1, "workbench": __version__, "task": info.name, "key": info.key, "target": target,
            "func": printer.to_text(found.schedule.base), "variant": found.row["id"], "best": best,
            "trace": found.schedule.to_json(), "variants": [{k: r[k] for k in kept if k in r} for r in rows],
        }  # fmt: skip
        return File(f"{name}.{found.label}.json", "application/json", json.dumps(value, indent=1, ensure_ascii=False))

    return work


@exporter("csv")
def _csv(host: Host, args: Mapping[str, Any]) -> Work:
    """A table as CSV: the variants, the tasks, the trials or the loop nest."""
    name = args.get("panel") or "variants"
    make = table.find(name)
    slices, records, called = host.shown(), tuple(host.state.stats.records), stem(host, str(name))

    def work() -> File:
        return File(f"{called}.csv", "text/csv", csv_text(make(slices, records)))

    return work


@exporter("svg")
def _svg(host: Host, args: Mapping[str, Any]) -> Work:
    """A panel as a drawing; that of a chart is made by a browser, which gives it."""
    if isinstance(data := args.get("data"), str):
        given = stem(host, slug(str(args.get("panel") or "chart")))
        return lambda: File(f"{given}.svg", "image/svg+xml", data)
    panel, theme, slices = args.get("panel") or "nest", args.get("theme") or "light", host.shown()
    drawing.find(panel)
    name = stem(host, panel)
    graph = answer(host, "graph", {"level": "kernels"})[0] if panel == "graph" else None

    def work() -> File:
        shown = slices if graph is None else {**slices, "graph": graph()}
        return File(f"{name}.svg", "image/svg+xml", draw(shown, panel, theme))

    return work


@exporter("png")
def _png(host: Host, args: Mapping[str, Any]) -> Work:
    """A drawing in pixels, which a browser has made and gives as base64."""
    data = args.get("data")
    if not isinstance(data, str):
        hint = "export 'svg', or press PNG in the browser's export"
        raise UsageError("export.png", "A drawing becomes pixels in a browser only", (), hint)
    name = stem(host, slug(str(args.get("panel") or "drawing")))
    try:
        pixels = base64.b64decode(data, validate=True)
    except binascii.Error:
        pixels = b""
    if not pixels.startswith(PNG):
        raise UsageError("export.png", "These are no pixels of a PNG file")
    return lambda: File(f"{name}.png", "image/png", write=lambda path: path.write_bytes(pixels))
