"""The charts: which one is on show, and the roofs that one of them needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.analysis.figures.roofline import working_sets
from workbench.analysis.loop_nest.schedule_estimate import Estimate
from workbench.arguments import shown
from workbench.codegen.backend import require_runnable
from workbench.errors import UsageError, did_you_mean
from workbench.ir import Func
from workbench.runtime.machine.above_roofline import fewer_products, tile_of
from workbench.runtime.machine.measured_roofline import roofs
from workbench.session import registry as declare
from workbench.session.registry import Host, SliceContext
from workbench.session.state.chart_choice import CHARTS, ChartChoice, known_roofs
from workbench.session.state.session_state import SessionState
from workbench.session.state.statistics import rounded
from workbench.session.state.tuning_watch import held
from workbench.session.tuning_run.charts import at_levels, height

declare.panel("chart", "Chart", 11, slice="tuning")

#: Name of the work that measures roofs.
ROOFS = "roofs"


@declare.slice_("chart")
def chart_slice(context: SliceContext) -> dict[str, Any]:
    """Return the slice `chart`: which one it is, how high, whether the machine's roofs are known, of how many
    trials it is known where they stand below them, and what each level of memory allows the schedule on show.
    """
    state = context.state
    out: dict[str, Any] = {"name": state.chart.name, "wide": state.chart.wide, "roofs": state.roofs}
    out["height"] = height(state)
    trials = (
        state.intensities.count(state.infos[state.index].key) if state.chart.roofline and state.index is not None else 0
    )
    if trials:
        out["trials"] = trials
    guess = state.estimates.of(context.view, state.peak) if state.chart.roofline and context.view is not None else None
    if guess is not None and context.view is not None:
        func, known = context.view.schedule.func, (guess, state.roofs, state.peak_for(state.index))
        out["levels"] = context.cache["levels"].of(known, lambda: _levels(state, guess, func))
    return out


def _levels(state: SessionState, guess: Estimate, func: Func) -> list[dict[str, Any]]:
    return [
        {"name": one.level, "bytes": one.nbytes, "intensity": rounded(one.intensity, 3), "most": rounded(one.most, 3)}
        for one in at_levels(state, guess, fewer_products(tile_of(func)))
    ]


@declare.command
def chart(host: Host, name: object, wide: bool = False) -> None:
    """Show another chart in the one figure; `wide` when it stands around the task table."""
    if not isinstance(name, str) or name not in CHARTS:
        hint = did_you_mean(name, CHARTS, "charts")
        raise UsageError("session.chart", f"There is no chart {shown(name)}", (), hint)
    host.state.chart = ChartChoice(name, bool(wide))


@declare.command
def measure_roofs(host: Host) -> None:
    """Measure how fast the caches and the memory of this machine deliver; it takes some seconds, and is kept."""
    state = host.state
    require_runnable(state.target)
    target, watch = state.target, state.watch
    state.roofs = "measuring"

    def work() -> Callable[[], None]:
        failure: Exception | None = None
        try:
            with held(watch):
                for nbytes in working_sets(target).values():
                    roofs(target, target.threads, nbytes)
        except Exception as error:
            failure = error
        return lambda: done(failure)

    def done(failure: Exception | None) -> None:
        state.roofs = known_roofs(target)
        if failure is not None:
            raise failure

    host.later(ROOFS, work, "measure")
