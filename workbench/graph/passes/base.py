"""Passes: declared units that map a graph to a graph, listed in one order, switched off by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from workbench.arguments import is_a
from workbench.errors import UsageError
from workbench.graph.graph import Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.registry import Registry, summary

Run: TypeAlias = Callable[[Graph], Graph]


@dataclass(frozen=True, slots=True)
class Pass:
    """One declared pass.

    Attributes
    ----------
    name : str
    doc : str
        What it does, in one sentence.
    run : callable
        From graph to graph; every output keeps its name, type and value.
    default : bool
        Whether `Graph.optimize` runs it unless told otherwise.
    requires : tuple of str
        Passes without which it does nothing useful: where one of them is left out, so is this one, and in an order
        of one's own they have to come before it.
    """

    name: str
    doc: str
    run: Run
    default: bool = True
    requires: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Everything but the function."""
        return {"name": self.name, "doc": self.doc, "default": self.default, "requires": list(self.requires)}


_PASSES: Registry[Pass] = Registry("pass", "passes", "usage.pass")


class Journal(dict[str, str]):
    """Node name -> reason, and whatever else a pass has to show of what it decided (`detail`)."""

    detail: object = None


_JOURNAL: ContextVar[Journal | None] = ContextVar("journal", default=None)


def graph_pass(name: str, *, default: bool = True, requires: Sequence[str] = ()) -> Callable[[Run], Run]:
    """Declare a function Graph -> Graph as the pass `name`; the first line of its docstring describes it."""

    def wrap(fn: Run) -> Run:
        _PASSES[name] = Pass(name, summary(fn), fn, default, tuple(requires))
        return fn

    return wrap


def passes() -> dict[str, Pass]:
    """All declared passes by name."""
    return dict(_PASSES)


def find_pass(name: str) -> Pass:
    """Pass by name; `UsageError` "usage.pass" when there is none."""
    return _PASSES.find(name)


def run_pass(graph: Graph, name: str) -> Graph:
    """Run one pass.

    Raises
    ------
    UsageError
        "usage.pass" when there is no pass of that name.
    """
    return find_pass(name).run(graph)


def select_passes(order: Sequence[str], without: Iterable[str] | str = ()) -> tuple[str, ...]:
    """What is left of an order of passes when some, and those that require them, are left out.

    Raises
    ------
    UsageError
        "usage.pass" for a name that is unknown, "usage.pass_order" where a pass stands before one that it requires.
    """
    names = (without,) if isinstance(without, str) else is_a("without", without, Iterable, "give names of passes")
    off = {find_pass(name).name for name in names}
    while more := {n for n in order if n not in off and not off.isdisjoint(find_pass(n).requires)}:
        off |= more
    seen: set[str] = set()
    for name in order:
        late = [r for r in find_pass(name).requires if r not in seen and r not in off]
        if late and name not in off:
            text = f"The pass {name!r} needs {late[0]!r} before it."
            raise UsageError("usage.pass_order", text, (name, late[0]), f"put {late[0]!r} first, or leave {name!r} out")
        seen.add(name)
    return tuple(n for n in order if n not in off)


@contextmanager
def journal() -> Iterator[Journal]:
    """Collect what passes say about nodes with `because`: node name -> reason."""
    found = Journal()
    token = _JOURNAL.set(found)
    try:
        yield found
    finally:
        _JOURNAL.reset(token)


def because(reason: str, *nodes: str) -> None:
    """Say why nodes (by name) are removed, added or changed; kept only while somebody looks (`explain`)."""
    found = _JOURNAL.get()
    if found is not None:
        found.update(dict.fromkeys(nodes, reason))


def replace_each(
    graph: Graph,
    replacement: Callable[[GraphEditor, Node], list[Node] | None],
    reason: str,
    note: Callable[[list[Node]], str],
) -> Graph:
    """Let other nodes take the place of those that `replacement` has some for; `note` tells it of the replaced ones."""
    editor, replaced = GraphEditor(graph), list[Node]()
    for node in graph.nodes:
        if new := replacement(editor, node):
            editor.swap(node, new)
            replaced.append(node)
    because(reason, *(n.name for n in replaced))
    return editor.finish(note(replaced)) if replaced else graph


def keep_detail(detail: object) -> None:
    """Keep what a pass decided, as a value with `to_json` and `_repr_html_`, while somebody looks (`explain`)."""
    found = _JOURNAL.get()
    if found is not None:
        found.detail = detail
