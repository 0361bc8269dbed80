"""What the charts are drawn from, and which of them is on show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.analysis.figures import Spot, roofline_figure, tuning_figure
from workbench.analysis.figures.level_roofs import LevelRoof, level_roofs
from workbench.analysis.figures.roofline import stored_roofs
from workbench.analysis.figures.style import Theme
from workbench.analysis.figures.tuning_overview import tuning_height
from workbench.analysis.loop_nest.schedule_estimate import Estimate
from workbench.analysis.trials.trial_reader import of_ledger
from workbench.ir.product_type import PLAIN
from workbench.runtime.machine.above_roofline import fewer_products, tile_of
from workbench.session.measurement import faster_than_peak as above
from workbench.session.state.session_state import SessionState
from workbench.session.state.variant_tree import TreeNode

ROOFLINE_HEIGHT = 340
"""Height of the roofline in pixels; that of the other chart follows from its plots."""

LIVE_POINTS = 400
"""Points of each plot while trials come in; all of them are drawn when the run has ended."""


def height(state: SessionState) -> int:
    """Return the height of the chart on show, in pixels."""
    return ROOFLINE_HEIGHT if state.chart.roofline else tuning_height(len(state.infos), state.chart.wide)


def figure(state: SessionState, theme: Theme) -> Any:
    """Draw the chart on show, as a plotly figure. Call it in the session's thread."""
    index = state.index
    product = PLAIN if index is None else state.products[index]
    if state.chart.roofline:
        return roofline_figure(spots(state), state.target, theme=theme, product=product)
    stats = state.stats
    key = None if index is None else state.infos[index].key
    live = state.watch is not None and state.watch.live
    rounds = state.opened.rounds if state.watch is None else state.watch.tuning.rounds
    names = {info.key: info.name for info in state.infos}
    lines = of_ledger(stats.ledger, stats.records, rounds, list(names), names)
    return tuning_figure(
        lines, key, lines.keys, by_hand=_by_hand(state),
        peak_gflops=state.peak, target=state.target, most=LIVE_POINTS if live else None, wide=state.chart.wide,
        theme=theme, product=product,
    )  # fmt: skip


def _by_hand(state: SessionState) -> tuple[str, float] | None:
    """Name and latency of the fastest variant of the task on show that was made by hand."""
    tree = None if state.index is None else state.history.trees.get(state.index)
    if tree is None:
        return None
    timed = [(_ms(state, node), node) for node in tree.nodes.values() if node.by == "hand"]
    found = min(((ms, node.id) for ms, node in timed if ms is not None), default=None)
    return None if found is None else (name_of(tree.nodes[found[1]]), found[0])


def _ms(state: SessionState, node: TreeNode) -> float | None:
    result = state.history.result(node.key)
    return None if result is None else result.clean_ms


def name_of(node: TreeNode) -> str:
    """Return what a variant is called."""
    return node.name or f"v{node.id}"


def spots(state: SessionState) -> list[Spot]:
    """Return what the task on show has with a speed: the variants on the path to the current one in order, the other
    variants, the tuner's trials.
    """
    tree = None if state.index is None else state.history.trees.get(state.index)
    if tree is None or state.index is None:
        return []
    path = tree.path(tree.at)
    order = [*path, *(id for id in tree.nodes if id not in set(path))]
    flops = state.infos[state.index].flops
    opened = {node.trial for node in tree.nodes.values()}
    dots = [s for s in _trials(state, state.infos[state.index].key) if s.node not in opened]
    return [*_spots(state, [tree.nodes[id] for id in order], set(path), tree.at, flops), *dots]


def _trials(state: SessionState, key: str) -> Iterator[Spot]:
    """The tuner's trials of a task, those that are known by now."""
    task = state.stats.of(key)
    for record, intensity in state.intensities.of(key, state.stats.records):
        if (told := task.of(record)) is not None:
            speed = record.flops / (told.ms * 1e6)
            why = above.of_trial(state, state.index or 0, record, speed)
            yield Spot("", intensity, speed, True, "trial", path=False, node=record.trial, above=why)


def _spots(state: SessionState, nodes: list[TreeNode], path: set[int], at: int, flops: int) -> Iterator[Spot]:
    for node in nodes:
        guess, ms = state.history.estimates.get(node.key), _ms(state, node)
        if guess is None or guess.intensity is None:
            continue
        measured = flops / (ms * 1e6) if ms and flops else None
        speed = measured if measured is not None else guess.gflops
        if speed is not None:
            by: Any = "tuner" if node.by == "tuner" else "hand"
            why = above.of_schedule(state, node.schedule.func, speed)
            fewer = fewer_products(tile_of(node.schedule.func))
            levels = at_levels(state, guess, fewer) if node.id == at else ()
            yield Spot(
                name_of(node), guess.intensity, speed, measured is not None, by, node.id in path, node.id == at,
                node.id, why, levels, fewer,
            )  # fmt: skip


def at_levels(state: SessionState, guess: Estimate, fewer: float) -> tuple[LevelRoof, ...]:
    """Return what each level of memory allows a schedule of the task on show, which does so many times `fewer` products
    than are counted.
    """
    top = state.peak_for(state.index)
    return level_roofs(guess, stored_roofs(state.target), top and top * fewer)
