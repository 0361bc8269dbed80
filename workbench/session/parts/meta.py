"""What is open and what can be done with it: said once, when a front end comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workbench import __version__
from workbench.session import palette, steering
from workbench.session.registry import Look, slice_
from workbench.session.stats import rounded

if TYPE_CHECKING:
    from workbench.session.desk import Desk
    from workbench.target import Target

PANELS = ("graph", "tasks", "stages", "nest", "accesses", "palette", "variants", "code", "diff", "tuning", "chart")
"""Parts of a workbench that can be shown on their own."""


@slice_("meta")
def meta(look: Look) -> dict[str, Any]:
    """Return the slice `meta`."""
    desk = look.desk
    found: dict[str, Any] = look.kept.of(
        "meta", (desk.peak_of_all, desk.peak_measured, len(desk.infos)), lambda: _meta(desk)
    )
    return found


def _meta(desk: Desk) -> dict[str, Any]:
    target = desk.target
    caches = (("L1", target.l1_bytes), ("L2", target.l2_bytes), ("L3", target.l3_bytes))
    return {
        "version": __version__, "kind": desk.opened.kind, "title": desk.opened.title, "target": target_text(target),
        "threads": target.threads, "peak_gflops": rounded(desk.peak_of_all),
        "peak_measured": desk.peak_measured,
        "caches": [{"name": name, "bytes": size} for name, size in caches if size], "line": target.line_bytes,
        "primitives": palette.primitives(), "orders": steering.forms(), "panels": list(panels(desk)),
    }  # fmt: skip


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
    if desk.opened.kind in ("task", "schedule") and len(desk.infos) == 1:
        absent.add("tasks")
    if not any(t.task for t in desk.infos):
        absent |= {"stages", "nest", "accesses", "palette", "variants", "code", "diff", "tuning"}
    yield from (name for name in PANELS if name not in absent)
