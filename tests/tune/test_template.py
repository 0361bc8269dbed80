"""The templates of the package: on many shapes every variant is legal, right and close to what it says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench import workloads
from workbench.codegen.backend import build_func
from workbench.errors import TemplateError
from workbench.graph.tasks import Task
from workbench.ir import loops
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.text.printer import to_text
from workbench.ir.unit_loops import drop_unit_loops
from workbench.ir.verify import verify
from workbench.log import load_log
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.space.space import join_spaces, make_space
from workbench.space.template import TEMPLATES, Config, template
from workbench.target import Target
from workbench.tune.options import TuneOptions
from workbench.tune.plan.tune_context import TuneContext

AVX512 = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2"
AVX2 = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3 -l1=32K -l2=1M -l3=32M -threads=1"

#: Shapes of every template, primes and extents that no vector divides among them.
SHAPES = {
    "matmul": {
        "even": lambda: workloads.matmul(64, 96, 80),
        "prime": lambda: workloads.matmul(37, 53, 29, bias=True, relu=True),
        "few rows": lambda: workloads.matmul(3, 67, 16),
        "packed": lambda: workloads.matmul(40, 256, 64),
        "dense": lambda: workloads.dense(17, 40, 24, relu=True),
        "one row": lambda: workloads.dense(1, 1009, 13),
        "bytes": lambda: workloads.matmul_int8(16, 24, 12, constant_b=True),
        "double": lambda: workloads.matmul(16, 24, 8, dtype="float64"),
        "fetched": lambda: workloads.dense(8, 320, 256),
    },
    "conv2d_nhwc": {
        "winograd": lambda: workloads.conv2d_nhwc(8, 8, 16, 32, bias=True, relu=True),
        "cropped": lambda: workloads.conv2d_nhwc(7, 9, 3, 20, residual=True, relu=True),
        "1x1": lambda: workloads.conv2d_nhwc(7, 5, 19, 37, 1, padding=0, bias=True),
        "stride": lambda: workloads.conv2d_nhwc(11, 11, 3, 21, stride=2),
        "7x7": lambda: workloads.conv2d_nhwc(17, 17, 3, 16, 7, stride=2, padding=3, relu=True),
        "panels": lambda: workloads.conv2d_nhwc(6, 6, 64, 32, stride=2, bias=True, relu=True),
        "dilated": lambda: workloads.conv2d_nhwc(9, 9, 4, 20, dilation=2, padding=2, batch=2),
    },
    "depthwise_conv2d_nhwc": {
        "even": lambda: workloads.depthwise_conv2d_nhwc(8, 8, 32, bias=True, relu=True),
        "odd": lambda: workloads.depthwise_conv2d_nhwc(9, 7, 21, relu=True),
        "stride": lambda: workloads.depthwise_conv2d_nhwc(9, 9, 64, stride=2),
        "5x5": lambda: workloads.depthwise_conv2d_nhwc(10, 10, 16, kernel=5, padding=2),
        "no frame": lambda: workloads.depthwise_conv2d_nhwc(9, 9, 17, padding=0),
    },
}
#: Those that only the slow tests run.
LONGER = ("bytes", "dilated", "7x7", "5x5", "double")
CASES = [(name, shape) for name, shapes in SHAPES.items() for shape in shapes]


def check(name, shape, target, rows, seed):
    """Rows of every variant pass the verifier, and equal the reference; one of them in the interpreter too."""
    if target.missing_here():
        pytest.skip("this machine has no such vectors")
    func = SHAPES[name][shape]()
    inputs = interp.random_inputs(func, seed)
    want = evaluate(func, inputs)
    rng = np.random.default_rng(seed)
    space = make_space(func, target, template=name)
    for k, variant in enumerate(space.variants):
        picks = variant.sampler.draw(rows, rng)
        assert len(picks), f"{variant.label} has no row"
        for n, pick in enumerate(picks):
            nest = variant.schedule.fill(variant.sampler.row(pick)).func
            verify(nest)
            kernel = Kernel(nest, build_func(nest, target, "k"), target)
            out = kernel(**{b.name: inputs[b.name] for b in nest.inputs})
            agree(nest, dict(zip([b.name for b in nest.outputs], [out], strict=True)), want)
            if n == k == 0:
                run = interp.trace_run(nest, inputs)
                agree(nest, run.outputs, want)
                assert all((run.writes[b.name] == 1).all() for b in nest.outputs)
    return space


def agree(nest, got, want):
    for b in nest.outputs:
        np.testing.assert_allclose(got[b.name], want[b.name], rtol=5e-4, atol=5e-4 * np.abs(want[b.name]).max())


@pytest.mark.parametrize(("name", "shape"), [c for c in CASES if c[1] not in LONGER])
def test_rows_of_every_variant_are_right(name, shape):
    check(name, shape, Target(AVX512), rows=1, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("target", [AVX512, AVX2])
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_many_rows_of_every_variant_are_right(name, shape, target):
    check(name, shape, Target(target), rows=16, seed=4)


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("n", [61, 239, 1009])
def test_primes_that_no_register_tile_divides_have_rows(cpu, n):
    target = Target(f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu} -l1=32K -l2=2M -l3=32M -threads=2")
    for name, func in (
        ("matmul", workloads.matmul(16, n, 7)),
        ("matmul", workloads.matmul(n, n, 7)),
        ("conv2d_nhwc", workloads.conv2d_nhwc(5, n, 3, n, 1, padding=0)),
        ("depthwise_conv2d_nhwc", workloads.depthwise_conv2d_nhwc(13, 5, n, padding=0)),
    ):
        for variant in make_space(func, target, template=name).variants:
            assert len(variant.sampler.draw(1, np.random.default_rng(0))), variant.label


def test_large_weights_for_few_rows_are_fetched_ahead():
    def ways(func, name):
        knobs = make_space(func, Target(AVX512), template=name, fixed={"winograd": 0} if "conv" in name else None)
        return knobs.knobs()["fetch"].candidates

    assert ways(workloads.dense(8, 320, 256), "matmul") == ("no", "near")
    assert ways(workloads.dense(64, 1024, 1024), "matmul") == ("near", "near and panel")
    assert ways(workloads.conv2d_nhwc(7, 7, 512, 128), "conv2d_nhwc") == ("near", "near and panel")
    assert "fetch" not in make_space(workloads.dense(8, 64, 64), Target(AVX512), template="matmul").knobs()


def test_every_shipped_template_is_tested():
    shipped = {t.name for t in TEMPLATES.values() if t.function.__module__.startswith("workbench.")}
    assert shipped == set(SHAPES)
    assert all(t.doc for t in TEMPLATES.values())


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_templates_are_found_by_what_is_computed(name, shape):
    func = SHAPES[name][shape]()
    assert [t.name for t in wb.templates_for(func)] == [name]
    assert [t.name for t in wb.templates_for(Task.of_func(func))] == [name]


@pytest.mark.parametrize(
    "make",
    [
        lambda: workloads.softmax(8, 16),
        lambda: workloads.batch_matmul(2, 8, 8, 8),
        lambda: workloads.matvec(16, 16),
        lambda: workloads.conv2d_nhwc(8, 8, 8, 8, groups=2),
        lambda: workloads.conv2d_transpose_nhwc(5, 4, 3, 17),
        lambda: workloads.pool2d(8, 8, 8),
        lambda: workloads.elementwise(8, 8),
    ],
)
def test_nothing_else_is_taken_for_one(make):
    assert wb.templates_for(make()) == []


@pytest.mark.parametrize(
    ("pattern", "code", "reason"),
    [
        (lambda func: False, "template.mismatch", "its pattern says so"),
        (lambda func: func.block("nowhere"), "template.mismatch", "nowhere"),
        (lambda func: 1 / 0, "template.failed", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_pattern_that_raises_says_no_for_its_template_alone(pattern, code, reason):
    wb.template("picky", matches=pattern)(lambda cfg, s: None)
    func = workloads.matmul(8, 16, 8)
    try:
        assert [t.name for t in wb.templates_for(func)] == ["matmul"]
        with pytest.raises(TemplateError, match=reason) as e:
            make_space(func, Target(AVX512), template="picky")
        assert e.value.code == code
    finally:
        del TEMPLATES["picky"]


def test_networks_tasks_are_recognised():
    """A hard swish reads the sum twice, and weights of a depthwise convolution have four dimensions there."""
    from graph.nets import residual_net

    found = {t.name: [x.name for x in wb.templates_for(t)] for t in wb.extract_tasks(residual_net())}
    of = {name.split(" ")[0]: names for name, names in found.items()}
    assert of["conv2d"] == ["conv2d_nhwc"]
    assert of["depthwise"] == ["depthwise_conv2d_nhwc"]
    assert of["transpose"] == []


def test_spaces_are_the_same_every_time():
    func = workloads.depthwise_conv2d_nhwc(8, 8, 32)
    first, second = (make_space(func, Target(AVX512), template="depthwise_conv2d_nhwc") for _ in range(2))
    assert first.id == second.id
    assert first.id != make_space(func, Target(AVX512)).id


def test_what_a_row_says_as_knobs_gives_the_row_again():
    func, target = workloads.conv2d_nhwc(14, 14, 16, 64, relu=True), Target(AVX512)
    space = make_space(func, target, template="conv2d_nhwc")
    rng = np.random.default_rng(1)
    for v in space.variants:
        row = v.sampler.row(v.sampler.draw(1, rng)[0])
        values = space.knobs().values(v.index, row)
        (again,) = make_space(func, target, template="conv2d_nhwc", fixed=values).variants
        assert again.schedule.is_concrete
        first, second = (drop_unit_loops(f) for f in (v.schedule.fill(row).func, again.schedule.func))
        assert [lp for lp, _ in loops_of(first)] == [lp for lp, _ in loops_of(second)]


def loops_of(func):
    return [((lp.name, lp.extent, lp.kind, lp.notes), path) for lp, path in loops(func.body)]


def test_knobs_of_a_joined_space_are_counted_from_its_first_variant():
    func, target = workloads.dense(16, 32, 16), Target(AVX512)
    rules, mine = make_space(func, target), make_space(func, target, template="matmul")
    both = join_spaces(rules, mine)
    v = both.variants[len(rules.variants)]
    row = v.sampler.row(v.sampler.draw(1, np.random.default_rng(0))[0])
    assert both.knobs().values(v.index, row) == mine.knobs().values(0, row)
    with pytest.raises(wb.WorkbenchError, match="none with number 0"):
        both.knobs().values(0, row)


def test_labels_and_explanation_name_the_choices():
    space = make_space(workloads.conv2d_nhwc(8, 8, 16, 32), Target(AVX512), template="conv2d_nhwc")
    labels = [v.label for v in space.variants]
    assert len(set(labels)) == len(labels)
    assert "conv2d_nhwc · winograd=0 · pad=inline" in labels
    assert "the register tile and its operands fit the registers" in space.explain()
    assert "tile_data" in space._repr_html_()


# ----- what the templates promise, and that losing it is noticed

PROMISED = {
    "matmul": (lambda: workloads.dense(64, 96, 128, relu=True), {}),
    "conv2d_nhwc": (
        lambda: workloads.conv2d_nhwc(14, 14, 64, 64, bias=True, residual=True, relu=True),
        {"winograd": 0},
    ),
    "depthwise_conv2d_nhwc": (lambda: workloads.depthwise_conv2d_nhwc(14, 14, 64, bias=True, relu=True), {}),
}


def promises(name):
    """Blocks run in parallel, lanes innermost, weights are packed, what follows is fused, tiles fit the registers."""
    func, fixed = PROMISED[name]
    for v in make_space(func(), Target(AVX512), template=name, fixed=fixed).variants:
        rows = v.sampler.draw(8, np.random.default_rng(0))
        func = v.schedule.func
        main = next(b.name for b in v.schedule.blocks if b.is_reduction)
        path = func.block(main)[1]
        assert path[-1].kind == "vectorize"
        assert path[0].kind == "parallel"
        assert any(b.layout for b in func.buffers if b.role == "const")
        (writer,) = (b for b in v.schedule.blocks if func.buffer(b.buffer).role == "output")
        assert func.block(writer.name)[1][0] == path[0], "what follows is in the nest of the product"
        assert func.block(writer.name)[1][-1].kind == "vectorize"
        for row in rows:
            inner = v.schedule.fill(v.sampler.row(row)).func.block(main)[1]
            held = [lp.extent for lp in inner if lp.kind in ("unroll", "vectorize") and lp.name[:2] not in ("kh", "kw")]
            assert np.prod(held) <= 31 * 16
            assert np.prod([lp.extent for lp in inner if lp.kind == "parallel"]) >= 2


@pytest.mark.parametrize("name", PROMISED)
def test_templates_keep_what_they_promise(name):
    promises(name)


@pytest.mark.parametrize("lost", ["parallel", "vectorize", "transform_layout", "reverse_compute_at", "limit"])
@pytest.mark.parametrize("name", ["matmul", "depthwise_conv2d_nhwc"])
def test_a_template_that_loses_a_step_is_noticed(name, lost, monkeypatch):
    if lost == "limit":
        monkeypatch.setattr(Config, "limit", lambda *_, **__: None)
    else:
        monkeypatch.setattr(Schedule, lost, lambda s, *_, **__: s)
    with pytest.raises((AssertionError, TemplateError, ValueError)):
        promises(name)


def test_tuning_with_a_template_is_logged_replayed_and_compiled(tmp_path):
    log = tmp_path / "dense.tunelog.jsonl"
    func = workloads.dense(16, 32, 16, relu=True)
    task = Task.of_func(func, Target.host(1))
    with wb.tune(task, template="matmul", trials=6, batch=3, log=log) as session:
        session.wait(60)
        best = session.best(task)
    records = [r for r in load_log(log).records if r.row]
    assert records
    space = make_space(task, Target.host(1), template="matmul")
    assert {r.space for r in records} == {space.id}
    assert "template" in {r.origin for r in records}
    for r in records:
        again = Schedule.from_json(func, r.trace)
        candidate = SimpleNamespace(variant=r.variant, row=r.row)
        assert to_text(again.func) == to_text(space.schedule(candidate).func)
    assert best is not None
    assert best.is_concrete


def test_tasks_that_a_template_makes_nothing_of_get_the_sketch_rules():
    def picky(cfg, s):
        s.split(cfg.match.k, [None, 5])

    def broken(cfg, s):
        cfg.match.rows  # noqa: B018

    template("picky", matches="matmul")(picky)
    template("broken", matches="matmul")(broken)
    try:
        ten, twelve = (Task.of_func(workloads.dense(4, 16, k), Target(AVX512)) for k in (10, 12))
        context = TuneContext(Target(AVX512), TuneOptions(space="template", template="picky", model="random"))
        assert [v.origin for v in context.space(ten).variants] == ["template"]
        assert context.remark(ten) == ""
        assert {v.origin for v in context.space(twelve).variants} == {"sketch"}
        assert "5 does not divide the extent 12" in context.remark(twelve)
        assert "sketch rules" in context.remark(twelve)
        context = TuneContext(Target(AVX512), TuneOptions(space="both", template="broken", model="random"))
        with pytest.raises(TemplateError, match="no axis 'rows'"):
            context.space(ten)
    finally:
        del TEMPLATES["picky"]
        del TEMPLATES["broken"]
