from __future__ import annotations

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import workbench
from workbench import workloads
from workbench.errors import TuneError, UsageError
from workbench.graph.tasks import Task
from workbench.ir.compact_temporaries import compact
from workbench.ir.interpreter.interp import random_inputs
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.text.printer import to_text
from workbench.ir.unit_loops import drop_unit_loops
from workbench.ir.verify import verify
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Hole, Schedule
from workbench.space.default_schedule import default_schedule
from workbench.space.sampling import Sampler, neighbours
from workbench.space.shared_steps.register_tiles import vector_choices
from workbench.space.sketch.rule_table import RULES, sketch_rule
from workbench.space.space import make_space, space_from_schedule
from workbench.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")
ODD = {
    "prime": lambda: workloads.matmul(13, 17, 19),
    "row": lambda: workloads.dense(1, 50, 31, relu=True),
    "conv_odd": lambda: workloads.conv2d_nhwc(7, 13, 5, 40, bias=True, relu=True, residual=True),
    "conv_1000": lambda: workloads.conv2d_nhwc(5, 5, 8, 250, kernel=1, padding=0, bias=True, relu=True),
    "conv_panels": lambda: workloads.conv2d_nhwc(6, 6, 64, 32, bias=True, relu=True),
    "pool_global": lambda: workloads.global_avg_pool(7, 7, 100),
}
WORKLOADS = dict(workloads.ALL) | ODD


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_every_row_is_legal_and_computes_the_right_thing(name):
    func = WORKLOADS[name]()
    inputs = random_inputs(func, 1)
    want = evaluate(func, inputs)
    target = Target.host(threads=2)
    rng = np.random.default_rng(5)
    for variant in make_space(func, target).variants:
        for row in variant.sampler.draw(3, rng):
            schedule = variant.schedule.fill(variant.sampler.row(row))
            verify(schedule.func)
            got = _run(schedule, inputs, target)
            for out, b in zip(got, func.outputs, strict=True):
                np.testing.assert_allclose(out, want[b.name], rtol=2e-4, atol=2e-4 * np.abs(want[b.name]).max())


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("n", [29, 59, 61, 113, 227, 239])
def test_primes_that_just_fit_the_registers_have_rows(cpu, n):
    """A broken vector takes room for half a vector more: what fits without it may not fit with it."""
    target = Target(f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu} -l1=32K -l2=2M -l3=32M -threads=2")
    depthwise = workloads.depthwise_conv2d_nhwc(13, 5, n, padding=0)
    for func in (workloads.matmul(16, n, 7), workloads.matvec(n, 33), depthwise):
        for variant in make_space(func, target).variants:
            assert len(variant.sampler.draw(1, np.random.default_rng(0))), f"{func.name}, variant {variant.index}"


def _run(schedule, inputs, target):
    from workbench.codegen.backend import build_func
    from workbench.runtime.kernel import Kernel

    kernel = Kernel(schedule.func, build_func(schedule.func, target, "k"), target)
    out = kernel(**{b.name: inputs[b.name] for b in schedule.func.inputs})
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_default_schedule_is_legal_deterministic_and_replays(name):
    func = WORKLOADS[name]()
    first, second = default_schedule(func, TARGET), default_schedule(func, TARGET)
    assert not first.func.holes
    verify(first.func)
    assert first.to_json() == second.to_json()
    assert to_text(Schedule.from_json(func, first.to_json()).func) == to_text(first.func)


def test_rules_of_a_user_have_no_part_in_the_default_schedule():
    """The log calls it the one of its task; and what is wrong with a rule is told with the space, once."""
    func = workloads.matmul(8, 16, 8)
    usual = default_schedule(func, TARGET).to_json()

    def fetch(draft, machine):
        s = draft.schedule.copy()
        s.annotate("k", "prefetch", 1)
        return draft.change("mine", "the next row", s)

    for function in (fetch, lambda draft, machine: 1 / 0):
        rule = sketch_rule("mine")(function)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert default_schedule(func, TARGET).to_json() == usual
        finally:
            rule.forget()


def test_limits_hold_for_every_drawn_and_bred_row():
    variant = make_space(workloads.conv2d_nhwc(28, 28, 128, 128, bias=True, relu=True), TARGET).variants[3]
    sampler, rng = variant.sampler, np.random.default_rng(0)
    picks = sampler.draw(500, rng)
    assert len(picks) == 500
    mutated, group = sampler.mutate(picks, rng)
    crossed = sampler.cross(mutated, picks[::-1], rng)
    for rows in (picks, mutated, crossed):
        assert sampler.mask(rows).all()
        columns = sampler.columns(rows)
        tile = columns["h_3"] * columns["w_3"] * columns["o_3"]
        assert (tile <= 31 * 16).all()
        assert (columns["h_0"] * columns["w_0"] * columns["o_0"] >= 2).all()
    changed = (mutated != picks).sum(axis=1)
    assert changed.max() == 1
    assert (changed > 0).mean() > 0.5
    assert set(group) <= {-1, *range(picks.shape[1])}


