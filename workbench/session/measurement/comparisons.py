"""Two variants measured against each other: asked for by hand, kept by the pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from workbench.codegen import require_runnable
from workbench.errors import ScheduleError, UsageError, WorkbenchError, render
from workbench.runtime.measuring import services
from workbench.runtime.measuring.comparison_words import against, outcome, told_apart
from workbench.runtime.measuring.contest import Contest
from workbench.session.core.protocol import error_json
from workbench.session.state.history import open_parts
from workbench.session.state.results import Key, Result
from workbench.session.state.statistics import rounded
from workbench.session.state.tuning_watch import held

if TYPE_CHECKING:
    from workbench.session.registry import Host
    from workbench.session.state.history import History
    from workbench.session.state.variant_tree import Tree, TreeNode

State = Literal["", "running", "failed"]


@dataclass(frozen=True, slots=True)
class Match:
    """What came of timing two states against each other; the first one is what the second is compared with."""

    keys: tuple[Key, Key]
    state: State = "running"
    contest: Contest | None = None
    error: str = ""

    def seen_from(self, first: Key) -> Contest:
        """Return the outcome with this state as the one that the other is compared with."""
        assert self.contest is not None
        if self.keys[0] == first:
            return self.contest
        return replace(self.contest, measurements=self.contest.measurements[::-1])

    def against(self, whose: str, other: Key, sure: bool = False) -> str:
        """Say how fast the other one of the two is beside `other`; "" until that is known.

        Parameters
        ----------
        sure : bool
            Whether to say how sure that is, too.
        """
        if self.contest is None or self.state:
            return ""
        seen = self.seen_from(other)
        certain = seen.confidence(1) if seen.ratio(1) <= 1.0 else seen.confidence(0, 1)
        return against(whose, seen.ratio(1), seen.differ(1), certain if sure else None, seen.why_not)

    def info(self, a: int, b: int, first: Key) -> dict[str, Any]:
        """Return what a front end shows of it: the time of `b` over that of `a`, and how sure the faster one is.

        Parameters
        ----------
        first : tuple
            State of the variant `a`.
        """
        ratio = confidence = resolution = None
        if self.contest is not None and not self.state:
            seen = replace(self.seen_from(first), names=(f"v{a}", f"v{b}"))
            ratio, resolution = seen.ratio(1), seen.resolution(1)
            confidence = seen.confidence(1) if ratio <= 1.0 else seen.confidence(0, 1)
            text = outcome(seen, 1, 0)
        else:
            text = "they are being timed" if self.state == "running" else f"not timed: {self.error.splitlines()[0]}"
        return {
            "id": f"{a} {b}", "a": a, "b": b, "ratio": rounded(ratio, 4), "confidence": rounded(confidence, 6),
            "resolution": rounded(resolution, 2), "state": self.state, "error": self.error,
            "text": text,
        }  # fmt: skip


def _versus(history: History, node: TreeNode, other: TreeNode) -> str:
    """Say how fast a variant is beside another one: by their contest, else by the time that each took by itself."""
    match: Match | None = history.contests.get(frozenset((node.key, other.key)))
    if match is not None and (told := match.against(f"v{other.id}", other.key)):
        return told
    then, now = history.results[other.key], history.results[node.key]
    assert then.ms
    assert now.ms
    why_not = now.why_not or then.why_not
    apart = not why_not and told_apart(then.ms, now.ms, (then.spread, now.spread))
    return against(f"v{other.id}", now.ms / then.ms, apart, why_not=why_not)


def change(history: History, tree: Tree) -> dict[str, str] | None:
    """Say how fast the variant on show is beside those that it was made of: the last one and the first one with a time;
    None where there is none.
    """
    path = [tree.nodes[id] for id in tree.path(tree.at)]
    timed = [n for n in path if (found := history.results.get(n.key)) is not None and found.ms]
    if len(timed) < 2 or timed[-1].id != tree.at:
        return None
    than = list({n.id: n for n in (timed[-2], timed[0])}.values())
    told = [_versus(history, timed[-1], n) for n in than]
    if all(" as fast " in text for text in told):
        told[1:] = [text.replace("as fast ", "") for text in told[1:]]
    title = ", ".join(f"v{n.id} took {_took(history.results[n.key])}" for n in than)
    return {"text": ", ".join(told), "title": title}


def _took(result: Result) -> str:
    if not result.why_not:
        return f"{result.ms:.3g} ms"
    return f"at least {result.at_least_ms:.3g} ms" if result.at_least_ms else f"at most {result.ms:.3g} ms"


def info(history: History, tree: Tree, a: int, b: int) -> dict[str, Any] | None:
    """Return what is known of two variants of a tree against each other; None when they never met."""
    first, second = tree.node(a).key, tree.node(b).key
    match: Match | None = history.contests.get(frozenset((first, second)))
    return None if match is None else match.info(a, b, first)


def shown(history: History, tree: Tree) -> list[dict[str, Any]]:
    """Return all contests between variants of a tree."""
    out = []
    for match in history.contests.values():
        a, b = (tree.find(key) for key in match.keys)
        if a is not None and b is not None:
            out.append(match.info(a.id, b.id, a.key))
    return out


def start(host: Host, a: TreeNode, b: TreeNode) -> None:
    """Time two variants against each other, beside the session's thread, while tuning waits.

    Raises
    ------
    UsageError
        "session.contest" for a variant against itself.
    ScheduleError
        "schedule.open" for one with open numbers.
    TargetError
        Where the target's code cannot run here.
    """
    if a.id == b.id:
        raise UsageError("session.contest", f"v{a.id} cannot be measured against itself", (), "choose two variants")
    for node in (a, b):
        if names := open_parts(node.schedule):
            text = f"v{node.id} cannot be measured while {', '.join(names)} {'is' if len(names) == 1 else 'are'} open"
            raise ScheduleError("schedule.open", text, names, "tune it, or choose numbers")
    state, pair = host.state, frozenset((a.key, b.key))
    require_runnable(state.target)
    known: Match | None = state.history.contests.get(pair)
    if known is not None and known.state == "running":
        return
    state.history.contests[pair] = Match((a.key, b.key))

    def work() -> Callable[[], None]:
        with held(state.watch):
            found = _measured(a, b, state.target, state.constants)
        return lambda: state.history.contests.__setitem__(pair, found)

    host.later(f"contest {a.key[0]} {a.id} {b.id}", work, "measure")  # numbers of variants are those of their task


def _measured(a: TreeNode, b: TreeNode, target: Any, constants: str) -> Match:
    """Time two variants; an error that is raised becomes a result like any other."""
    keys = (a.key, b.key)
    try:
        found = services.contest([a.schedule.func, b.schedule.func], a.schedule.base, target, constants=constants)
    except WorkbenchError as error:
        return Match(keys, "failed", error=render(error))
    except Exception as error:
        return Match(keys, "failed", error=f"{error_json(error)['message']} [internal]")
    return Match(keys, "" if found.status == "ok" else "failed", found, found.error or found.status)
