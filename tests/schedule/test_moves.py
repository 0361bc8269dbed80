"""`Schedule.moves`: steps that differ in numbers alone are judged once, and what is said of them stays the same."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import Schedule, Target, workloads
from workbench.ir import loops
from workbench.schedule.legal_moves import judge
from workbench.schedule.legality import loop_kinds
from workbench.schedule.primitive import registry
from workbench.schedule.primitives.bind import Bind
from workbench.schedule.primitives.fuse_reorder import Fuse, Reorder
from workbench.schedule.primitives.loop_annotations import mark
from workbench.schedule.primitives.pad import Pad
from workbench.schedule.primitives.split import Split, Tile
from workbench.space.default_schedule import default_schedule

from . import nests

STEPS = 6


SUBJECTS = {
    "matmul": lambda: Schedule(workloads.matmul(64, 64, 64), Target.host()),
    "stages": lambda: Schedule(nests.two_products(), Target.host()),
    "digits": lambda: Schedule(nests.digits(), Target.host()),
    "conv": lambda: Schedule(workloads.conv2d_nhwc(8, 8, 16, 16), Target.host()),
    "default": lambda: default_schedule(workloads.conv2d_nhwc(8, 8, 16, 16), Target.host()),
}


def judged(schedule: Schedule, at: str | None = None) -> list[dict[str, object]]:
    """All moves, each judged by itself."""
    func, target = schedule.func, schedule.target
    found = [judge(func, c, target).to_json() for cls in registry for c in cls.candidates(func, target, at)]
    return sorted(found, key=lambda m: not m["legal"])


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(SUBJECTS)), st.integers(0, 1 << 30))
def test_what_is_judged_together_is_what_each_step_gets_by_itself(subject: str, seed: int) -> None:
    schedule, dice = SUBJECTS[subject](), random.Random(seed)
    for _ in range(dice.randint(0, STEPS)):
        legal = [m for m in schedule.moves(dice.choice(schedule.loops).name) if m.legal]
        if legal:
            schedule.apply(dice.choice(legal).step)
    at = dice.choice([None, *(lp.name for lp in schedule.loops)])
    assert [m.to_json() for m in schedule.moves(at)] == judged(schedule, at)


def test_a_loop_that_is_used_in_parts_is_judged_factor_by_factor() -> None:
    schedule = SUBJECTS["matmul"]()
    fused = schedule.fuse("i", "j")
    moves = schedule.moves(fused)
    assert [m.to_json() for m in moves] == judged(schedule, fused)
    splits = [m for m in moves if m.primitive == "split"]
    assert splits, "fused loops can be split"
    assert all(m.step.alike(schedule.func) is None for m in splits)


@pytest.mark.parametrize("factors", [(None, 3), (4, None), (None, 2, 2)])
def test_what_does_not_divide_or_is_cut_otherwise_speaks_for_itself(factors: tuple[int | None, ...]) -> None:
    func = workloads.matmul(64, 64, 64)
    assert Split("i", factors).alike(func) is None
    assert Split("i", (None, 4)).alike(func) == Split("i", (None, 16)).alike(func) is not None
    assert Split("i", (None, 4), "guard").alike(func) is None


def test_a_hole_is_judged_like_a_number_where_nothing_was_promised() -> None:
    from workbench.schedule import Hole

    open_, closed = Split("i", (None, Hole())), Split("i", (None, 4))
    func = workloads.matmul(64, 64, 64)
    assert open_.alike(func) == closed.alike(func) is not None
    assert Tile("i", "j", (None, Hole()), (None, Hole())).alike(func) == Tile("i", "j", (None, 4), (None, 4)).alike(
        func
    )
    marked = Schedule(func).parallel("i").func
    assert Split("j", (None, Hole())).alike(marked) is None, "a mark may be proved to hold for numbers only"


def test_tails_are_alike_where_one_block_can_tell_where_it_is() -> None:
    func = workloads.matmul(30, 50, 70)
    for tail in ("guard", "peel"):
        assert Split("i", (None, 4), tail).alike(func) == Split("k", (None, 16), tail).alike(func) is not None
    schedule = Schedule(func)
    inner = schedule.split("i", [None, 5])[1]
    assert Split(inner, (None, 2), "guard").alike(schedule.func) is None, "it is not the outermost part of its axis"
    parallel = Schedule(func).parallel("i").func
    assert Split("j", (None, 4), "peel").alike(parallel) is None, "marks are asked about the rest too"
    both = Schedule(nests.two_products())
    first, second = both.blocks[0].name, both.blocks[1].name
    both.compute_at(first, both.func.block(second)[1][0].name)
    shared = both.func.block(second)[1][0].name
    assert Split(shared, (None, 5), "guard").alike(both.func) is None, "two blocks would have to agree"


def test_loops_may_change_places_alike_where_no_reduction_tells_them_apart() -> None:
    schedule = Schedule(workloads.batch_matmul(4, 8, 8, 8))
    func, (b, i, j, k) = schedule.func, (lp.name for lp in schedule.loops)
    assert Reorder((i, b)).alike(func) == Reorder((j, i)).alike(func) is not None
    assert Reorder((k, j)).alike(func) is None, "one of them adds up"
    assert Reorder((b, j)).alike(func) is None, "they are not next to each other"
    assert Fuse((b, i)).alike(func) == Fuse((i, j)).alike(func) is not None
    unit = Schedule(func)
    unit.blockize(k)
    assert Reorder((i, b)).alike(unit.func) is None, "a unit stays as it is"
    assert Fuse((b, i)).alike(schedule.parallel(b).func) is None


def test_kinds_of_one_loop_are_alike_where_nothing_else_is_marked() -> None:
    func = workloads.matmul(64, 64, 2000)
    kinds = ("blockIdx.x", "threadIdx.x", "vthread")
    assert len({Bind("i", kind).alike(func) for kind in kinds} - {None}) == 1
    assert Bind("j", "blockIdx.x").alike(func) is None, "it is not outermost"
    assert Bind("k", "threadIdx.x").alike(func) is None, "so many threads are asked one by one"
    assert Bind("j", "vthread").alike(Schedule(func).parallel("i").func) is None


def test_by_how_much_an_axis_is_padded_is_asked_where_it_might_get_too_large() -> None:
    few, many = workloads.matmul(30, 30, 30), workloads.matmul(30_000, 30_000, 30_000)
    block = Schedule(few).blocks[0]
    name, axis = block.name, block.iters[0].name
    assert Pad(name, axis, 32).alike(few) == Pad(name, axis, 48).alike(few) is not None
    assert Pad(name, axis, 64).alike(few) is None
    assert Pad(name, axis, 30_016).alike(many) is None


def test_what_is_refused_for_two_reasons_can_be_looked_at() -> None:
    schedule = Schedule(workloads.conv2d_nhwc(8, 8, 4, 4, relu=True))
    schedule.fuse("kh", "kw")
    schedule.reverse_compute_at("relu", "h")
    move = next(m for m in schedule.moves("kh.kw") if m.primitive == "rfactor")
    assert move.code == "rfactor.consumers"
    assert move.to_json()["witness"] is None


def test_a_hint_is_looked_for_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.schedule.primitives import split

    asked: list[object] = []
    monkeypatch.setattr(split, "even_so", lambda *step: asked.append(step) or "; so it is")
    moves = [m for m in Schedule(workloads.matmul(30, 64, 64)).moves("i") if m.code == "split.divides"]
    assert moves
    assert not asked
    assert all(m.hint.endswith("; so it is") and m.hint == m.to_json()["hint"] for m in moves)
    assert len(asked) == len(moves), "each once"


@pytest.mark.parametrize("subject", ["conv", "digits", "stages"])
def test_marks_that_plainly_hold_are_marks_that_hold(subject: str) -> None:
    """Any loops marked by force: what is seen at a glance of a nest is what the checks of its loops one by one say."""
    said = {True: 0, False: 0}
    for seed in range(6):
        schedule, dice = SUBJECTS[subject](), random.Random(seed)
        for _ in range(STEPS // 2):
            legal = [m for m in schedule.moves(dice.choice(schedule.loops).name) if m.legal]
            schedule.apply(dice.choice([m for m in legal if m.primitive in ("split", "reorder", "fuse")] or legal).step)
        for lp, path in loops(schedule.func.body):
            func = schedule.func
            for name, kind in [(up.name, "parallel") for up in path] + [
                (lp.name, dice.choice(["parallel", "vectorize"]))
            ]:
                func = mark(func, name, kind)
            nest = next(s for s in func.body if s.name == (path[0] if path else lp).name)
            plainly = loop_kinds._plainly_marked(nest)
            said[plainly] += 1
            if plainly:
                loop_kinds._check_marked(func, nest, "step")
    assert min(said.values()) > 0
