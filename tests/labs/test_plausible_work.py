"""Work that looks right and is not: no goal that it misses may say that it is reached."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench import labs
from workbench.labs.attempt import Attempt


def found(lab, exercise, work):
    """What a check says of a function, on the first sizes of an exercise."""
    exercise = next(e for e in labs.plans()[lab].exercises if e.name == exercise)
    attempt = Attempt(exercise, exercise.settings(wb.Target.host(threads=1))[0])
    return {f.text: f.good for f in attempt.check(work).findings[len(exercise.predictions) :]}


def joins_views(graph):
    kernels, home = [], {}
    for node in graph.nodes:
        free = [t for t in node.inputs if t in home and len(graph.consumers()[t]) == 1 and t not in graph.outputs]
        kernel = home[free[0]] if free and node.op in ("Relu", "Add", "Sigmoid", "Mul") else []
        if not kernel:
            kernels.append(kernel)
        kernel.append(node.name)
        home[node.outputs[0]] = kernel
    return kernels


def test_a_kernel_with_a_view_is_told():
    network, forks = found("networks", "fuse", joins_views).items()
    assert network[1]
    assert not forks[1]
    assert "with a view" in forks[0]


@pytest.mark.parametrize(
    ("choose", "good"),
    [
        (lambda weights, best: max(range(len(best)), key=lambda k: best[k][-1]), [True, False, True]),  # no weights
        (lambda weights, best: max(range(len(best)), key=lambda k: weights[k] * best[k][-1]), [False, True, True]),
        (
            lambda weights, best: max(range(len(best)), key=lambda k: weights[k] * best[k][-1] / len(best[k])),
            [True, True, True],
        ),
    ],
)
def test_weights_and_rounds_both_count_for_the_next_trial(choose, good):
    assert list(found("networks", "trials", choose).values()) == good


def test_the_tuners_tile_in_plain_rows_does_not_beat_the_tuner():
    exercise = next(e for e in labs.plans()["capstone"].exercises if e.name == "hand")
    target = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512", threads=2)
    for at in exercise.settings(target):
        s = Attempt(exercise, at).schedule
        s.compute_inline("bias_add")
        s.split("o", [None, 32])
        s.reorder("h", "o.0", "kh", "kw", "c", "w", "o.1")
        s.unroll("w")
        s.vectorize("o.1")
        s.reverse_compute_at("relu", "o.0")
        s.parallel("n", "h")
        s.unroll("relu_w")
        s.vectorize("relu_o")
        missed = [text for good, text in (goal.reached(s, at) for goal in exercise.goals) if not good]
        assert len(missed) == 1, missed
        assert "lines are fetched" in missed[0]


def without_tiles_outside(cfg, s):
    lanes = cfg.machine.lanes
    cfg.define_split("tile_i", cfg.match.i, num_outputs=2)
    cfg.define_split("tile_j", cfg.match.j, num_outputs=2, filter=lambda e: e.size[-1] % lanes == 0)
    i1, j1 = cfg["tile_i"].apply(s)[1], cfg["tile_j"].apply(s)[1]
    cfg.limit("fits", cfg["tile_i"].size[-1] * cfg["tile_j"].size[-1] <= (cfg.machine.registers - 4) * lanes)
    cfg.define_reorder("order", [cfg.match.k, i1, j1])
    cfg["order"].apply(s)
    s.vectorize(j1)
    cfg.define_knob("unroll", [False, True])
    if cfg["unroll"]:
        s.unroll(i1)


def test_a_template_without_the_best_tile_is_told_which_loops_stand_wrong():
    four, both, best = found("templates", "variants", without_tiles_outside).items()
    assert (four[1], both[1], best[1]) == (True, True, False)
    assert "Variant 0 has the loops i.0, k, j.0, i.1, j.1: i.0 and j.0 have to hold the other three." in best[0]
