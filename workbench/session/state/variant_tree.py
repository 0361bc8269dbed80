"""The tree of the states that a task's schedule went through, beside the cursor that moves among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Literal

from workbench.arguments import shown
from workbench.errors import UsageError
from workbench.schedule import Schedule
from workbench.session.state.results import Key

EdgeKind = Literal["start", "step", "steps", "fill", "replay"]
"""How a state came of the one before it: by one step, by several at once, by numbers put into its holes, by the steps
of another task's schedule, or of one with other numbers in a step."""

By = Literal["hand", "tuner", "template"]

ROOT = 0
"""Number of the program as it was written."""


@dataclass(slots=True)
class TreeNode:
    """A state of the schedule. Its schedule is nobody else's: copy it before moving it."""

    id: int
    parent: int | None
    key: Key
    schedule: Schedule
    edge: EdgeKind
    by: By
    label: str
    #: Steps taken since the program as it was written.
    steps: int = 0
    name: str = ""
    star: bool = False
    trial: int | None = None
    last_child: int | None = None

    @property
    def kept(self) -> bool:
        """Whether somebody said that it is worth keeping."""
        return self.star or bool(self.name)


def keys_of(task: int, schedule: Schedule) -> tuple[Key, ...]:
    """Name the states of a schedule, from the program as it was written to the last step that was undone."""
    texts = [str(step) for step in (*schedule.trace, *schedule.undone)]
    return tuple((task, "\n".join(texts[:k])) for k in range(len(texts) + 1))


