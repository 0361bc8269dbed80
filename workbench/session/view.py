"""The slices of a snapshot, computed from a desk. What costs something is kept until what it depends on changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workbench import __version__
from workbench.ir.stmt import blocks
from workbench.tune.events import Snapshot as TuningSnapshot
from workbench.tune.events import TaskRow
from workbench.tune.weights import shares, total

from . import palette, steering
from .desk import NO_PROGRAM_HINT
from .history import View, open_parts
from .stats import rounded
from .tuning import NONE

if TYPE_CHECKING:
    from workbench.ir.func import Func
    from workbench.target import Target

    from .desk import Desk

_ALL = ("graph", "tasks", "stages", "nest", "palette", "history", "tuning", "curve")


class Slices:
    """Computes slices; a value that did not change is the same object as before."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._kept: dict[str, tuple[tuple[Any, ...], Any]] = {}

    def all(self) -> dict[str, Any]:
        """Return every slice."""
        desk, view = self._desk, self._desk.view()
        tuning = desk.watch.tuning.snapshot() if desk.watch is not None else None
        nest = self._nest(view)
        self._choose(view, nest)
        desk.stats.follow(tuning.rows if tuning is not None else ())
        return {
            "meta": self._keep("meta", (desk.peak,), lambda: meta(desk)),
            "graph": self._keep("graph", (), self._graph),
            "tasks": tasks(desk, tuning),
            "head": head(desk, view),
            "stages": self._stages(view),
            "nest": nest,
            "selection": {"id": desk.selected},
            "palette": self._palette(view, nest),
            "history": history(desk, view),
            "tuning": tuning_slice(desk, tuning, view),
            "steering": steering.steering(desk, tuning),
            "status": status(desk, view),
        }

    def _keep(self, name: str, of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return what was made of the same objects before, else make it."""
        old = self._kept.get(name)
        if old is None or any(a is not b and not _same(a, b) for a, b in zip(old[0], of, strict=True)):
            old = self._kept[name] = (of, make())
        return old[1]

    def _graph(self) -> Any:
        from workbench.analysis import model_graph

        opened = self._desk.opened
        if opened.graph is None:
            return None
        return model_graph(opened.graph, [t.task for t in opened.tasks if t.task is not None])

    def _stages(self, view: View | None) -> Any:
        from workbench.analysis import stage_graph

        return None if view is None else self._keep("stages", (func := view.schedule.func,), lambda: stage_graph(func))

    def _nest(self, view: View | None) -> Any:
        if view is None:
            return None
        func, target = view.schedule.func, self._desk.target
        return self._keep("nest", (func,), lambda: nest_slice(func, target))

    def _palette(self, view: View | None, nest: Any) -> Any:
        if view is None:
            return None
        func, selected = view.schedule.func, self._desk.selected
        return self._keep("palette", (func, selected), lambda: palette.palette(view.schedule, selected, nest["rows"]))

    def _choose(self, view: View | None, nest: Any) -> None:
        """Make sure that what is selected exists."""
        desk = self._desk
        if view is None:
            desk.selected = ""
            return
        there, old = known(nest), desk.selected
        if desk.fresh or (old and old not in there):
            # What was selected at this state before; the loops that the step made; those that `old` came of or became.
            wanted = (desk.history.selected.get(view.key, ""), *desk.made, f"{old}.0", old.rpartition(".")[0])
            desk.selected = next((name for name in wanted if name in there), starting_row(nest))
        desk.fresh, desk.made = False, ()
        desk.history.selected[view.key] = desk.selected


def nest_slice(func: Func, target: Target) -> dict[str, Any]:
    """Return the slice `nest`: the rows, the axes of every block, and how a buffer lies where that is special."""
    from workbench.analysis import nest_rows

    axes = {b.name: [it.name for it in b.iters] for b, _ in blocks(func.body)}
    stored = {b.name: said for b in func.buffers if (said := palette.storage(b))}
    return nest_rows(func, target).to_json() | {"axes": axes, "storage": stored}


def _same(a: object, b: object) -> bool:
    return isinstance(a, str | int | float) and a == b


def known(nest: dict[str, Any]) -> set[str]:
    """Return everything that can be selected."""
    return {r["id"] for r in nest["rows"]} | set(nest["buffers"])


def starting_row(nest: dict[str, Any]) -> str:
    """Return the row to select first: the outermost loop, of more than one iteration, around the most arithmetic."""
    rows = {r["id"]: r for r in nest["rows"]}
    stmts = [r for r in rows.values() if r["kind"] == "stmt"]
    if not stmts:
        return ""
    row = max(stmts, key=lambda r: (r["flops"] or 0, r["bytes"] or 0))
    chain = [row]
    while (up := chain[-1]["parent"]) is not None:
        chain.append(rows[up])
    loops = [r["id"] for r in reversed(chain) if r["kind"] == "loop" and r["extent"] != 1]
    return loops[0] if loops else str(row["id"])


def meta(desk: Desk) -> dict[str, Any]:
    """Return the slice `meta`."""
    target = desk.target
    caches = (("L1", target.l1_bytes), ("L2", target.l2_bytes), ("L3", target.l3_bytes))
    return {
        "version": __version__, "kind": desk.opened.kind, "title": desk.opened.title, "target": target_text(target),
        "threads": target.threads, "peak_gflops": rounded(peak(desk)),
        "caches": [{"name": name, "bytes": size} for name, size in caches if size],
        "primitives": palette.primitives(), "orders": steering.forms(), "panels": list(panels(desk)),
    }  # fmt: skip


def peak(desk: Desk) -> float | None:
    """Return the peak of all threads in GFLOP/s, where it is known."""
    return None if desk.peak is None else desk.peak * desk.target.threads


def target_text(target: Target) -> str:
    """``x86-64 · 2 threads · AVX-512``."""
    isa = target.isa
    known_isa = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("avx", "AVX"), ("sve", "SVE"), ("neon", "NEON"))
    vectors = next((text for name, text in known_isa if name in isa), "")
    threads = f"{target.threads} thread{'s' if target.threads != 1 else ''}"
    arch = {"x86_64": "x86-64"}.get(target.arch, target.arch)
    return " · ".join(part for part in (arch, threads, vectors) if part)


def panels(desk: Desk) -> Iterator[str]:
    """Name the panels that have content."""
    absent: set[str] = set()
    if desk.opened.graph is None:
        absent.add("graph")
    if desk.opened.kind in ("task", "schedule"):
        absent.add("tasks")
    if not any(t.task for t in desk.infos):
        absent |= {"stages", "nest", "palette", "history", "tuning"}
    yield from (name for name in _ALL if name not in absent)


def tasks(desk: Desk, tuning: TuningSnapshot | None) -> dict[str, Any]:
    """Return the slice `tasks`."""
    by_key = {r.key: r for r in tuning.rows} if tuning is not None else {}
    rows = [_task_row(desk, i, by_key.get(info.key)) for i, info in enumerate(desk.infos)]
    now = [(r["weight"], r["ms"]) for r in rows]
    for row, share in zip(rows, shares(now), strict=True):
        row["share"] = None if share is None else round(share, 4)
    untuned = total([(r["weight"], r["untuned_ms"]) for r in rows])
    return {"rows": rows, "total_ms": rounded(total(now)), "untuned_ms": rounded(untuned)}


def _task_row(desk: Desk, index: int, row: TaskRow | None) -> dict[str, Any]:
    info = desk.infos[index]
    stats = desk.stats.of(info.key)
    ms, _ = best(desk, index)
    word = row.state if row is not None else "measured" if ms is not None else ""
    return {
        "id": index, "key": info.key, "name": info.name, "weight": info.weight, "flops": info.flops, "ms": rounded(ms),
        "gflops": rounded(info.flops / (ms * 1e6)) if ms and info.flops else None, "trials": stats.trials,
        "failed": stats.failures.total(), "failures": dict(stats.failures), "untuned_ms": rounded(stats.untuned_ms),
        "share": None, "state": word, "reason": row.reason if row is not None else "", "delta": stats.delta,
        "spark": stats.spark, "spread": rounded(row.spread, 3) if row is not None else None,
        "compared": row.compared if row is not None else 0,
    }  # fmt: skip


def best(desk: Desk, index: int) -> tuple[float | None, str | None]:
    """Return the best latency of a task and who found it."""
    by_hand = desk.history.best(index)
    found = [
        (ms, by)
        for ms, by in (
            (by_hand.ms if by_hand is not None else None, "hand"),
            (desk.stats.best_ms(desk.infos[index].key), "tuner"),
        )
        if ms is not None
    ]
    return min(found, default=(None, None))


def head(desk: Desk, view: View | None) -> Any:
    """Return the slice `head`."""
    if desk.index is None:
        return None
    info = desk.infos[desk.index]
    result = desk.history.results.get(view.key) if view is not None else None
    best_ms, best_by = best(desk, desk.index)
    top, gflops = peak(desk), result.gflops if result is not None else None
    return {
        "task": desk.index, "name": info.name, "weight": info.weight, "flops": info.flops,
        "step": "" if view is None else f"v{view.at}", "ms": rounded(result.ms) if result else None,
        "spread": rounded(result.spread, 3) if result else None, "gflops": rounded(gflops),
        "peak_share": rounded(gflops / top, 4) if gflops and top else None,
        "best_ms": rounded(best_ms), "best_by": best_by,
        "holes": len(open_parts(view.schedule)) if view is not None else 0,
    }  # fmt: skip


def history(desk: Desk, view: View | None) -> dict[str, Any]:
    """Return the slice `history`."""
    rows = [] if view is None else desk.history.rows(view, desk.doing)
    at = 0 if view is None else view.at
    return {
        "rows": rows, "at": at, "can_undo": at > 0, "can_redo": at + 1 < len(rows), "can_back": desk.can_back,
        "auto": desk.auto,
    }  # fmt: skip


def tuning_slice(desk: Desk, snapshot: TuningSnapshot | None, view: View | None) -> dict[str, Any]:
    """Return the slice `tuning`."""
    if desk.watch is None or snapshot is None:
        out = {**NONE, **desk.stats.counts()}
    else:
        out = desk.watch.slice(snapshot)
    at_rest = desk.watch is None or not desk.watch.live
    if at_rest and view is not None and desk.index is not None:
        found = desk.stats.of(desk.infos[desk.index].key).best_ms
        shown = desk.history.results.get(view.key)
        out["best_ready"] = found is not None and (shown is None or shown.ms is None or found < shown.ms)
    return out


def status(desk: Desk, view: View | None) -> dict[str, Any]:
    """Return the slice `status`."""
    busy = ""
    for key, word in desk.doing.items():
        if word == "measuring":
            known_keys = view.keys if view is not None else ()
            busy = f"measuring v{known_keys.index(key)}" if key in known_keys else "measuring an earlier step"
            if desk.watch is not None and desk.watch.held:
                busy += "; tuning waits for it"
    log = desk.watch.tuning.log if desk.watch is not None else desk.log
    return {"busy": busy, "note": desk.note, "log": log or ""}


def note(level: str, text: str, code: str, hint: str = "", where: Sequence[str] = ()) -> dict[str, Any]:
    """Return a note of the status line."""
    return {"level": level, "text": text, "code": code, "hint": hint, "where": list(where)}


def first_note(desk: Desk) -> dict[str, Any] | None:
    """Return what has to be said about the subject at once."""
    if desk.opened.kind == "log" and not desk.infos:
        return note("info", "The log holds no trials", "log.empty", "tune first, or choose other rows of the table")
    if desk.opened.kind == "log":
        return note("info", "The log does not hold the program", "log.no_program", NO_PROGRAM_HINT)
    if missing := desk.target.missing_here():
        text = f"This machine cannot run code for this target: it lacks {', '.join(missing)}"
        return note("warn", text, "target.host", "schedules can be made, but not measured here")
    return None
