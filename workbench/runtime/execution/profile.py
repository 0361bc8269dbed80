"""Where the time of a network goes: one row per call, against what the machine can do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas

from workbench import markup as m
from workbench.ir.product_type import PLAIN
from workbench.runtime.buffers import Array
from workbench.runtime.machine.above_roofline import MARK, marked, why_above
from workbench.runtime.machine.measured_roofline import MEMORY, Roofs
from workbench.runtime.networks.data_levels import data_levels
from workbench.runtime.networks.execution_plan import CallPlan, ExecutablePlan, HostCall
from workbench.safe_text import shown_legibly

#: Rows that are printed: a screen.
SHOWN = 40
_NEEDED = {"call", "ms", "share", "gflops", "bytes", "intensity", "roof", "roof_share", "note", "product"}


class Profile(pandas.DataFrame):
    """One row per call of a network, in execution order.

    Columns: ``call`` (name), ``task``, ``ms`` (median), ``min_ms``, ``share`` (of the sum of the medians), ``gflops``
    (NaN where the call has no floating-point operations), ``flops``, ``tuned``, ``note`` (why a call is not compiled
    and cannot be tuned, else ""), ``bytes`` (what it has to read and write at least, weights included), ``gbytes``
    (these per second, in GB/s), ``intensity`` (operations per byte), ``roof`` ("compute", or the level that its data
    come from, "L2", "L3" or "memory": which of the two allows less at this intensity), ``roof_share`` (the speed over
    what that roof allows; a level that was not measured limits nothing), ``product`` (element type
    of the numbers that it multiplies and sums: the compute roof is that of their instruction); where asked for,
    ``alone_ms`` (median of the same call over and over; NaN for a Python step).

    `attrs` holds the totals: ``network``, ``threads``, ``runs``, ``calls_ms`` (sum of the medians), ``timed_ms``
    (median of the runs that the calls were timed in; more than the sum where runs are disturbed, each in another
    call), ``whole_ms`` (median of runs without a clock between the calls, in turns with the others) and
    ``whole_spread`` (distance of their quartiles over it), ``alone_ms``
    (sum of the calls' own, or None), ``flops``, ``bytes``, and the roofs ``peak_gflops`` (of float32), ``peaks`` (of
    narrower types that have an instruction, by type), ``level_gbytes`` (reading, of each level of memory that was
    measured), ``working_set`` (bytes).

    Notes
    -----
    The roofs of memory are those of the roofline of a schedule: what L2, L3 and memory deliver. Where an operand comes
    from is a model (`runtime.networks.data_levels`): a cache holds what was touched last. A call whose operands lie
    nearer may exceed its roof. A Winograd convolution is counted as a direct one. Without roofs these columns are
    empty. What is derived from a profile is a plain data frame.
    """

    @property
    def _constructor(self) -> Callable[..., pandas.DataFrame]:
        return pandas.DataFrame

    @shown_legibly
    def __repr__(self) -> str:
        if not set(self.columns) >= _NEEDED:  # columns were removed in place
            return super().__repr__()
        table = pandas.DataFrame(self[["call", "ms", "share", "gflops", "gbytes", "intensity", "roof", "roof_share"]])
        table["roof"] = [_roof(row) for row in self.to_dict("records")]
        table["roof_share"] = [f"{x:.4g}{MARK if x > 1.0 else ''}" if x == x else "-" for x in table["roof_share"]]
        text = table.to_string(max_rows=SHOWN, max_colwidth=48, float_format=lambda x: f"{x:.4g}", na_rep="-")
        return "\n".join([*summary(self), "", text, *_footnotes(self)])

    __str__ = __repr__

    def _repr_html_(self) -> str | None:
        if not pandas.get_option("display.notebook_repr_html"):
            return None
        return profile_html(self) if set(self.columns) >= _NEEDED else self.to_html(max_rows=60, max_cols=20)

    def to_json_rows(self) -> list[dict[str, Any]]:
        """Return the rows as plain dictionaries, None for what is not known."""
        rows = self.astype(object).where(self.notna(), None).to_dict("records")
        return [{str(k): v for k, v in row.items()} for row in rows]


def call_bytes(call: CallPlan | HostCall) -> int:
    """What a call has to move at least: as the compiler counted it, else the sizes of its distinct operands."""
    if isinstance(call, HostCall):
        return sum({slot: spec.nbytes for slot, spec in (*call.args, *call.results)}.values())
    if call.traffic:
        return call.traffic
    sizes = (math.prod(p.shape) * np.dtype(p.dtype).itemsize for p in call.code.params)
    return sum(dict(zip(call.args, sizes, strict=True)).values())


def make_profile(
    plan: ExecutablePlan,
    stamps: Array,
    whole_ms: Sequence[float],
    threads: int,
    limit: Roofs | None,
    alone: Sequence[Sequence[float]] | None = None,
) -> Profile:
    """Put a profile together.

    Parameters
    ----------
    plan : ExecutablePlan
    stamps : array of int64, shape (runs, calls + 1)
        Nanoseconds before each call and after the last one.
    whole_ms : sequence of float
        Times of whole runs without stamps.
    threads : int
    limit : Roofs or None
        What calls are compared with; None leaves that out.
    alone : sequence of sequences of float, optional
        Times of each call over and over.
    """
    calls = plan.calls
    spent = np.diff(stamps, axis=1) * 1e-6
    median, fastest = np.median(spent, axis=0), np.min(spent, axis=0)
    flops = np.array([c.flops for c in calls], np.float64)
    moved = np.array([call_bytes(c) for c in calls], np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        products = [c.product if isinstance(c, CallPlan) else PLAIN for c in calls]
        against = _against(limit, flops, moved, _parts(plan, limit), median, products)
        frame = Profile(
            {
                "call": [c.name for c in calls],
                "task": [c.task for c in calls],
                "ms": median,
                "min_ms": fastest,
                "share": median / max(float(median.sum()), 1e-12),
                "gflops": np.where(flops > 0, flops / (median * 1e6), np.nan),
                "flops": [c.flops for c in calls],
                "tuned": [c.tuned for c in calls],
                "note": [
                    _note(c, roof, share, limit)
                    for c, roof, share in zip(calls, against["roof"], against["roof_share"], strict=True)
                ],
                "bytes": moved.astype(np.int64),
                "gbytes": moved / (median * 1e6),
                "intensity": np.where(moved > 0, flops / moved, np.nan),
                **against,
                "product": products,
            }
        )
    frame.attrs |= _totals(plan, spent, whole_ms, threads, limit)
    frame.attrs["alone_ms"] = None
    if alone is not None:
        frame["alone_ms"] = [float(np.median(times)) if times else math.nan for times in alone]
        frame.attrs["alone_ms"] = float(frame["alone_ms"].sum())
    return frame


def _totals(
    plan: ExecutablePlan, spent: Array, whole_ms: Sequence[float], threads: int, limit: Roofs | None
) -> dict[str, Any]:
    """What is known of the whole network; `spent` are milliseconds, a row for each run and a column for each call."""
    return {
        "network": plan.name,
        "threads": threads,
        "runs": len(spent),
        "calls_ms": float(np.median(spent, axis=0).sum()),
        "timed_ms": float(np.median(spent.sum(axis=1))),
        "whole_ms": float(np.median(whole_ms)),
        "whole_spread": relative_spread(np.asarray(whole_ms)),
        "flops": sum(c.flops for c in plan.calls),
        "bytes": sum(map(call_bytes, plan.calls)),
        "peak_gflops": limit.gflops if limit else None,
        "peaks": limit.peaks if limit else {},
        "level_gbytes": _gbytes(limit) if limit else {},
        "working_set": plan.working_set,
    }


def relative_spread(times: Array) -> float | None:
    """Distance of the quartiles of some runs over their median; None for fewer than two."""
    if len(times) < 2:
        return None
    low, middle, high = np.quantile(times, (0.25, 0.5, 0.75))
    return float((high - low) / middle) if middle else 0.0


def _gbytes(limit: Roofs) -> dict[str, float]:
    """What each level delivers, where that is known."""
    known = {level: found.gbytes for level, found in limit.levels.items() if found.gbytes is not None}
    return known if limit.levels else {MEMORY: limit.gbytes}


def _parts(plan: ExecutablePlan, limit: Roofs | None) -> list[dict[str, float]]:
    """Which part of a call's data comes from which level."""
    if limit is None or not limit.levels:
        return [{MEMORY: 1.0}] * len(plan.calls)
    caches = {level: found.capacity for level, found in limit.levels.items() if level != MEMORY}
    return data_levels(plan, caches)


