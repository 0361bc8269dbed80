"""Tables and the roofline figure of a finished run."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from .cases import CASES

Runs = dict[str, dict[str, list[dict[str, Any]]]]
"""Case -> library -> one entry per round: way -> figures."""


def best_way(rounds: list[dict[str, Any]]) -> tuple[str, list[float]]:
    """The way of a library with the least median over the rounds, and its times in milliseconds."""
    times = {way: [r[way]["median_ms"] for r in rounds] for way in rounds[0]}
    name = min(times, key=lambda w: statistics.median(times[w]))
    return name, times[name]


def rows(runs: Runs) -> list[dict[str, Any]]:
    """One row per case: ours, each library, the best of them, and how many times as fast as it we are."""
    out = []
    for case, libraries in runs.items():
        found = {lib: best_way(rounds) for lib, rounds in libraries.items() if rounds}
        medians = {lib: statistics.median(times) for lib, (_, times) in found.items()}
        peers = {lib: ms for lib, ms in medians.items() if lib != "ours"}
        if "ours" not in medians or not peers:
            continue
        best = min(peers, key=lambda lib: peers[lib])
        own = found["ours"][1]
        out.append({
            "case": case, "ours_ms": medians["ours"], "ours_min_ms": min(own), "ours_max_ms": max(own),
            "gflops": CASES[case].flops / medians["ours"] / 1e6, "peers_ms": peers, "best": best,
            "way": found[best][0], "best_min_ms": min(found[best][1]), "best_max_ms": max(found[best][1]),
            "ratio": peers[best] / medians["ours"],
            "error": max(r[w]["error"] for r in libraries["ours"] for w in r),
        })  # fmt: skip
    return out


def geometric_mean(values: list[float]) -> float:
    """Geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, values)) / len(values))


def table(found: list[dict[str, Any]]) -> str:
    """The ratios as text: above 1 we are ahead of the best library."""
    head = f"{'case':<26} {'ours ms':>9} {'min':>9} {'max':>9} {'GFLOP/s':>8}"
    lines = [f"{head}  {'best library':<24} {'ms':>9} {'ratio':>6} {'error':>8}"]
    for r in found:
        peer, theirs = f"{r['best']} ({r['way']})", r["peers_ms"][r["best"]]
        own = f"{r['ours_ms']:>9.4f} {r['ours_min_ms']:>9.4f} {r['ours_max_ms']:>9.4f} {r['gflops']:>8.1f}"
        lines.append(f"{r['case']:<26} {own}  {peer:<24} {theirs:>9.4f} {r['ratio']:>6.2f} {r['error']:>8.1e}")
    ratios = [r["ratio"] for r in found]
    if ratios:
        lines.append(
            f"geometric mean {geometric_mean(ratios):.3f}, least {min(ratios):.2f}, "
            f"ahead in {sum(x >= 1 for x in ratios)} of {len(ratios)}"
        )
    return "\n".join(lines)


def roofline(found: list[dict[str, Any]], peak_gflops: float, bandwidth: float, path: Path) -> None:
    """Write the roofline figure: ours and the best library, by arithmetic intensity (operations per byte moved once).

    `peak_gflops` and `bandwidth` (GB/s) draw the roof.
    """
    import plotly.graph_objects as go

    at = [CASES[r["case"]].flops / CASES[r["case"]].bytes for r in found]
    span = [min(at) / 2, peak_gflops / bandwidth, max(at) * 2]
    figure = go.Figure()
    figure.add_scatter(
        x=span, y=[min(peak_gflops, bandwidth * x) for x in span], mode="lines", name="roof", line={"color": "#888"}
    )
    names = [r["case"] for r in found]
    figure.add_scatter(x=at, y=[r["gflops"] for r in found], mode="markers", name="ours", text=names)
    theirs = [CASES[r["case"]].flops / r["peers_ms"][r["best"]] / 1e6 for r in found]
    labels = [f"{r['case']}: {r['best']}" for r in found]
    figure.add_scatter(
        x=at, y=theirs, mode="markers", name="best library", text=labels, marker={"symbol": "diamond-open"}
    )
    figure.update_xaxes(type="log", title="operations per byte")
    figure.update_yaxes(type="log", title="GFLOP/s")
    note = "operations of the direct algorithm, bytes from memory: Winograd and cached data may lie above the roof"
    figure.update_layout(template="plotly_white", title=f"Roofline of the suite<br><sup>{note}</sup>")
    figure.write_html(path, include_plotlyjs=True)
