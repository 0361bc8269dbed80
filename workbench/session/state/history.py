"""What a session remembers of the states of schedules: how they came of each other, what they measured, what was said
of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.advice.step_text import short
from workbench.analysis.graph_drawing.tree_layout import lay_out_tree
from workbench.analysis.loop_nest.schedule_estimate import Estimate
from workbench.runtime.results.contest import Contest
from workbench.schedule import Schedule
from workbench.session.state.results import Key, Result
from workbench.session.state.statistics import rounded
from workbench.session.state.variant_tree import By, EdgeKind, Tree, TreeNode, keys_of
from workbench.session.state.verdicts import PairResult, Verdict, verdict

__all__ = ["By", "EdgeKind", "History", "Tree", "TreeNode", "View", "open_parts", "to_choose"]

MOST = 400
"""Variants of one task that are kept; what somebody named or starred stays beyond that."""


_Made = tuple[tuple[object, ...], dict[str, Any]]
"""What a row was made of, and the row."""


@dataclass(frozen=True, slots=True)
class View:
    """A schedule as it is at one moment: nobody else moves this copy.

    Attributes
    ----------
    keys : tuple
        Its states, from the program as it was written to the last step that was undone.
    at : int
        How many steps are taken.
    node : int
        Its number among the variants.
    """

    schedule: Schedule
    keys: tuple[Key, ...]
    at: int
    node: int = 0

    @staticmethod
    def of(task: int, schedule: Schedule, node: int = 0) -> View:
        """Look at a schedule that other threads may move."""
        copy = schedule.copy()
        return View(copy, keys_of(task, copy), len(copy.trace), node)

    @property
    def key(self) -> Key:
        """The state on show."""
        return self.keys[self.at]


def open_parts(schedule: Schedule) -> list[str]:
    """Name what is left open: numbers, and the fields of steps that hold choices."""
    chosen = [f"{field} of {step.name}" for step in schedule.trace for field in step.open_choices()]
    return [h.name for h in schedule.holes] + chosen


def to_choose(schedule: Schedule) -> int:
    """Return how many of the open parts are chosen: one number of every split follows from the others."""
    parts = len(open_parts(schedule))
    return max(parts - len(schedule.func.relations), min(parts, 1))


@dataclass(slots=True)
class History:
    """The variants of every task, and what is known of their states.

    Attributes
    ----------
    results, estimates : dict
        By state, so that one that is reached again has its numbers at once. A result is that of its last measurement.
    told : dict
        What is told of states in the place of that, see `told_times`; `result` knows both.
    elsewhere : dict
        What is said of a time that was measured under other conditions, by state.
    contests : dict
        What two states measured against each other, by both.
    best : dict
        The variant of each task that is marked as the best; None where there are no two to compare.
    hidden : dict
        Variants of each task that were let go because there were too many.
    """

    results: dict[Key, Result] = field(default_factory=dict)
    told: dict[Key, Result] = field(default_factory=dict)
    estimates: dict[Key, Estimate | None] = field(default_factory=dict)
    elsewhere: dict[Key, str] = field(default_factory=dict)
    contests: dict[frozenset[Key], PairResult] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)
    best: dict[int, int | None] = field(default_factory=dict)
    hidden: dict[int, int] = field(default_factory=dict)
    #: Selected row, to return to it.
    selected: dict[Key, str] = field(default_factory=dict)
    _holes: dict[Key, int] = field(default_factory=dict)
    _made: dict[Key, _Made] = field(default_factory=dict)
    _places: dict[int, tuple[int, dict[int, tuple[int, int]]]] = field(default_factory=dict)

    def tree(self, task: int, schedule: Schedule) -> Tree:
        """Return the tree of a task; `schedule` is where its first one begins."""
        if task not in self.trees:
            self.trees[task] = Tree(task, schedule)
        return self.trees[task]

    def drop(self, task: int) -> None:
        """Let all variants of a task go, but not what was measured."""
        self.trees.pop(task, None)
        self._places.pop(task, None)

    def result(self, key: Key) -> Result | None:
        """Return what is shown of the time of a state; None where it was not measured."""
        return self.told.get(key) or self.results.get(key)

    def meet(self, keys: tuple[Key, Key], found: Contest | str) -> PairResult:
        """Take in what came of timing two states against each other, beside what came of it before; or why nothing."""
        known = self.contests.get(frozenset(keys)) or PairResult(keys)
        now = replace(known, state="failed", error=found) if isinstance(found, str) else known.also(keys, found)
        self.contests[frozenset(keys)] = now
        return now

    def verdict(self, key: Key, other: Key, whose: str) -> Verdict | None:
        """Say how fast a state is beside another one, which is called `whose`; None where one has no time."""
        then, now = self.result(other), self.result(key)
        if then is None or now is None or not (then.ms and now.ms):
            met = self.contests.get(frozenset((key, other)))
            return None if met is None else met.verdict(whose, other)
        return verdict(whose, other, then, now, self.contests.get(frozenset((key, other))))

    def ties(self, tree: Tree) -> dict[Key, TreeNode]:
        """Return for each state of a tree the fastest variant that takes the same time as it in turns: none that takes
        the same as a third one from which turns tell it apart.
        """
        met = {keys: pair for keys, pair in self.contests.items() if pair.contests and all(map(tree.find, keys))}
        alike: dict[Key, set[Key]] = {}
        for keys, pair in met.items():
            if pair.seen_from(pair.keys[0]).tied(1):
                for key in keys:
                    alike.setdefault(key, set()).update(keys - {key})
        apart = {keys for keys, pair in met.items() if pair.winner is not None}
        found: dict[Key, TreeNode] = {}
        for key, others in alike.items():
            fit = [one for one in others if not any(frozenset((key, third)) in apart for third in alike[one])]
            if fit and (node := tree.find(min(fit, key=self._ms))) is not None:
                found[key] = node
        return found

    def _ms(self, key: Key) -> float:
        return (self.result(key) or Result("")).clean_ms or math.inf

    def by_hand(self, task: int) -> list[tuple[Key, Result]]:
        """Return the states of a task that were measured and are no trial of a tuner, with their results."""
        return [(k, r) for k, r in self.results.items() if k[0] == task and r.ms is not None and self._by(k) != "tuner"]

    def _by(self, key: Key) -> By:
        tree = self.trees.get(key[0])
        node = None if tree is None else tree.find(key)
        return "hand" if node is None else node.by

    def remark(self, key: Key) -> str:
        """Return why a state has the number that it has, and what was measured elsewhere."""
        result = self.result(key)
        return "; ".join(filter(None, ("" if result is None else result.remark, self.elsewhere.get(key, ""))))

    def prune(self, tree: Tree) -> int:
        """Let leaves go that nobody wants to keep, the oldest first and unmeasured ones before all others, until there
        are not too many; returns how many went.
        """
        gone = 0
        while len(tree.nodes) > MOST and (id := self._least(tree)) is not None:
            self.forget(tree, id)
            gone += 1
        self.hidden[tree.task] = self.hidden.get(tree.task, 0) + gone
        return gone

    def forget(self, tree: Tree, id: int) -> None:
        """Let a leaf go with all that can be had again, so not its measurement; raises what `Tree.forget` does."""
        key = tree.node(id).key
        tree.forget(id)
        kept: tuple[dict[Key, Any], ...] = (self.estimates, self.selected, self._holes, self._made)
        for table in kept:
            table.pop(key, None)

    def _least(self, tree: Tree) -> int | None:
        inner = {n.parent for n in tree.nodes.values()} | {tree.at, *tree.undone()}
        leaves = [n for n in tree.nodes.values() if n.id not in inner and not n.kept]
        worth = {n.id: self.results.get(n.key, Result("")).ms is not None for n in leaves}
        return min(worth, key=lambda id: (worth[id], id), default=None)

    # ----- showing

    def rows(self, tree: Tree, doing: Mapping[Key, str]) -> list[dict[str, Any]]:
        """Return the rows of the variants; `doing` says which are being measured or wait for it.

        A row that says the same as before is the same object.
        """
        places, undone = self._layout(tree), set(tree.undone())
        old, self._made = self._made, {}
        return [self._row(tree, n, places[n.id], n.id in undone, doing.get(n.key), old) for n in tree.nodes.values()]

    def _row(
        self, tree: Tree, node: TreeNode, place: tuple[int, int], undone: bool, doing: str | None, old: dict[Key, _Made]
    ) -> dict[str, Any]:
        result, guess = self.result(node.key), self.estimates.get(node.key)
        said = (node.parent, node.edge, node.label, node.name, node.star, node.trial)
        parent = None if node.parent is None else tree.nodes[node.parent]
        met = None if parent is None else self.contests.get(frozenset((node.key, parent.key)))
        made_of = (said, place, undone, doing, result, guess, met, self.remark(node.key))
        kept = old.get(node.key)
        if kept is None or kept[0] != made_of:
            kept = (made_of, self._new_row(node, parent, place, result or Result(""), guess))
            kept[1].update(status=doing or kept[1]["status"], undone=undone)
            if met is not None and parent is not None:
                told = met.verdict(f"v{parent.id}", parent.key)
                kept[1]["than"] = "" if told is None else told.full
        self._made[node.key] = kept
        return kept[1]

    def _new_row(
        self, node: TreeNode, parent: TreeNode | None, place: tuple[int, int], result: Result, guess: Estimate | None
    ) -> dict[str, Any]:
        low, high = (None, None) if guess is None else (guess.low_ms, guess.high_ms)
        return {
            "id": node.id, "parent": node.parent, "edge": node.edge,
            "steps": 0 if parent is None else abs(node.steps - parent.steps), "text": node.label,
            "primitive": node.schedule.trace[-1].name if node.edge == "step" else "", "name": node.name,
            **({"short": short(node.schedule.trace[-1])} if node.edge == "step" else {}),
            "star": node.star, "by": node.by, "trial": node.trial, "holes": self._open(node), "x": place[0],
            "y": place[1], "ms": rounded(result.ms), "spread": rounded(result.spread, 3),
            "gflops": rounded(result.gflops), "est": rounded(low, 3),
            "est_high": None if low == high else rounded(high, 3), "status": result.status, "error": result.error,
            "undone": False, "doubt": result.doubt(), "remark": self.remark(node.key),
            **({"same": result.same} if result.same else {}), **({"caches": result.caches} if result.caches else {}),
        }  # fmt: skip

    def _layout(self, tree: Tree) -> dict[int, tuple[int, int]]:
        """Return where the nodes stand, worked out again only when the tree changed."""
        kept = self._places.get(tree.task)
        if kept is None or kept[0] != tree.changes:
            order = {id: k for k, id in enumerate(tree.nodes)}
            parents = [None if n.parent is None else order[n.parent] for n in tree.nodes.values()]
            kept = self._places[tree.task] = (tree.changes, dict(zip(order, lay_out_tree(parents), strict=True)))
        return kept[1]

    def _open(self, node: TreeNode) -> int:
        """Return how many numbers of a node are open, counted once."""
        if node.key not in self._holes:
            self._holes[node.key] = to_choose(node.schedule)
        return self._holes[node.key]
