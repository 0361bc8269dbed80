"""The variants of all tasks as a file, to come back to after the kernel was restarted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from workbench import __version__
from workbench.errors import UsageError, WorkbenchError
from workbench.files import replace_file
from workbench.markup import clean, milliseconds, shortened
from workbench.schedule import Schedule
from workbench.schedule.primitive import from_json
from workbench.session.core.notifications import note
from workbench.session.state.results import Key, Result
from workbench.session.state.session_state import SessionState
from workbench.session.state.variant_tree import ROOT, By, EdgeKind, Tree, TreeNode

KIND, SCHEMA = "variants", 1

#: Milliseconds, share or GFLOP/s: a larger number is none that was measured.
MOST = 1e12

HINT = "give a file that save_variants, or Workbench(..., variants=path), has written"


def untouched(state: SessionState) -> bool:
    """Whether the task on show has no other variants than those that came back by themselves."""
    if state.index is None:
        return False
    tree = state.history.trees.get(state.index)
    if tree is None or tree.at != ROOT or any(node.kept for node in tree.nodes.values()):
        return False
    return state.recalled.get(state.index) == tree.changes


def save(state: SessionState, path: str, traces: dict[Key, list[Any]] | None = None) -> None:
    """Write the variants of all tasks; call it in the session's thread.

    Parameters
    ----------
    traces : dict, optional
        Steps of the states, kept from one call to the next.

    Raises
    ------
    UsageError
        "variants.unwritable".
    """
    value = {"kind": KIND, **content(state, traces)}
    part = Path(f"{path}.part")
    try:
        part.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")
        replace_file(part, path)  # a kernel that dies meanwhile leaves what was there before
    except OSError as error:
        message = f"The variants cannot be written: {error.strerror or error}"
        raise UsageError("variants.unwritable", message, [path]) from error


def content(state: SessionState, traces: dict[Key, list[Any]] | None = None) -> dict[str, Any]:
    """Return the variants of all tasks as plain JSON; `traces` as for `save`."""
    kept = {} if traces is None else traces
    state.view()
    return {
        "schema": SCHEMA, "workbench": __version__, "target": str(state.target), "constants": state.constants,
        "task": None if state.index is None else state.infos[state.index].key,
        "tasks": [_task(state, tree, kept) for tree in state.history.trees.values()],
    }  # fmt: skip


def _task(state: SessionState, tree: Tree, traces: dict[Key, list[Any]]) -> dict[str, Any]:
    info = state.infos[tree.task]
    return {
        "key": info.key, "name": info.name, "weight": info.weight, "at": tree.at,
        "nodes": [_node(state, node, traces) for node in tree.nodes.values()],
    }  # fmt: skip


def _node(state: SessionState, node: TreeNode, traces: dict[Key, list[Any]]) -> dict[str, Any]:
    if node.key not in traces:
        traces[node.key] = list(node.schedule.to_json())
    out: dict[str, Any] = {
        "id": node.id, "parent": node.parent, "edge": node.edge, "by": node.by, "label": node.label, "name": node.name,
        "star": node.star, "trial": node.trial, "trace": traces[node.key],
    }  # fmt: skip
    result = state.history.result(node.key)
    if result is not None and result.status == "ok":
        out.update(ms=result.ms, spread=result.spread, gflops=result.gflops)
        if result.why_not:
            out.update(why_not=result.why_not, at_least_ms=result.at_least_ms)
    return out


def load(state: SessionState, path: str) -> None:
    """Take the variants of a file in, and show the one that was on show; call it in the session's thread.

    A shared schedule stays where it is.

    Raises
    ------
    UsageError
        "variants.missing", "variants.file".
    """
    take_in(state, _read(path), Path(path).name)


def take_in(state: SessionState, value: Mapping[str, Any], name: str) -> None:
    """Take in what `content` returned, of which `is_sound` is true; `name` is what it is called in a note."""
    state.begun = True
    other = _other_conditions(state, value)
    known = {info.key: index for index, info in enumerate(state.infos) if info.task is not None}
    lost = strange = 0
    shown = state.index
    for task in value["tasks"]:
        if task["key"] not in known:
            strange += 1
            continue
        state.open_task(known[task["key"]])
        lost += _restore(state, task, other)
        if task["key"] == value.get("task"):
            shown = state.index
    if shown is not None:
        state.open_task(shown)
    told = [f"{strange} of its tasks are not here"] if strange else []
    told += [f"{lost} variants have steps that are not legal any more"] if lost else []
    told += [f"its times were measured {other}: they stand beside the variants, and are not compared"] if other else []
    if told:
        state.note = note("warn", f"Variants of {name}: {'; '.join(told)}", "variants.partly")


def _other_conditions(state: SessionState, value: Mapping[str, Any]) -> str:
    """Say under which other conditions times were measured; "" where they are those of here."""
    target, constants = str(value.get("target", "")), str(value.get("constants", ""))
    words = [f"for {shortened(clean(target), 120) or 'another target'}"] if target != str(state.target) else []
    words += [f"with constants “{shortened(clean(constants), 20)}”"] if constants != state.constants else []
    return " and ".join(words)


def _read(path: str) -> dict[str, Any]:
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        text = f"The variants cannot be read: {error.strerror or error}"
        raise UsageError("variants.missing", text, [path], HINT) from error
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("kind") != KIND or not is_sound(value):
        raise UsageError("variants.file", "This file does not hold variants", [path], HINT)
    return value


def is_sound(value: Mapping[str, Any]) -> bool:
    """Whether a value is what `content` returns; what its steps mean is seen when they are taken."""
    try:
        return all(_sound(node) for task in value["tasks"] for node in _nodes(task))
    except (TypeError, KeyError, AttributeError):
        return False


def _nodes(task: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if not isinstance(task["key"], str) or not isinstance(task.get("at"), int | None):
        raise TypeError
    yield from task["nodes"]


def _sound(node: Mapping[str, Any]) -> bool:
    """Whether a node is one; what its steps mean is seen when they are taken."""
    numbers = [node.get(name) for name in ("ms", "spread", "gflops", "at_least_ms")]
    return (
        type(node["id"]) is int
        and node["id"] >= 0
        and (node["parent"] is None) == (node["id"] == ROOT)
        and isinstance(node["parent"], int | None)
        and node["edge"] in get_args(EdgeKind)
        and node["by"] in get_args(By)
        and all(isinstance(node[name], str) for name in ("label", "name"))
        and all(isinstance(node.get(name, ""), str) for name in ("why_not", "than"))
        and isinstance(node["trial"], int | None)
        and isinstance(node["trace"], list)
        and all(x is None or (isinstance(x, int | float) and 0 <= x <= MOST) for x in numbers)
    )


def _restore(state: SessionState, task: Mapping[str, Any], other: str) -> int:
    """Take the variants of the task on show in; return how many could not be. `other` as `_other_conditions` says."""
    if untouched(state):  # the file has more of them, and their numbers
        state.history.drop(state.tree.task)
        state.recalled[state.tree.task] = -1
    tree = state.tree
    fresh = len(tree.nodes) == 1
    there = {ROOT: ROOT}
    waiting = list(task["nodes"])
    while ready := [node for node in waiting if node["id"] == ROOT or node["parent"] in there]:
        waiting = [node for node in waiting if node not in ready]
        for node in ready:
            if node["id"] != ROOT:
                try:
                    schedule = _schedule(tree.node(there[node["parent"]]).schedule, tree, node["trace"])
                except WorkbenchError:
                    continue
                there[node["id"]] = tree.add(
                    there[node["parent"]], schedule, edge=node["edge"], by=node["by"], label=clean(node["label"]),
                    trial=node["trial"], id=node["id"] if fresh else None,
                )  # fmt: skip
            _mark(state, tree.node(there[node["id"]]), node, other)
    state.recall()
    if state.opened.schedule is None and (at := task.get("at")) in there:
        state.go(there[at])
    return len(task["nodes"]) - len({node["id"] for node in task["nodes"]} & there.keys())


def _schedule(parent: Schedule, tree: Tree, trace: list[Any]) -> Schedule:
    """Return the schedule with these steps, from that of its parent where they begin like it."""
    done = list(parent.to_json())
    begin = parent if trace[: len(done)] == done else tree.node(ROOT).schedule
    out = begin.copy()
    for step in trace[len(out.trace) :]:
        out.apply(from_json(step))
    return out


def _mark(state: SessionState, node: TreeNode, saved: Mapping[str, Any], other: str) -> None:
    node.name = node.name or clean(saved["name"])
    node.star = node.star or saved.get("star") is True
    than = shortened(clean(saved.get("than", "")), 120)
    if (other or than) and saved.get("ms"):
        time = f"{'≤ ' * bool(saved.get('why_not'))}{milliseconds(saved['ms'])}"
        where = f"measured there, {other}" if other else "when it was sent"
        state.history.elsewhere[node.key] = f"{time} {where}{than and f', {than}'}"
    if not other and saved.get("ms") and node.key not in state.history.results:
        state.history.results[node.key] = Result(
            "ok", saved["ms"], saved.get("spread"), saved.get("gflops"),
            why_not=clean(saved.get("why_not", "")), at_least_ms=saved.get("at_least_ms"),
        )  # fmt: skip