def _against(
    limit: Roofs | None,
    flops: Array,
    moved: Array,
    parts: Sequence[Mapping[str, float]],
    ms: Array,
    products: Sequence[str],
) -> dict[str, Any]:
    """Which roof each call is under, and how near it comes."""
    if limit is None:
        return {"roof": [""] * len(ms), "roof_share": np.full(len(ms), np.nan)}
    peaks = np.array([limit.peaks.get(p, limit.gflops) for p in products])
    arithmetic = flops / (peaks * 1e6)  # milliseconds, at best
    known = _gbytes(limit)
    reading = [
        {level: nbytes * part / (known[level] * 1e6) for level, part in of.items() if level in known}
        for nbytes, of in zip(moved.tolist(), parts, strict=True)
    ]
    memory = np.array([sum(of.values()) for of in reading])
    level = [max(of, key=lambda name: (of[name], name), default="") for of in reading]
    least = np.maximum(arithmetic, memory)
    return {
        "roof": np.where(least > 0, np.where(arithmetic >= memory, "compute", level), ""),
        "roof_share": np.where(least > 0, least / ms, np.nan),
    }


def _note(call: CallPlan | HostCall, roof: str, share: float, limit: Roofs | None) -> str:
    """Why a call cannot be tuned, and why one is faster than its roof allows; empty for others."""
    fixed = isinstance(call, HostCall) or call.fixed
    what = call.reason if isinstance(call, HostCall) else "a runtime kernel"
    return "; ".join(filter(None, [f"not tunable: {what}" if fixed else "", _why_above(call, roof, share, limit)]))


