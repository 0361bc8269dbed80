"""What is open and what can be done with it: said once, when a front end comes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workbench import __version__
from workbench.session import registry as declare
from workbench.session.export.exporters import EXPORTERS
from workbench.session.registry import PANELS, SliceContext
from workbench.session.schedule_view import applicable_primitives
from workbench.session.state.session_state import SessionState
from workbench.session.state.statistics import rounded
from workbench.session.tuning_run import steering_forms as steering
from workbench.target import Target
from workbench.target_kinds import target_kinds


@declare.slice_("meta")
def meta(context: SliceContext) -> dict[str, Any]:
    """Return the slice `meta`."""
    state = context.state
    peaks = tuple(state.peaks.items())
    made_of = (state.opened.title, state.peak_of_all, state.peak_measured, peaks, len(state.infos))
    return context.cache["meta"].of(made_of, lambda: _meta(state))


def _meta(state: SessionState) -> dict[str, Any]:
    target, there = state.target, panels(state)
    caches = (("L1", target.l1_bytes), ("L2", target.l2_bytes), ("L3", target.l3_bytes))
    return {
        "version": __version__, "kind": state.opened.kind, "title": state.opened.title, "target": target_text(target),
        "threads": target.threads, "peak_gflops": rounded(state.peak_of_all),
        "peak_measured": state.peak_measured, "peaks": {p: rounded(peak) for p, peak in state.peaks.items()},
        "caches": [{"name": name, "bytes": size} for name, size in caches if size], "line": target.line_bytes,
        "primitives": applicable_primitives.primitives(), "orders": steering.forms(), "panels": there,
        "exports": [one.describe(name) for name, one in EXPORTERS.items() if one.label],
        "tables": _titles(declare.table, there), "drawings": _titles(declare.drawing, there),
    }  # fmt: skip


def _titles(names: Iterable[str], there: Sequence[str]) -> list[dict[str, str]]:
    """Name, by their titles, the tables or drawings that have something in them; one that is no panel always has."""
    titles = [(PANELS[name].title if name in PANELS else name.capitalize(), name) for name in names]
    return [{"name": name, "label": title} for title, name in sorted(titles) if name in there or name not in PANELS]


def target_text(target: Target) -> str:
    """``x86-64 · 2 threads · AVX-512``; of a device, its kind with what makes it another one: ``vta · 1x16x16``."""
    kind = target_kinds[target.kind]
    if not kind.processor:
        chosen = {o.name: target.option(o.name) for o in kind.options}
        own = [
            str(value) if o.name in kind.extensions else f"{o.name} {value}"
            for o in kind.options
            if (value := chosen[o.name]) != o.usual(chosen) or o.name in kind.extensions
        ]
        return " · ".join([kind.name, *own])
    isa = target.isa
    known_isa = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("avx", "AVX"), ("sve", "SVE"), ("neon", "NEON"))
    vectors = next((text for name, text in known_isa if name in isa), "")
    threads = f"{target.threads} thread{'s' if target.threads != 1 else ''}"
    arch = {"x86_64": "x86-64"}.get(target.arch, target.arch)
    language = "" if kind.name == "llvm" else kind.name.upper()
    return " · ".join(part for part in (arch, language, threads, vectors) if part)


def panels(state: SessionState) -> list[str]:
    """Name the panels that have content, in their places."""
    alone = state.opened.kind in ("task", "schedule") and len(state.infos) == 1
    program = any(t.task for t in state.infos)
    graph = state.opened.graph
    there = {"": True, "model": graph is not None, "tasks": not alone, "program": program}
    there["lengths"] = graph is not None and bool(graph.dynamic)
    return sorted((name for name, one in PANELS.items() if there[one.needs]), key=lambda name: PANELS[name].place)
