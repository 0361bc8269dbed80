"""Steps in a session, by whomever and in any order: undo takes back what was done, and the tree of variants is the set
of the states that were visited.
"""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import Schedule, Session, Target, Task, te, workloads
from workbench.graph.structural_key import structural_key
from workbench.ir import Func
from workbench.session.registry import SLICES
from workbench.session.state.history import Tree

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=2)


def two_stages() -> Func:
    a = te.placeholder((8, 12), name="a")
    b = te.compute((8, 12), lambda i, j: a[i, j] * 2.0, name="b")
    k = te.reduce_axis(12, "k")
    c = te.compute((8,), lambda i: te.sum(b[i, k], axis=k), name="c")
    return te.func([a, c], "two_stages")


FUNCS = {"matmul": workloads.matmul(16, 16, 16), "two stages": two_stages()}

ACTIONS = st.one_of(
    st.tuples(st.sampled_from(["apply", "apply", "python"]), st.integers(0, 10**6)),
    st.tuples(st.sampled_from(["undo", "redo", "python undo", "python redo"]), st.integers(0, 3)),
    st.tuples(st.sampled_from(["goto", "branch", "unfold", "leap"]), st.integers(0, 10**6)),
)


def text(schedule: Schedule) -> str:
    return "\n".join(map(str, schedule.trace))


def proposal(schedule: Schedule, pick: int) -> dict | None:
    """One of the legal steps at one of the loops."""
    loops = schedule.loops
    moves = [m for m in schedule.moves(loops[pick % len(loops)].name) if m.legal] if loops else []
    return moves[pick // 7 % len(moves)].step.to_json() if moves else None


class Walk:
    """A session and what has to be true of it."""

    def __init__(self, task: Task) -> None:
        self.session = Session(task, target=TARGET, auto_measure=False)
        self.visited = {""}

    @property
    def cursor(self) -> Schedule:
        return self.session.schedule

    @property
    def tree(self) -> Tree:
        return self.session.state.history.trees[0]

    def note(self) -> None:
        """Take note of what Python may have done: every step since the deepest state that was visited before."""
        cursor = self.cursor
        whole = cursor.copy().redo(99)
        chain = [text(whole.prefix(k)) for k in range(len(whole.trace) + 1)]
        known = max(k for k in range(len(cursor.trace) + 1) if chain[k] in self.visited)
        self.visited |= set(chain[known:])

    def do(self, name: str, n: int) -> None:
        s, tree = self.session, self.tree
        if name in ("apply", "python"):
            step = proposal(self.cursor, n)
            if step is None:
                return
            if name == "apply":
                s.run("apply", step=step)
            else:
                self.cursor.apply(Schedule.from_json(self.cursor.func, [step]).trace[0])
                s.run(lambda: None)
            self.note()
            self.taken_back_and_again()
        elif name in ("undo", "redo"):
            s.run(name, n=n)
        elif name.startswith("python"):
            getattr(self.cursor, name.split()[1])(n)
            s.run(lambda: None)
            self.note()
        elif name == "leap":
            self.leap(list(tree.nodes)[n % len(tree.nodes)], n)
        else:
            node = list(tree.nodes)[n % len(tree.nodes)]
            if name != "unfold":
                s.run(name, **({"step": node} if name == "goto" else {"node": node}))
            elif tree.node(node).edge == "steps":
                s.run("unfold", node=node)
                found = tree.node(node).schedule
                known = max(k for k in range(len(found.trace)) if text(found.prefix(k)) in self.visited)
                self.visited |= {text(found.prefix(k)) for k in range(known, len(found.trace) + 1)}

    def leap(self, node: int, n: int) -> None:
        """Open a schedule some steps away, as a trial of the tuner is opened."""
        far = self.tree.node(node).schedule.copy()
        for k in range(3):
            if (step := proposal(far, n + k)) is not None:
                far.apply(Schedule.from_json(far.func, [step]).trace[0])
        new = self.tree.add(node, far, edge="steps", by="tuner", label="leap")
        self.session.run("goto", step=new)
        self.visited.add(text(far))

    def taken_back_and_again(self) -> None:
        """Undo after a step leads to the state before it, redo after undo to that after it."""
        after, trace = self.cursor.func, self.cursor.trace
        at = self.tree.at
        self.session.run("undo")
        assert self.cursor.trace == trace[:-1]
        before = Schedule.from_json(self.cursor.base, [p.to_json() for p in trace[:-1]])
        assert structural_key(self.cursor.func) == structural_key(before.func)
        self.session.run("redo")
        assert self.cursor.func == after
        assert (self.tree.at, self.cursor.trace) == (at, trace)

    def check(self) -> None:
        history = self.session.snapshot().slices["history"]
        rows = {r["id"]: r for r in history["rows"]}
        nodes = self.tree.nodes
        assert {text(n.schedule) for n in nodes.values()} == self.visited
        assert len(nodes) == len(self.visited) == len(rows)
        at = nodes[history["at"]]
        assert text(at.schedule) == text(self.cursor)
        assert at.schedule.func == self.cursor.func
        assert history["path"] == list(self.tree.path(at.id))
        for row in rows.values():
            up = nodes[row["parent"]] if row["parent"] is not None else None
            if row["edge"] == "step":
                assert up is not None
                assert up.schedule.trace == nodes[row["id"]].schedule.trace[:-1]
        places = {(r["x"], r["y"]) for r in rows.values()}
        assert len(places) == len(rows)
        assert history["can_undo"] == (at.parent is not None)
        assert history["can_redo"] == (at.last_child is not None) == any(r["undone"] for r in rows.values())


@settings(max_examples=25)
@given(st.sampled_from(sorted(FUNCS)), st.lists(ACTIONS, max_size=6))
def test_undo_takes_back_what_was_done_and_the_tree_is_what_was_visited(func, actions):
    shown = {name: SLICES[name] for name in ("head", "history")}  # the other panels take long and play no part
    with patch.dict(SLICES, shown, clear=True):
        walk = Walk(Task.of_func(FUNCS[func], TARGET))
        try:
            for name, n in actions:
                walk.do(name, n)
                walk.check()
            walk.session.run("undo", n=99)
            assert walk.cursor.func == walk.cursor.base
        finally:
            walk.session.close()
