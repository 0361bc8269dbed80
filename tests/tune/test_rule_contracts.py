"""Every sketch rule says what it does, fires somewhere, and makes what is legal and computes the right thing."""

from __future__ import annotations

import numpy as np
import pytest
from tune.test_space_kinds import agree

from workbench import te, workloads
from workbench.codegen.backend import build_func
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.verify import verify
from workbench.runtime.kernel import Kernel
from workbench.space.sketch import RULES
from workbench.space.space import make_space
from workbench.target import Target

V4 = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2"
VNNI = V4.replace("x86-64-v4", "icelake-server")


def windows(h, w):
    """Largest of 3x3 elements, along the height and then along the width."""
    x = te.placeholder((3, h, w), "float32", "X")
    k, q = te.reduce_axis(3, "k"), te.reduce_axis(3, "q")
    rows = te.compute((3, h - 2, w), lambda c, i, j: te.max(x[c, i + k, j], axis=k), "rows")
    return te.func(te.compute((3, h - 2, w - 2), lambda c, i, j: te.max(rows[c, i, j + q], axis=q), "both"), "windows")


def attention(queries, keys, turned):
    """Two heads of attention, with a scale and a mask; keys in lines or across them."""
    q = te.placeholder((2, queries, 8), "float32", "Q")
    k = te.placeholder((2, keys, 8) if turned else (2, 8, keys), "float32", "K")
    v, mask = te.placeholder((2, keys, 16), "float32", "V"), te.placeholder((keys,), "float32", "M")
    d, j, j1, j2 = (te.reduce_axis(n, a) for n, a in ((8, "d"), (keys, "j"), (keys, "j1"), (keys, "j2")))
    size = (2, queries, keys)
    s = te.compute(size, lambda h, i, c: te.sum(q[h, i, d] * (k[h, c, d] if turned else k[h, d, c]), axis=d), "s")
    t = te.compute(size, lambda h, i, c: s[h, i, c] * 0.25, "t")
    u = te.compute(size, lambda h, i, c: t[h, i, c] + mask[c], "u")
    top = te.compute(size[:2], lambda h, i: te.max(u[h, i, j], axis=j), "top")
    e = te.compute(size, lambda h, i, c: te.exp(u[h, i, c] - top[h, i]), "e")
    total = te.compute(size[:2], lambda h, i: te.sum(e[h, i, j1], axis=j1), "total")
    p = te.compute(size, lambda h, i, c: e[h, i, c] / total[h, i], "p")
    y = te.compute((2, queries, 16), lambda h, i, c: te.sum(p[h, i, j2] * v[h, j2, c], axis=j2), "y")
    return te.func(y, "attention")


#: Rule -> a computation and a machine for which it fires.
FIRES = {
    "attention": (lambda: attention(24, 64, turned=True), V4),
    "inline": (lambda: workloads.matmul(12, 32, 8, bias=True, relu=True), V4),
    "tensorize": (lambda: workloads.matmul_int8(8, 32, 64, constant_b=True), VNNI),
    "winograd": (lambda: workloads.conv2d_nhwc(9, 8, 16, 16, relu=True), V4),
    "rows": (lambda: workloads.softmax(9, 64), V4),
    "strips": (lambda: windows(11, 20), V4),
    "rfactor": (lambda: workloads.matmul(3, 17, 300, bias=True, relu=True), V4),
    "lanes": (lambda: workloads.conv2d_nhwc(7, 6, 32, 1, bias=True, relu=True), V4),
    "lengthen": (lambda: workloads.matmul(37, 53, 8), V4),
    "tile": (lambda: workloads.matmul(12, 32, 8), V4),
    "pack": (lambda: workloads.dense(6, 32, 8), V4),
    "copy": (lambda: workloads.matmul(32, 256, 8), V4),
    "cache_write": (lambda: workloads.matmul(4, 1024, 64), V4),
    "fuse": (lambda: workloads.dense(6, 32, 8, relu=True), V4),
    "pad": (lambda: workloads.depthwise_conv2d_nhwc(5, 7, 16), V4),
    "transpose": (lambda: workloads.transpose(24, 17), V4),
    "pointwise": (lambda: workloads.elementwise(7, 33), V4),
    "mark": (lambda: workloads.matmul(12, 32, 8), V4),
    "fetch": (lambda: workloads.dense(2, 256, 300), V4),
}


def fired(rule):
    make, text = FIRES[rule]
    func, target = make(), Target(text)
    variants = make_space(func, target).variants
    return func, target, [v for v in variants if rule in {n.rule for n in v.notes}]


def test_the_table_has_every_rule():
    assert set(FIRES) == {r.name for r in RULES if not r.custom and r.on in ("cpu", "any")}


