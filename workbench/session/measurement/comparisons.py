"""Two variants measured against each other: asked for by hand, kept by the pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workbench.codegen.backend import require_runnable
from workbench.errors import ScheduleError, UsageError, WorkbenchError, render
from workbench.log import Best
from workbench.runtime import schedule_methods
from workbench.runtime.results.contest import Contest
from workbench.session.core.protocol import error_json
from workbench.session.registry import Host
from workbench.session.state.history import History, open_parts
from workbench.session.state.results import Result
from workbench.session.state.session_state import SessionState
from workbench.session.state.statistics import rounded
from workbench.session.state.tuning_watch import held
from workbench.session.state.variant_tree import Tree, TreeNode
from workbench.session.state.verdicts import PairResult, Verdict, verdict


def change(history: History, tree: Tree) -> dict[str, str] | None:
    """Say how fast the variant on show is beside those that it was made of: the last one and the first one with a time;
    None where there is none.
    """
    path = [tree.nodes[id] for id in tree.path(tree.at)]
    timed = [n for n in path if (found := history.result(n.key)) is not None and found.ms]
    if len(timed) < 2 or timed[-1].id != tree.at:
        return None
    than = list({n.id: n for n in (timed[-2], timed[0])}.values())
    known = [said for n in than if (said := history.verdict(timed[-1].key, n.key, f"v{n.id}")) is not None]
    told = [said.text for said in known]
    if all(" as fast " in text for text in told):
        told[1:] = [text.replace("as fast ", "") for text in told[1:]]
    title = ", ".join(f"v{n.id} took {_took(result)}" for n in than if (result := history.result(n.key)))
    how = dict.fromkeys(", ".join(filter(None, (said.how, said.caches))) for said in known)
    return {"text": ", ".join(told), "title": "; ".join((title, *how))}


def ahead(history: History, tree: Tree) -> dict[str, dict[str, Any]]:
    """Say how many times as fast the best variant is as that on show; nothing where nobody can tell the two apart."""
    best = history.best.get(tree.task)
    node = None if best is None else tree.nodes.get(best)
    if node is None or node.id == tree.at:
        return {}
    said = history.verdict(node.key, tree.nodes[tree.at].key, f"v{tree.at}")
    if said is None or not said.told or not said.ratio:
        return {}
    return {"ahead": {"gain": rounded(1.0 / said.ratio), "text": ", ".join(filter(None, (said.full, said.how)))}}


def best_beside(state: SessionState, node: TreeNode) -> tuple[Best, TreeNode | None, Verdict] | None:
    """Return the best of the task on show, the variant that it is, if it is one, and how fast it is beside another one;
    None where it is no faster, or nobody can tell the two apart.
    """
    best, result = None if state.index is None else state.best(state.index), state.history.result(node.key)
    if state.index is None or best is None or best.sure == "disturbed" or result is None or not result.clean_ms:
        return None
    found = state.node_of(state.index, best.record)
    if found is None and best.record.trial < 0 and best.record.origin != "default":
        # that variant was let go: the best of those that are left
        found = state.tree.nodes.get(state.history.best.get(state.index) or 0)
    if found is not None:
        than = state.history.verdict(found.key, node.key, f"v{node.id}")
    else:
        than = verdict(f"v{node.id}", node.key, result, Result("ok", best.ms, best.spread), None)
    return None if than is None or not than.told or than.ratio >= 1.0 else (best, found, than)


def versus(history: History, tree: Tree, a: int, b: int) -> str:
    """Say how fast the variant `b` is beside `a`, and how that is known; "" where one has no time."""
    said = history.verdict(tree.node(b).key, tree.node(a).key, f"v{a}")
    return "" if said is None else ", ".join(filter(None, (said.full, said.how, said.caches)))


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
    keys = (a.key, b.key)
    known: PairResult | None = state.history.contests.get(pair)
    if known is not None and known.state == "running":
        return
    before = PairResult(keys) if known is None else known
    state.history.contests[pair] = replace(before, state="running")

    def work() -> Callable[[], None]:
        with held(state.watch):
            found = _measured(a, b, state.target, state.constants)
        return lambda: state.meet(keys, found)

    host.later(f"contest {a.key[0]} {a.id} {b.id}", work, "measure")  # numbers of variants are those of their task


def _measured(a: TreeNode, b: TreeNode, target: Any, constants: str) -> Contest | str:
    """Time two variants; an error that is raised becomes a result like any other."""
    try:
        funcs = [a.schedule.func, b.schedule.func]
        return schedule_methods.contest(funcs, a.schedule.base, target, constants=constants)
    except WorkbenchError as error:
        return render(error)
    except Exception as error:
        return f"{error_json(error)['message']} [internal]"