def _why_above(call: CallPlan | HostCall, roof: str, share: float, limit: Roofs | None) -> str:
    if not share > 1.0:
        return ""
    if roof != "compute":
        return f"faster than {roof} delivers: its data come from a nearer cache than the model of the caches says"
    if isinstance(call, HostCall):
        return why_above(share, None, (), 1)
    own = limit is not None and call.product in limit.peaks
    return why_above(share, call.tile, () if own else [p.dtype for p in call.code.params], 1)


def _footnotes(frame: pandas.DataFrame) -> list[str]:
    """Say of the calls above their roofs why they are."""
    above = frame[frame["roof_share"] > 1.0]
    return [
        f"{MARK} {'call' if len(rows) == 1 else 'calls'} {', '.join(map(str, rows.index))}: {note}"
        for note, rows in above.groupby("note", sort=False)
    ]


def summary(frame: pandas.DataFrame) -> list[str]:
    """Return the totals as lines of text."""
    a: Mapping[Any, Any] = frame.attrs
    lines = [
        f"{m.clean(a['network'])}: {m.plural(len(frame), 'call')}, {m.plural(a['threads'], 'thread')}, "
        f"median of {m.plural(a['runs'], 'run')}",
        f"  calls {a['calls_ms']:.4g} ms, whole run {a['whole_ms']:.4g} ms ({a['timed_ms']:.4g} ms timed by call), "
        f"{a['flops'] / max(a['whole_ms'], 1e-9) / 1e6:.4g} GFLOP/s",
    ]
    if a["alone_ms"]:
        ratio = float(frame["ms"][frame["alone_ms"].notna()].sum()) / a["alone_ms"]
        lines.append(f"  each call alone, over and over, {a['alone_ms']:.4g} ms; in the network {ratio:.2f} times that")
    if a["peak_gflops"]:
        at_best = float((frame["roof_share"] * frame["ms"]).sum())  # milliseconds if every call were at its roof
        share = at_best / max(a["whole_ms"], 1e-9)
        lines.append(
            f"  roofs {_peaks(a)}; {_delivered(a)}; working set {m.size(a['working_set'])}; at them {at_best:.4g} ms, "
            f"{share:.0%} of the run"
        )
    return lines


def _peaks(a: Mapping[Any, Any]) -> str:
    """``497 GFLOP/s (float32), 7690 (bfloat16)``; one peak alone goes without its type."""
    rest = [f"{m.digits(peak)} ({dtype})" for dtype, peak in a["peaks"].items()]
    return ", ".join([f"{m.digits(a['peak_gflops'])} GFLOP/s{' (float32)' if rest else ''}", *rest])


def _delivered(a: Mapping[Any, Any]) -> str:
    """``L2 120, L3 60, memory 20 GB/s``."""
    return f"{', '.join(f'{level} {gbytes:.4g}' for level, gbytes in a['level_gbytes'].items())} GB/s"


def profile_html(frame: pandas.DataFrame) -> str:
    """Return what a notebook shows of a profile."""
    a: Mapping[Any, Any] = frame.attrs
    head = m.heading(
        "Profile", a["network"], m.plural(len(frame), "call"), m.plural(a["threads"], "thread"),
        f"{m.milliseconds(a['whole_ms'])} for a run", f"{m.milliseconds(a['calls_ms'])} for the sum of the calls",
    )  # fmt: skip
    columns = (
        m.Column("#", number=True), m.Column("Call"), m.Column("Time", number=True), m.Column(""),
        m.Column("GFLOP/s", number=True), m.Column("Moved", number=True), m.Column("Operations/byte", number=True),
        m.Column("Roof"), m.Column("Reached", number=True), m.Column("Note"),
    )  # fmt: skip
    longest = float(frame["share"].max()) if len(frame) else 1.0
    rows = [_row(k, r, longest) for k, r in enumerate(frame.head(SHOWN).to_dict("records"))]
    parts: list[object] = [head]
    if a["peak_gflops"]:
        size = m.faint(f" a run touches {m.size(a['working_set'])}")
        parts.append(m.label("roofs", f"{_peaks(a)}; {_delivered(a)}", size))
    return m.page(*parts, m.table(columns, m.cut(rows, SHOWN, "calls", len(frame))))


def _row(number: int, row: Mapping[Any, Any], longest: float) -> list[object]:
    reached = row["roof_share"]
    return [
        number, m.text(row["call"], 70), m.milliseconds(row["ms"]), m.bar(row["share"] / longest if longest else None),
        m.digits(row["gflops"]) if row["flops"] else "", m.size(row["bytes"]),
        m.digits(row["intensity"]) if row["flops"] else "", _roof(row),
        marked(reached) if math.isfinite(reached) else "",
        m.text(row["note"] or ("" if row["tuned"] else "default schedule"), 60 if not reached > 1.0 else 200),
    ]  # fmt: skip


def _roof(row: Mapping[Any, Any]) -> str:
    """``compute, bfloat16``: a roof of another type than float32 says which."""
    named = row["roof"] == "compute" and row["product"] != PLAIN
    return f"{row['roof']}, {row['product']}" if named else row["roof"]
