"""What the charts are drawn from, and which of them is on show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.analysis.figures import Spot, roofline_figure, tuning_figure
from workbench.analysis.figures.roofline import stored_roofs, working_sets
from workbench.analysis.figures.style import Theme
from workbench.analysis.figures.tuning import tuning_height
from workbench.analysis.source import of_ledger
from workbench.session import above

if TYPE_CHECKING:
    from workbench.session.desk import Desk
    from workbench.session.tree import TreeNode
    from workbench.target import Target

CHARTS = ("tuning", "roofline")

ROOFLINE_HEIGHT = 340
"""Height of the roofline in pixels; that of the other chart follows from its plots."""

LIVE_POINTS = 400
"""Points of each plot while trials come in; all of them are drawn when the run has ended."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The chart on show; `wide` when its plots stand around the task table."""

    name: str = "tuning"
    wide: bool = False

    @property
    def roofline(self) -> bool:
        """Whether it is the one of the variants and trials under the machine's roofs."""
        return self.name == "roofline"


def height(desk: Desk) -> int:
    """Return the height of the chart on show, in pixels."""
    return ROOFLINE_HEIGHT if desk.chart.roofline else tuning_height(len(desk.infos), desk.chart.wide)


def known_roofs(target: Target) -> str:
    """Return "stored" where every roof of memory was measured on this machine, else "none"."""
    return "stored" if stored_roofs(target).keys() == working_sets(target).keys() else "none"


def figure(desk: Desk, theme: Theme) -> Any:
    """Draw the chart on show, as a plotly figure. Call it in the session's thread."""
    if desk.chart.roofline:
        return roofline_figure(spots(desk), desk.target, theme=theme)
    stats, index = desk.stats, desk.index
    key = None if index is None else desk.infos[index].key
    live = desk.watch is not None and desk.watch.live
    rounds = desk.opened.rounds if desk.watch is None else desk.watch.tuning.rounds
    names = {info.key: info.name for info in desk.infos}
    lines = of_ledger(stats.ledger, stats.records, rounds, list(names), names)
    return tuning_figure(
        lines, key, lines.keys, by_hand=_by_hand(desk),
        peak_gflops=desk.peak, target=desk.target, most=LIVE_POINTS if live else None, wide=desk.chart.wide,
        theme=theme,
    )  # fmt: skip


def _by_hand(desk: Desk) -> tuple[str, float] | None:
    """Name and latency of the fastest variant of the task on show that was made by hand."""
    tree = None if desk.index is None else desk.history.trees.get(desk.index)
    if tree is None:
        return None
    timed = [(_ms(desk, node), node) for node in tree.nodes.values() if node.by == "hand"]
    found = min(((ms, node.id) for ms, node in timed if ms is not None), default=None)
    return None if found is None else (name_of(tree.nodes[found[1]]), found[0])


def _ms(desk: Desk, node: TreeNode) -> float | None:
    result = desk.history.results.get(node.key)
    return None if result is None else result.clean_ms


def name_of(node: TreeNode) -> str:
    """Return what a variant is called."""
    return node.name or f"v{node.id}"


def spots(desk: Desk) -> list[Spot]:
    """Return what the task on show has with a speed: the variants on the path to the current one in order, the other
    variants, the tuner's trials.
    """
    tree = None if desk.index is None else desk.history.trees.get(desk.index)
    if tree is None or desk.index is None:
        return []
    path = tree.path(tree.at)
    order = [*path, *(id for id in tree.nodes if id not in set(path))]
    flops = desk.infos[desk.index].flops
    opened = {node.trial for node in tree.nodes.values()}
    dots = [s for s in _trials(desk, desk.infos[desk.index].key) if s.node not in opened]
    return [*_spots(desk, [tree.nodes[id] for id in order], set(path), tree.at, flops), *dots]


def _trials(desk: Desk, key: str) -> Iterator[Spot]:
    """The tuner's trials of a task, those that are known by now."""
    task = desk.stats.of(key)
    for record, intensity in desk.intensities.of(key, desk.stats.records):
        if (told := task.of(record)) is not None:
            speed = record.flops / (told.ms * 1e6)
            why = above.of_trial(desk, desk.index or 0, record, speed)
            yield Spot("", intensity, speed, True, "trial", path=False, node=record.trial, above=why)


def _spots(desk: Desk, nodes: list[TreeNode], path: set[int], at: int, flops: int) -> Iterator[Spot]:
    for node in nodes:
        guess, ms = desk.history.estimates.get(node.key), _ms(desk, node)
        if guess is None or guess.intensity is None:
            continue
        measured = flops / (ms * 1e6) if ms and flops else None
        speed = measured if measured is not None else guess.gflops
        if speed is not None:
            by: Any = "tuner" if node.by == "tuner" else "hand"
            why = above.of_schedule(desk, node.schedule.func, speed)
            yield Spot(
                name_of(node), guess.intensity, speed, measured is not None, by, node.id in path, node.id == at,
                node.id, why,
            )  # fmt: skip
