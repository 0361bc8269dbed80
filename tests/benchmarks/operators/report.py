"""The table of ratios."""

from __future__ import annotations

import statistics
from typing import Any

OURS = ("ours", "tuned")
#: Ratio below which a case counts as behind.
BEHIND = 0.8


def ratios(row: dict[str, Any], who: str) -> dict[str, float]:
    """Time of each peer by ours."""
    ms = row["ms"]
    return {p: ms[p] / ms[who] for p in ms if p not in OURS} if who in ms else {}


def table_row(row: dict[str, Any], libraries: list[str]) -> str:
    """One case: milliseconds of everyone, the ratio to the best peer, steps in Python, what went wrong."""
    times = " ".join(f"{x[:5]} {row['ms'][x]:8.3f}" if x in row["ms"] else f"{x[:5]} {'–':>8}" for x in libraries)
    best = " ".join(f"{min(r.values()):6.2f}" if (r := ratios(row, w)) else f"{'–':>6}" for w in OURS if w in libraries)
    host = ",".join(dict.fromkeys(row.get("ours_facts", {}).get("host", ())))
    wrong = "; ".join(f"{k}: {v[:90]}" for k, v in row["errors"].items())
    return f"{row['case']:<46} {times}  ratio {best}  {f'host {host} ' if host else ''}{wrong}"


def summary(rows: list[dict[str, Any]], libraries: list[str]) -> str:
    """Geometric means, and what is behind."""
    lines = []
    for who in (w for w in OURS if w in libraries):
        each = {row["case"]: r for row in rows if (r := ratios(row, who))}
        if not each:
            continue
        best = {c: min(r.values()) for c, r in each.items()}
        means = [f"{p} {statistics.geometric_mean(r[p] for r in each.values() if p in r):.2f}"
                 for p in libraries if any(p in r for r in each.values())]  # fmt: skip
        behind = sorted((c for c in best if best[c] < BEHIND), key=lambda c: best[c])
        head = f"{who}: geometric mean {statistics.geometric_mean(best.values()):.2f} over the best of the peers"
        lines.append(f"{head} in {len(best)} of {len(rows)} cases ({', '.join(means)}); {len(behind)} below {BEHIND}")
        lines += [f"    {best[c]:5.2f}  {c}" for c in behind]
    failed = [r["case"] for r in rows if any(w in r["errors"] for w in OURS)]
    hosted = [r["case"] for r in rows if r.get("ours_facts", {}).get("host")]
    lines.append(f"no answer, or a wrong one, in {len(failed)}: {'; '.join(failed) or 'none'}")
    lines.append(f"steps in Python in {len(hosted)}: {'; '.join(hosted) or 'none'}")
    return "\n".join(lines)