class Tree:
    """States of one task's schedule; one that is reached again is the same node. Only the session's thread uses it.

    Attributes
    ----------
    at : int
        The node on show.
    changes : int
        Grows whenever a node comes, goes or moves.
    """

    def __init__(self, task: int, schedule: Schedule) -> None:
        self.task = task
        root = TreeNode(ROOT, None, (task, ""), schedule.prefix(0), "start", "hand", "as written")
        self._nodes = {ROOT: root}
        self._by_key = {root.key: ROOT}
        self._next = ROOT + 1
        self.at = ROOT
        self.changes = 0

    # ----- looking

    @property
    def nodes(self) -> Mapping[int, TreeNode]:
        """The nodes by number, in the order of their numbers."""
        return MappingProxyType(self._nodes)

    def node(self, id: object) -> TreeNode:
        """Return a node.

        Raises
        ------
        UsageError
            "session.variant" when there is none of this number.
        """
        found = self._nodes.get(id) if isinstance(id, int) and not isinstance(id, bool) else None
        if found is None:
            hint = f"variants go from 0 to {self._next - 1}; one that was forgotten does not come back"
            raise UsageError("session.variant", f"There is no variant {shown(id)}", (), hint)
        return found

    def find(self, key: Key) -> TreeNode | None:
        """Return the node of a state, if it was reached before."""
        id = self._by_key.get(key)
        return None if id is None else self._nodes[id]

    def path(self, node: int) -> tuple[int, ...]:
        """Return the nodes from the root to this one."""
        return tuple(reversed([n.id for n in self._up(self.node(node))]))

    def single_steps(self, a: int, b: int) -> bool:
        """Whether one of two nodes came of the other by single steps."""
        for low, high in ((a, b), (b, a)):
            path = self.path(low)
            if high in path:
                return all(self._nodes[n].edge == "step" for n in path[path.index(high) + 1 :])
        return False

    def undone(self) -> Iterator[int]:
        """Nodes that `redo` would go to, next one first."""
        node = self._nodes[self.at]
        while node.last_child is not None:
            node = self._nodes[node.last_child]
            yield node.id

    def children(self, node: int) -> tuple[int, ...]:
        """Return the nodes that came of this one."""
        return tuple(n.id for n in self._nodes.values() if n.parent == node)

    def _up(self, node: TreeNode) -> Iterator[TreeNode]:
        yield node
        while node.parent is not None:
            node = self._nodes[node.parent]
            yield node

    # ----- following the cursor

    def follow(self, schedule: Schedule, by: By = "hand") -> int:
        """Go to the node of the state in which a schedule is; steps that are new become nodes.

        Undone steps of the schedule that were never seen are taken in as well: two quick moves look like one.
        """
        keys = keys_of(self.task, schedule)
        n = len(schedule.trace)
        old = self._nodes[self.at]
        ahead = (self._nodes[id].key for id in self.undone())
        if old.key == keys[n] and tuple(islice(ahead, len(keys) - n - 1)) == keys[n + 1 :]:
            return self.at
        if old.key in keys[n + 1 :]:  # an earlier state of what was on show
            by = old.by
        all_steps = schedule.copy().redo(len(keys))
        for k in range(self._known(keys, n, old.key) + 1, len(keys)):
            self._step(keys[k - 1], keys[k], all_steps, k, by)
        for before, after in zip(keys[n:], keys[n + 1 :], strict=False):
            self._nodes[self._by_key[before]].last_child = self._by_key[after]
        self.visit(self._by_key[keys[n]])
        return self.at

    def _known(self, keys: Sequence[Key], n: int, old: Key) -> int:
        """Return how many of the steps lead to a state from which on they are to be followed one by one."""
        if old in keys[:n]:  # steps were taken
            return keys.index(old)
        if keys[n] in self._by_key and old not in keys[n + 1 :]:
            return n
        return max(k for k in range(n + 1) if keys[k] in self._by_key)

    def _step(self, before: Key, key: Key, schedule: Schedule, k: int, by: By) -> None:
        """Make sure that a state hangs on the one before its last step."""
        parent, node = self._by_key[before], self.find(key)
        if node is None:
            step = schedule.trace[k - 1]
            self.add(parent, schedule.prefix(k), edge="step", by=by, label=str(step))
        elif node.parent != parent or node.edge != "step":
            self._hang(node, parent, str(schedule.trace[k - 1]))

    def _hang(self, node: TreeNode, parent: int, label: str) -> None:
        """Hang a node, with what came of it, on the state that is one step before."""
        for up in self._up(self._nodes[parent]):
            if up.parent == node.id:  # the new parent came of the node: that branch takes its place
                up.parent = node.parent
                if up.edge == "step":
                    up.edge, up.label = "steps", "other steps"
                break
        old = None if node.parent is None else self._nodes[node.parent]
        if old is not None and old.last_child == node.id:
            old.last_child = None
        if node.last_child is not None and self._nodes[node.last_child].parent != node.id:
            node.last_child = None
        node.parent, node.edge, node.label = parent, "step", label
        self.changes += 1

    def visit(self, node: int) -> None:
        """Go to a node; `redo` leads back to it from everywhere before it."""
        walk = self.node(node)
        self.at = node
        while walk.parent is not None:
            self._nodes[walk.parent].last_child = walk.id
            walk = self._nodes[walk.parent]

    # ----- changing

    def add(
        self, parent: int, schedule: Schedule, *, edge: EdgeKind, by: By, label: str, trial: int | None = None,
        id: int | None = None,
    ) -> int:  # fmt: skip
        """Add a state below another one, or return the node that it has already; it gets the number `id` if that is
        free.
        """
        steps = len(schedule.trace)
        key = keys_of(self.task, schedule)[steps]
        node = self.find(key)
        if node is None:
            number = self._next if id is None or id in self._nodes else id
            node = TreeNode(number, self.node(parent).id, key, schedule, edge, by, label, steps)
            self._next = max(self._next, number + 1)
            self._nodes[node.id] = node
            self._by_key[key] = node.id
            self.changes += 1
        if trial is not None and node.trial is None:
            node.trial = trial
        return node.id

    def add_reached(self, schedule: Schedule, label: str) -> int:
        """Add a state that was reached by several steps at once below the deepest state known on its way."""
        known = (self._by_key.get(key) for key in reversed(keys_of(self.task, schedule)[: len(schedule.trace)]))
        parent = next((id for id in known if id is not None), ROOT)
        return self.add(parent, schedule, edge="steps", by="hand", label=label)

    def unfold(self, id: int) -> None:
        """Put every single step between a node and the deepest state known before it.

        Raises
        ------
        UsageError
            "session.unfold" for a node that is one step from its parent already.
        """
        node = self.node(id)
        if node.edge in ("start", "step"):
            text = f"v{id} is {'the program as it was written' if node.edge == 'start' else 'one step from its parent'}"
            raise UsageError("session.unfold", text, (), "only several steps at once can be unfolded")
        keys = keys_of(self.task, node.schedule)[: node.steps + 1]
        start = max(k for k in range(len(keys) - 1) if keys[k] in self._by_key) if node.steps else 0
        for k in range(start + 1, len(keys)):
            self._step(keys[k - 1], keys[k], node.schedule, k, node.by)
        self.visit(self.at)

    def forget(self, id: int) -> None:
        """Remove a leaf that nobody named, starred or looks at.

        Raises
        ------
        UsageError
            "session.forget" for any other node.
        """
        node = self.node(id)
        why = (
            "it is on show" if id == self.at
            else "it is where everything began" if node.parent is None
            else "it has a name or a star" if node.kept
            else "others came of it" if self.children(id)
            else ""
        )  # fmt: skip
        if why:
            text = f"v{id} cannot be forgotten: {why}"
            raise UsageError("session.forget", text, (), "go elsewhere, or unmark it first")
        self._drop(node)

    def _drop(self, node: TreeNode) -> None:
        assert node.parent is not None
        parent = self._nodes[node.parent]
        if parent.last_child == node.id:
            parent.last_child = None
        del self._nodes[node.id], self._by_key[node.key]
        self.changes += 1
