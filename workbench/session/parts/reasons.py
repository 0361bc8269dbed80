"""What takes the time of the schedule on show, and what would make it faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..registry import Host, Look, question, slice_

APART = 1.5
"""How many times longer or shorter than measured an estimate may be without being called so."""

NEAR_PEAK = 0.8
"""Share of the peak from which on there is little left to gain, whatever the estimate says."""


@slice_("why", after=("head",))
def why_slice(look: Look) -> dict[str, Any] | None:
    """Return the slice `why`: what bounds the schedule on show by its estimate; None while numbers are open."""
    from workbench.analysis import why

    view, target = look.view, look.desk.target
    if view is None or not view.schedule.is_concrete:
        return None
    measured = _measured(look)

    def make() -> dict[str, Any] | None:
        found = why(view.schedule, target, cures=False)
        return None if found is None else {**found.to_json(), "measured": measured}

    said: dict[str, Any] | None = look.kept.of("why", (view.schedule.func, measured), make)
    return said


def _measured(look: Look) -> str:
    """Say what was measured where the estimate is not to be believed; "" elsewhere."""
    desk, view = look.desk, look.view
    result = desk.history.results.get(view.key) if view is not None else None
    if view is None or result is None or not result.ms:
        return ""
    top, guess = desk.peak_of_all, desk.estimates.of(view, desk.peak)
    share = result.gflops / top if top and result.gflops else 0.0
    off = guess.ms / result.ms if guess is not None and guess.ms else 1.0
    wrong = max(off, 1.0 / off)
    if share < NEAR_PEAK and wrong <= APART:
        return ""
    told = [f"{100 * share:.{1 if share < 0.095 else 0}f} % of peak"] if share else []
    if wrong > APART:
        told.append(f"the estimate is {wrong:.1f}× too {'slow' if off > 1.0 else 'fast'} here")
    return f"Measured: {'; '.join(told)}."


@question("cures", lane="cures")
def cures(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say which legal steps make the variant ``node`` (that on show by default) faster by its estimate, for each reason
    that has some: the one that gains most first, and none that it would make useless.
    """
    from workbench.analysis import why
    from workbench.analysis.cures import beside

    view, target = host.desk.variant(args.get("node")).schedule, host.desk.target

    def work() -> dict[str, Any]:
        found = why(view, target) if view.is_concrete else None
        reasons = found.reasons if found is not None else ()
        cured = sorted((r for r in reasons if r.cure is not None), key=lambda r: -r.cure.gain if r.cure else 0.0)
        rows = [r for r in cured if r is cured[0] or beside(view, cured[0].cure, r.cure, target)]
        return {"rows": [{"id": one.code, **one.cure.to_json()} for one in rows if one.cure is not None]}

    return work
