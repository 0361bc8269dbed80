"""Two variants measured against each other: asked for by hand, kept by the pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.codegen.backend import require_runnable
from workbench.errors import ScheduleError, UsageError, WorkbenchError, render
from workbench.runtime import schedule_methods
from workbench.runtime.results.comparison_words import CANNOT, against, as_fast, told_apart
from workbench.session.core.protocol import error_json
from workbench.session.registry import Host
from workbench.session.state.history import History, open_parts
from workbench.session.state.results import PairResult, Result
from workbench.session.state.tuning_watch import held
from workbench.session.state.variant_tree import Tree, TreeNode


def _versus(history: History, node: TreeNode, other: TreeNode) -> str:
    """Say how fast a variant is beside another one: by their contest, else by the time that each took by itself."""
    match: PairResult | None = history.contests.get(frozenset((node.key, other.key)))
    met = match.against(f"v{other.id}", other.key) if match is not None else ""
    then, now = history.result(other.key), history.result(node.key)
    assert then is not None
    assert then.ms
    assert now is not None
    assert now.ms
    why_not = now.why_not or then.why_not
    if why_not and (not met or met.startswith(CANNOT)) and (least := _settled(then, now)):
        return f"at least {as_fast(least)} {'as' if least < 1.0 else 'than'} v{other.id}"
    if met:
        return met
    apart = not why_not and told_apart(then.ms, now.ms, (then.spread, now.spread))
    return against(f"v{other.id}", now.ms / then.ms, apart, why_not=why_not)


def _settled(then: Result, now: Result) -> float | None:
    """Return the ratio of two times that is nearest to 1 within their bounds; None where the bounds overlap."""
    (shortest, longest), (least, most) = then.bounds, now.bounds
    if most < shortest:
        return most / shortest
    return least / longest if least > longest else None


def change(history: History, tree: Tree) -> dict[str, str] | None:
    """Say how fast the variant on show is beside those that it was made of: the last one and the first one with a time;
    None where there is none.
    """
    path = [tree.nodes[id] for id in tree.path(tree.at)]
    timed = [n for n in path if (found := history.result(n.key)) is not None and found.ms]
    if len(timed) < 2 or timed[-1].id != tree.at:
        return None
    than = list({n.id: n for n in (timed[-2], timed[0])}.values())
    told = [_versus(history, timed[-1], n) for n in than]
    if all(" as fast " in text for text in told):
        told[1:] = [text.replace("as fast ", "") for text in told[1:]]
    title = ", ".join(f"v{n.id} took {_took(result)}" for n in than if (result := history.result(n.key)))
    return {"text": ", ".join(told), "title": title}


def _took(result: Result) -> str:
    if not result.why_not:
        return f"{result.ms:.3g} ms"
    return f"at least {result.at_least_ms:.3g} ms" if result.at_least_ms else f"at most {result.ms:.3g} ms"


def info(history: History, tree: Tree, a: int, b: int) -> dict[str, Any] | None:
    """Return what is known of two variants of a tree against each other; None when they never met."""
    first, second = tree.node(a).key, tree.node(b).key
    match: PairResult | None = history.contests.get(frozenset((first, second)))
    return None if match is None else match.info(a, b, first)


def shown(history: History, tree: Tree) -> list[dict[str, Any]]:
    """Return all contests between variants of a tree."""
    out = []
    for match in history.contests.values():
        a, b = (tree.find(key) for key in match.keys)
        if a is not None and b is not None:
            out.append(match.info(a.id, b.id, a.key))
    return out


def closed(node: TreeNode) -> TreeNode:
    """Return a variant that can be measured.

    Raises
    ------
    ScheduleError
        "schedule.open" for one with open numbers.
    """
    if names := open_parts(node.schedule):
        text = f"v{node.id} cannot be measured while {', '.join(names)} {'is' if len(names) == 1 else 'are'} open"
        raise ScheduleError("schedule.open", text, names, "tune it, or choose numbers")
    return node


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
        closed(node)
    state, pair = host.state, frozenset((a.key, b.key))
    require_runnable(state.target)
    known: PairResult | None = state.history.contests.get(pair)
    if known is not None and known.state == "running":
        return
    state.history.contests[pair] = PairResult((a.key, b.key))

    def work() -> Callable[[], None]:
        with held(state.watch):
            found = _measured(a, b, state.target, state.constants)
        return lambda: state.history.contests.__setitem__(pair, found)

    host.later(f"contest {a.key[0]} {a.id} {b.id}", work, "measure")  # numbers of variants are those of their task


def _measured(a: TreeNode, b: TreeNode, target: Any, constants: str) -> PairResult:
    """Time two variants; an error that is raised becomes a result like any other."""
    keys = (a.key, b.key)
    try:
        funcs = [a.schedule.func, b.schedule.func]
        found = schedule_methods.contest(funcs, a.schedule.base, target, constants=constants)
    except WorkbenchError as error:
        return PairResult(keys, "failed", error=render(error))
    except Exception as error:
        return PairResult(keys, "failed", error=f"{error_json(error)['message']} [internal]")
    return PairResult(keys, "" if found.status == "ok" else "failed", found, found.error or found.status)