@pytest.mark.parametrize("rule", sorted(FIRES))
def test_a_rule_says_what_it_does_and_fires(rule):
    doc = RULES[rule].doc
    assert doc.split("\n")[0][0].isupper()
    assert "." in doc
    func, _, variants = fired(rule)
    assert variants
    for v in variants:
        for note in v.notes:
            assert note.reason
            assert note.reason != doc
            assert set(note.blocks) <= {b.name for b in (*_blocks(func), *_blocks(v.schedule.func))} | _made(v)


def _blocks(func):
    from workbench.ir import blocks

    return [b for b, _ in blocks(func.body)]


def _made(v):
    """Blocks that were there for a while: made by one step and inlined by another."""
    return {name for note in v.notes for name in note.blocks if "." in name}


@pytest.mark.parametrize("rule", sorted(FIRES))
def test_what_a_rule_makes_computes_the_right_thing(rule):
    func, target, variants = fired(rule)
    inputs = interp.random_inputs(func, 3)
    want = evaluate(func, inputs)
    rng = np.random.default_rng(len(rule))
    for v in variants:
        picks = v.sampler.draw(2, rng)
        assert len(picks), f"{v.label} has no row"
        for row in picks:
            nest = v.schedule.fill(v.sampler.row(row)).func
            verify(nest)
            agree(nest, _run(nest, inputs, target), want)


def _run(nest, inputs, target):
    """Compiled where this machine can, else interpreted."""
    if target.missing_here():
        return interp.trace_run(nest, inputs).outputs
    out = Kernel(nest, build_func(nest, target, "k"), target)(**{b.name: inputs[b.name] for b in nest.inputs})
    return {b.name: x for b, x in zip(nest.outputs, out if isinstance(out, tuple) else (out,), strict=True)}


@pytest.mark.parametrize("rule", ["inline", "tile", "pack", "fuse", "pad", "pointwise", "mark"])
def test_spaces_are_right_without_any_one_rule(rule):
    """Leaving a rule out gives other drafts, none of them wrong."""
    func, target = workloads.conv2d_nhwc(5, 6, 8, 16, bias=True, relu=True), Target(V4)
    inputs = interp.random_inputs(func, 3)
    want = evaluate(func, inputs)
    (v, *_) = make_space(func, target, rules=[f"-{rule}"]).variants
    assert rule not in {n.rule for n in v.notes}
    (row,) = v.sampler.draw(1, np.random.default_rng(0))
    nest = v.schedule.fill(v.sampler.row(row)).func
    verify(nest)
    agree(nest, _run(nest, inputs, target), want)


def test_windows_over_neighbours_in_memory_are_no_rows():
    """Sums over nearby channels lie side by side as what they are made of does: vectors of results, not of terms."""
    x, k = te.placeholder((9, 64), "float32", "X"), te.reduce_axis(5, "k")
    near = te.compute((9, 60), lambda i, c: te.sum(x[i, c + k], axis=k), "near")
    func = te.func(te.compute((9, 60), lambda i, c: x[i, c + 2] / near[i, c], "y"), "windows")
    for v in make_space(func, Target(V4)).variants:
        assert "rows" not in {n.rule for n in v.notes}
        assert any(lp.kind == "vectorize" for lp in v.schedule.func.block("near")[1])


@pytest.mark.parametrize(("groups", "each", "size"), [(3, 4, 37), (2, 5, 64), (1, 3, 24)])
def test_rows_may_span_the_channels_of_a_group(groups, each, size):
    x, k, r = (
        te.placeholder((groups * each, size), "float32", "X"),
        te.reduce_axis(each, "k"),
        te.reduce_axis(size, "r"),
    )
    total = te.compute((groups,), lambda g: te.sum(x[g * each + k, r] * x[g * each + k, r], axis=[k, r]), "total")
    share = te.compute((groups * each, size), lambda c, i: x[c, i] / total[c // each], "share")
    func, target = te.func(share, "groups"), Target(V4)
    inputs = interp.random_inputs(func, 3)
    want, rng, fired = evaluate(func, inputs), np.random.default_rng(size), False
    for v in make_space(func, target).variants:
        fired |= "rows" in {n.rule for n in v.notes}
        for row in v.sampler.draw(3, rng):
            nest = v.schedule.fill(v.sampler.row(row)).func
            verify(nest)
            agree(nest, _run(nest, inputs, target), want)
    assert fired == (groups > 1)


def test_attention_with_keys_in_lines_needs_no_copy():
    func, target = attention(8, 32, turned=False), Target(V4)
    (variant,) = make_space(func, target).variants
    assert [n.rule for n in variant.notes] == ["attention"]
    inputs = interp.random_inputs(func, 3)
    for row in variant.sampler.draw(3, np.random.default_rng(1)):
        nest = variant.schedule.fill(variant.sampler.row(row)).func
        assert not any("copy" in b.name for b in _blocks(nest))
        verify(nest)
        agree(nest, _run(nest, inputs, target), evaluate(func, inputs))


def test_attention_of_odd_rows_is_left_to_other_rules():
    assert not any(
        n.rule == "attention" for v in make_space(attention(8, 33, turned=False), Target(V4)).variants for n in v.notes
    )