def test_mutation_reaches_every_row_of_a_small_space():
    variant = make_space(workloads.matmul(8, 32, 8), TARGET).variants[0]
    everything = {tuple(r) for r in variant.sampler.draw(10_000, np.random.default_rng(0))}
    rng = np.random.default_rng(1)
    rows = variant.sampler.draw(1, rng)
    seen = {tuple(rows[0])}
    for _ in range(60):
        rows = np.concatenate([rows, variant.sampler.mutate(rows, rng)[0]])
        rows = np.unique(rows, axis=0)
        seen |= {tuple(r) for r in rows}
    assert seen == everything


def test_neighbours_differ_by_one_prime_factor():
    variant = make_space(workloads.matmul(36, 64, 8), TARGET).variants[0]
    group = variant.sampler.domain.groups[0]
    degree, table = neighbours(group)
    for k, values in enumerate(group.table):
        for j in table[k, : degree[k]]:
            ratio = sorted(group.table[j] / values)
            assert ratio[0] * ratio[-1] == pytest.approx(1.0)
            assert ratio[-1] in (2.0, 3.0)
            assert np.prod(group.table[j]) == np.prod(values)


def test_equal_keys_mean_equal_programs():
    space = make_space(workloads.conv2d_nhwc(6, 6, 64, 32, bias=True, relu=True), TARGET)
    by_key: dict[int, set[str]] = {}
    by_text: dict[str, set[int]] = {}
    for variant in space.variants:
        picks = variant.sampler.draw(60, np.random.default_rng(2))
        for row, key in zip(picks, variant.keys(picks), strict=True):
            text = _anonymous(variant.schedule.fill(variant.sampler.row(row)).func)
            by_key.setdefault(int(key), set()).add(text)
            by_text.setdefault(text, set()).add(int(key))
    assert all(len(texts) == 1 for texts in by_key.values())
    assert all(len(keys) == 1 for keys in by_text.values())


def _anonymous(func) -> str:
    """Text of the nest with its loops numbered."""
    text = to_text(compact(drop_unit_loops(func)))
    for k, name in enumerate(dict.fromkeys(re.findall(r"(?:for|unroll|vectorize|parallel) ([\w.]+) in", text))):
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", f"@{k}", text)
    return text


@pytest.mark.parametrize(
    ("extent", "want"),
    [(64, (16, 32, 64)), (512, (16, 32, 64, 128)), (48, (16, 48)), (40, (8, 40)), (1000, (8, 40, 200)), (13, (13,)),
     (24, (8, 24)), (17, (17,)), (3, (3,)), (1009, (1009,)), (10007, (1,))],
)  # fmt: skip
def test_vector_extents(extent, want):
    assert vector_choices(extent, Machine(lanes=16)) == want


def test_explanation_names_rules_reasons_and_limits():
    text = make_space(workloads.conv2d_nhwc(14, 14, 64, 64, bias=True, relu=True), TARGET).explain()
    for word in ("tile", "pack", "fuse", "pad", "inline", "constant", "registers", "thread"):
        assert word in text
    assert all(r.doc for r in RULES)


def test_space_is_the_same_every_time_and_differs_between_targets():
    func = workloads.matmul(64, 64, 64)
    assert make_space(func, TARGET).id == make_space(func, TARGET).id
    serial = Target(str(TARGET).replace("-threads=2", "-threads=1"))
    assert make_space(func, serial).id != make_space(func, TARGET).id


def test_wishes_that_cannot_be_met_are_dropped_and_the_explanation_says_so():
    space = make_space(workloads.matmul(1, 16, 8), TARGET)
    variant = space.variants[0]
    assert len(variant.sampler.draw(4, np.random.default_rng(0)))
    assert "dropped    there is work for every thread: no row fulfils it" in space.explain()
    assert variant.features(np.zeros((0, len(variant.sampler.domain.groups)), np.int64)).shape[0] == 0


def test_space_of_a_schedule_with_holes():
    s = Schedule(workloads.matmul(32, 32, 32), TARGET)
    s.split("j", [None, Hole(choices=[8, 16])])
    s.reorder("i", "j.0", "k", "j.1")
    s.vectorize("j.1")
    space = space_from_schedule(s)
    assert len(space.variants) == 1
    assert space.size == 2
    with pytest.raises(TuneError):
        space.schedule(SimpleNamespace(variant=7, row={}))


def test_a_user_makes_a_space_of_a_task_or_of_a_schedule():
    """`workbench.make_space`: for the task's own target, and for what a schedule leaves open."""
    func = workloads.matmul(32, 32, 32)
    space = workbench.make_space(Task.of_func(func, TARGET))
    assert space.id == make_space(func, TARGET).id
    assert all(str(v.schedule.target) == str(TARGET) for v in space.variants)
    s = Schedule(func, TARGET)
    s.split("j", [None, Hole(choices=[8, 16])])
    assert workbench.make_space(s).id == space_from_schedule(s).id
    with pytest.raises(UsageError) as e:
        workbench.make_space(s, structure="SSRS")
    assert e.value.code == "space.schedule"
    with pytest.raises(UsageError) as e:
        workbench.make_space("matmul")
    assert e.value.code == "usage.type"


def test_small_spaces_are_enumerated():
    variant = make_space(workloads.matmul(4, 16, 4), TARGET).variants[0]
    picks = variant.sampler.draw(1000, np.random.default_rng(0))
    assert len(np.unique(picks, axis=0)) == len(picks)
    assert len(picks) == int(Sampler(variant.sampler.domain).mask(picks).sum())
