"""One refused step for every error code that a primitive declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import primitives
from codegen import warp_tile_nests
from schedule import nests

from workbench import te, workloads
from workbench.ir import Affine, Bound, Func
from workbench.ir.text.parser import parse
from workbench.schedule import Hole, Schedule
from workbench.schedule.nest_rewrites import replace_block
from workbench.target import Target


def matmul() -> Schedule:
    return Schedule(nests.epilogue())


def after(make: Callable[[], Schedule], *steps: tuple) -> Schedule:
    s = make()
    for name, *args in steps:
        getattr(s, name)(*args)
    return s


def of(make: Callable) -> Callable[[], Schedule]:
    return lambda: Schedule(make())


def two_outputs() -> Schedule:
    a = te.placeholder((4, 6), name="A")
    b = te.compute((4, 6), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((4, 6), lambda i, j: b[i, j] + 1.0, name="C")
    return Schedule(te.func([b, c]))


def one_reader(read: Callable, n: int = 8, m: int = 8) -> Callable[[], Schedule]:
    def make() -> Schedule:
        a = te.placeholder((n,), name="A")
        b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
        return Schedule(te.func(te.compute((m,), lambda i: read(b, i), name="C")))

    return make


def unread() -> Schedule:
    s = two_outputs()
    func = replace(s.func, buffers=tuple(replace(b, role="temp") if b.name == "C" else b for b in s.func.buffers))
    return Schedule(func)


def guarded() -> Schedule:
    s = Schedule(nests.row_scale())
    bound = Bound(Affine.var("i"), 0, 6)
    return Schedule(replace(s.func, body=replace_block(s.func.body, "Z", lambda b: (replace(b, guard=(bound,)),))))


def recurrence() -> Schedule:
    return Schedule(
        parse("""\
chain(A: input float32[8], Q: output float32[8]):
  temp U: float32[8]
  temp P: float32[8]
  for i in 8:
    block U(i: 8):
      U[i] = A[i]
    block P(i: 8):
      P[i] = U[i] * 2.0
    block Q(i: 8):
      Q[i] = select(1 <= i < 8, P[i - 1], 0.0)
""")
    )


def small_conv(**options: int | bool) -> Callable[[], Schedule]:
    return lambda: Schedule(workloads.conv2d_nhwc(6, 6, 4, 8, **options))


def integer_conv() -> Schedule:
    text = small_conv()().nest().replace("float32", "int32").replace("0.0", "0i32")
    return Schedule(parse(text))


BACKWARDS = """\
backwards(A: input float32[6], Q: output float32[6]):
  for i in 6:
    block Q(i: 6):
      Q[5 - i] = A[i]
"""


TWO_SUMS = """\
two_sums(A: input float32[4], Q: output float32[2]):
  for k in 4:
    block P(i: 1 = 0, reduce k: 4):
      init Q[i] = 0.0
      Q[i] = Q[i] + A[k]
  for l in 4:
    block R(i: 1 = 0, reduce k: 4 = l):
      init Q[i + 1] = 1.0
      Q[i + 1] = Q[i + 1] * A[k]
"""


def two_products() -> Func:
    """A matrix product whose result is used again, and given out too."""
    func = nests.two_products()
    return replace(func, buffers=tuple(replace(b, role="output") if b.name == "S" else b for b in func.buffers))


TWICE = """\
twice(A: input float32[6], Q: output float32[6]):
  temp T: float32[6]
  for r in 2:
    for i in 6:
      block T(i: 6):
        T[i] = A[i]
  for j in 6:
    block Q(i: 6 = j):
      Q[i] = T[i] * 2.0
"""
LATE = """\
late(A: input float32[6], V: output float32[6], Q: output float32[6]):
  temp T: float32[6]
  temp U: float32[6]
  for i in 6:
    block T(i: 6):
      T[i] = A[i]
  for j in 6:
    block U(i: 6 = j):
      U[i] = A[i] + 1.0
    block V(i: 6 = j):
      V[i] = U[i] + 1.0
  for k in 6:
    block Q(i: 6 = k):
      Q[i] = T[i] * U[i]
"""


def shifted_sums() -> Func:
    """The sum of the row before."""
    a, k = te.placeholder((8, 4), name="A"), te.reduce_axis(4, "k")
    s = te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="S")
    return te.func(te.compute((8,), lambda i: te.select(i >= 1, s[i - 1], 0.0), name="T"))


def quotient() -> Func:
    """Integers that are divided by others."""
    a, b = te.placeholder((6,), "int32", name="A"), te.placeholder((6,), "int32", name="B")
    return te.func(te.compute((6,), lambda i: a[i] / b[i], name="Q"))


def high() -> Func:
    """Two expressions that are too deep for one."""

    def tower(x: te.Value, levels: int = 100) -> te.Value:
        return tower(te.abs(x), levels - 1) if levels else x

    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: tower(a[i]), name="B")
    return te.func(te.compute((4,), lambda i: tower(b[i]), name="C"))


def left_behind(make: Callable) -> Callable[[], Schedule]:
    """Z runs in loops that once belonged to P, and repeat it now."""
    return lambda: after(of(make), ("compute_at", "Z", "j"), ("compute_at", "P", "Q_j"))


def dots(*steps: tuple, packed: bool = True, signed: bool = False, target: Target | None = None) -> Callable:
    """A product of bytes, cut and packed for the dot products of four, and then some."""

    def make() -> Schedule:
        s = Schedule(workloads.matmul_int8(4, 16, 8, signed=signed, constant_b=True), target)
        s.split("k", [None, 4])
        s.reorder("i", "k.0", "j", "k.1")
        if packed:
            s.transform_layout("B", 0, 4, "here")
        return after(lambda: s, *steps)

    return make


def guarded_dots() -> Schedule:
    s = dots()()
    bound = Bound(Affine.var("i"), 0, 3)
    return Schedule(replace(s.func, body=replace_block(s.func.body, "C", lambda b: (replace(b, guard=(bound,)),))))


def halves() -> Func:
    """Dot products that read every byte of A twice."""
    a, b = te.placeholder((4,), "uint8", "A"), te.placeholder((16, 4), "int8", "B")
    q = te.reduce_axis(4, "q")
    return te.func(
        te.compute((16,), lambda j: te.sum(te.cast(a[q // 2], "int32") * te.cast(b[j, q], "int32"), axis=q), name="C")
    )


#: A step that asks for dot products of bytes.
def warp_tiles() -> Schedule:
    """A product of halves in tiles of a warp, with threads of its own around them."""
    s = Schedule(warp_tile_nests.product(64, 64, 64, "float16"))
    parts = [s.split(axis, [None, 16]) for axis in ("i", "j", "k")]
    return s.reorder(*(x for x, _ in parts), *(x for _, x in parts)).bind("j.0", "threadIdx.x")


DOT = ("tensorize", "j", "x86.vnni.dot4")
R, V = nests.row_sum, nests.row_scale

#: Error code -> (schedule, step)
REFUSALS: dict[str, tuple[Callable[[], Schedule], tuple]] = {
    "split.arity": (matmul, ("split", "i", [12])),
    "split.divides": (matmul, ("split", "i", [None, 5])),
    "split.undecided": (lambda: after(matmul, ("split", "i", [None, Hole()])), ("split", "i.0", [None, 4])),
    "split.product": (
        lambda: after(matmul, ("split", "i", [None, Hole(), Hole()]), ("fuse", "i.1", "i.2")),
        ("split", "i.1.i.2", [None, Hole()]),
    ),
    "split.digit": (lambda: after(matmul, ("fuse", "i", "j")), ("split", "i.j", [None, 6])),
    "split.marked": (lambda: after(matmul, ("unroll", "i")), ("split", "i", [None, 4])),
    "split.choices": (
        lambda: after(matmul, ("split", "i", [None, Hole("t", choices=[2, 4])])),
        ("split", "i.1", [None, Hole()]),
    ),
    "split.open": (matmul, ("split", "i", [None, Hole()], "guard")),
    "split.tail": (lambda: after(matmul, ("split", "i", [None, 4])), ("split", "i.1", [None, 3], "guard")),
    "split.peel": (
        lambda: after(of(two_products), ("reverse_compute_at", "E", "i")),
        ("split", "i", [None, 4], "peel"),
    ),
    "tile.split": (matmul, ("tile", "i", "j", 5, 4)),
    "tile.order": (lambda: after(matmul, ("reverse_compute_at", "bias_add", "i")), ("tile", "i", "j", 4, 4)),
    "fuse.arity": (matmul, ("fuse", "i")),
    "fuse.adjacent": (matmul, ("fuse", "i", "k")),
    "fuse.kinds": (matmul, ("fuse", "j", "k")),
    "fuse.marked": (lambda: after(matmul, ("unroll", "i")), ("fuse", "i", "j")),
    "reorder.arity": (matmul, ("reorder", "i", "i")),
    "reorder.perfect": (lambda: after(matmul, ("reverse_compute_at", "bias_add", "j")), ("reorder", "k", "i")),
    "reorder.reduction": (left_behind(R), ("reorder", "Z_k", "Z_i", "j")),
    "parallel.arity": (matmul, ("parallel",)),
    "parallel.marked": (lambda: after(matmul, ("unroll", "i")), ("parallel", "i")),
    "parallel.outermost": (matmul, ("parallel", "j")),
    "parallel.perfect": (lambda: after(matmul, ("reverse_compute_at", "bias_add", "i")), ("parallel", "i", "j")),
    "parallel.reduction": (lambda: after(matmul, ("reorder", "k", "i", "j")), ("parallel", "k")),
    "parallel.conflict": (left_behind(R), ("parallel", "P_i", "j")),
    "vectorize.marked": (lambda: after(matmul, ("unroll", "k")), ("vectorize", "k")),
    "vectorize.innermost": (matmul, ("vectorize", "i")),
    "vectorize.reduction": (matmul, ("vectorize", "k")),
    "vectorize.conflict": (
        lambda: after(left_behind(V), ("reorder", "Z_i", "P_i", "j")),
        ("vectorize", "j"),
    ),
    "vectorize.limit": (of(lambda: workloads.transpose(2048, 2)), ("vectorize", "i")),
    "unroll.marked": (lambda: after(matmul, ("unroll", "i")), ("unroll", "i")),
    "unroll.limit": (lambda: after(matmul, ("unroll", "i"), ("unroll", "j")), ("unroll", "k")),
    "compute_at.output": (two_outputs, ("compute_at", "B", "C_i")),
    "compute_at.writers": (of(nests.joined_relu), ("compute_at", "joined_0", "i")),
    "compute_at.identity": (lambda: after(of(nests.digits), ("split", "i", [None, 8])), ("compute_at", "B", "C_i")),
    "compute_at.consumers": (of(lambda: workloads.softmax(4, 6)), ("compute_at", "exps", "softmax_i")),
    "compute_at.producer": (
        lambda: after(
            of(lambda: workloads.elementwise(4, 6)),
            ("reverse_compute_at", "tanh", "i"),
            ("reverse_compute_at", "add", "i"),
        ),
        ("compute_at", "tanh", "i"),
    ),
    "compute_at.own_loop": (matmul, ("compute_at", "C", "i")),
    "region.inside": (of(shifted_sums), ("compute_at", "S", "T_i")),
    "region.union": (one_reader(lambda b, i: b[i] + b[7 - i]), ("compute_at", "B", "C_i")),
    "reverse_compute_at.reduction": (of(nests.two_products), ("reverse_compute_at", "O", "E_i")),
    "reverse_compute_at.producer": (matmul, ("reverse_compute_at", "relu", "i")),
    "reverse_compute_at.unfinished": (matmul, ("reverse_compute_at", "bias_add", "k")),
    "reverse_compute_at.stencil": (one_reader(lambda b, i: b[i] + b[i + 1], m=7), ("reverse_compute_at", "C", "i")),
    "reverse_compute_at.cover": (
        lambda: after(matmul, ("split", "i", [None, 4]), ("reorder", "i.1", "i.0")),
        ("reverse_compute_at", "bias_add", "i.1"),
    ),
    "reverse_compute_at.consumer": (
        lambda: after(
            of(lambda: workloads.elementwise(4, 6)),
            ("reverse_compute_at", "tanh", "j"),
            ("reverse_compute_at", "add", "j"),
        ),
        ("reverse_compute_at", "tanh", "i"),
    ),
    "reverse_compute_at.own_loop": (matmul, ("reverse_compute_at", "relu", "relu_i")),
    "compute_inline.output": (matmul, ("compute_inline", "relu")),
    "compute_inline.reduction": (matmul, ("compute_inline", "C")),
    "compute_inline.writers": (of(nests.joined_relu), ("compute_inline", "joined_0")),
    "compute_inline.guard": (guarded, ("compute_inline", "Z")),
    "compute_inline.identity": (lambda: after(of(nests.digits), ("split", "i", [None, 8])), ("compute_inline", "B")),
    "compute_inline.consumers": (unread, ("compute_inline", "C")),
    "compute_inline.affine": (of(nests.digits), ("compute_inline", "B")),
    "compute_inline.size": (of(high), ("compute_inline", "B")),
    "compute_inline.producer": (recurrence, ("compute_inline", "P")),
    "reverse_compute_inline.block": (matmul, ("reverse_compute_inline", "C")),
    "reverse_compute_inline.producer": (of(nests.joined_relu), ("reverse_compute_inline", "R")),
    "reverse_compute_inline.reduction": (
        lambda: after(matmul, ("compute_inline", "bias_add")),
        ("reverse_compute_inline", "relu"),
    ),
    "reverse_compute_inline.identity": (
        one_reader(lambda b, i: b[i] + b[i + 1], m=7),
        ("reverse_compute_inline", "C"),
    ),
    "reverse_compute_inline.cover": (of(lambda: parse(TWICE)), ("reverse_compute_inline", "Q")),
    "reverse_compute_inline.size": (of(high), ("reverse_compute_inline", "C")),
    "reverse_compute_inline.order": (
        of(lambda: parse(LATE)),
        ("reverse_compute_inline", "Q"),
    ),
    "cache_write.writers": (of(nests.joined_relu), ("cache_write", "joined_0")),
    "cache_write.consumers": (lambda: after(matmul, ("reverse_compute_at", "bias_add", "i")), ("cache_write", "C")),
    "cache_read.reads": (matmul, ("cache_read", "C", "bias")),
    "cache_read.producer": (
        lambda: after(matmul, ("reverse_compute_at", "bias_add", "i")),
        ("cache_read", "bias_add", "C"),
    ),
    "pad.axis": (matmul, ("pad", "C", "x", 16)),
    "pad.extent": (matmul, ("pad", "C", "i", 12)),
    "pad.loop": (lambda: after(matmul, ("split", "i", [None, 4])), ("pad", "C", "i", 16)),
    "pad.index": (of(lambda: parse(BACKWARDS)), ("pad", "Q", "i", 8)),
    "pad.writers": (of(nests.joined_relu), ("pad", "joined_0", "a0", 8)),
    "pad.guard": (guarded, ("pad", "Z", "i", 8)),
    "pad.division": (of(quotient), ("pad", "Q", "i", 8)),
    "decompose_reduction.reduction": (matmul, ("decompose_reduction", "bias_add", "bias_add_i")),
    "decompose_reduction.loop": (
        lambda: after(matmul, ("reorder", "k", "i", "j")),
        ("decompose_reduction", "C", "i"),
    ),
    "decompose_reduction.repeats": (left_behind(R), ("decompose_reduction", "Z", "j")),
    "rfactor.loop": (matmul, ("rfactor", "i")),
    "rfactor.digit": (
        lambda: after(of(lambda: workloads.conv2d_nhwc(6, 6, 4, 8)), ("fuse", "kh", "kw")),
        ("rfactor", "kh.kw"),
    ),
    "rfactor.dim": (matmul, ("rfactor", "k", 3)),
    "rfactor.resumes": (lambda: after(matmul, ("decompose_reduction", "C", "k")), ("rfactor", "k")),
    "rfactor.writers": (of(lambda: parse(TWO_SUMS)), ("rfactor", "k")),
    "rfactor.consumers": (lambda: after(matmul, ("reverse_compute_at", "bias_add", "i")), ("rfactor", "k")),
    "transform_layout.role": (matmul, ("transform_layout", "A", 0, 4)),
    "transform_layout.dim": (matmul, ("transform_layout", "B", 2, 4)),
    "transform_layout.divides": (matmul, ("transform_layout", "B", 1, 5)),
    "transform_layout.undecided": (
        lambda: after(matmul, ("split", "i", [None, Hole("t")])),
        ("transform_layout", "B", 1, "t"),
    ),
    "transform_layout.access": (matmul, ("transform_layout", "B", 1, 4)),
    "winograd.tile": (small_conv(), ("winograd", "conv", 3)),
    "winograd.conv": (matmul, ("winograd", "C")),
    "winograd.nest": (
        lambda: after(small_conv(bias=True), ("reverse_compute_at", "bias_add", "h")),
        ("winograd", "conv"),
    ),
    "winograd.kernel": (small_conv(kernel=5, padding=2), ("winograd", "conv")),
    "winograd.stride": (small_conv(stride=2), ("winograd", "conv")),
    "winograd.dilation": (small_conv(dilation=2, padding=2), ("winograd", "conv")),
    "winograd.groups": (small_conv(groups=2), ("winograd", "conv")),
    "winograd.weights": (lambda: after(small_conv(), ("transform_layout", "W", 2, 4)), ("winograd", "conv")),
    "winograd.dtype": (integer_conv, ("winograd", "conv")),
    "transform_layout.padded": (
        lambda: after(matmul, ("storage_align", "C", 0, 32)),
        ("transform_layout", "C", 1, 8),
    ),
    "annotate.reserved": (matmul, ("annotate", "i", "block", 1)),
    "annotate.unknown": (matmul, ("annotate", "ii", "mine", 1)),
    "annotate.place": (matmul, ("annotate", "C", "prefetch", 4)),
    "annotate.value": (matmul, ("annotate", "k", "prefetch", 0)),
    "bind.marked": (lambda: after(matmul, ("unroll", "i")), ("bind", "i", "blockIdx.x")),
    "bind.taken": (lambda: after(matmul, ("bind", "i", "threadIdx.x")), ("bind", "j", "threadIdx.x")),
    "bind.order": (matmul, ("bind", "j", "blockIdx.x")),
    "bind.reduction": (matmul, ("bind", "k", "vthread")),
    "bind.conflict": (left_behind(R), ("bind", "j", "threadIdx.x")),
    "bind.limit": (of(lambda: workloads.transpose(2048, 2)), ("bind", "i", "threadIdx.x")),
    "tensorize.target": (dots(target=Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell")), DOT),
    "tensorize.taken": (dots(DOT), DOT),
    "tensorize.body": (lambda: after(matmul, ("reverse_compute_at", "bias_add", "i")), ("tensorize", "i", DOT[2])),
    "tensorize.loops": (dots(), ("tensorize", "k.0", DOT[2])),
    "tensorize.marked": (dots(("unroll", "j")), DOT),
    "tensorize.order": (dots(("reorder", "k.1", "j")), ("tensorize", "k.1", DOT[2])),
    "tensorize.extent": (dots(("split", "j", [None, 8])), ("tensorize", "j.1", DOT[2])),
    "tensorize.warp": (warp_tiles, ("tensorize", "i.1", "cuda.wmma.f16")),
    "tensorize.guard": (guarded_dots, DOT),
    "tensorize.compute": (
        lambda: after(of(lambda: workloads.matmul(2, 16, 4)), ("reorder", "i", "j", "k")),
        DOT,
    ),
    "tensorize.dtype": (dots(signed=True), DOT),
    "tensorize.access": (of(halves), DOT),
    "tensorize.stride": (dots(packed=False), DOT),
    "set_scope.role": (matmul, ("set_scope", "A", "local")),
    "set_scope.shared": (lambda: after(matmul, ("parallel", "i", "j")), ("set_scope", "C", "local")),
    "storage_align.role": (matmul, ("storage_align", "B", 0, 16)),
    "storage_align.dim": (matmul, ("storage_align", "C", 1, 16)),
    "storage_align.open": (
        lambda: after(
            matmul, ("split", "j", [None, Hole("t")]), ("transform_layout", "B", 1, "t"), ("cache_read", "C", "B")
        ),
        ("storage_align", "B.local", 0, 16),
    ),
    "storage_align.factor": (matmul, ("storage_align", "C", 0, 16, 16)),
    # Shared by all primitives
    "unit.inside": (lambda: after(matmul, ("blockize", "j")), ("split", "k", [None, 2])),
    "unit.cut": (lambda: after(matmul, ("blockize", "j")), ("reverse_compute_at", "bias_add", "j")),
    "nest.size": (matmul, ("pad", "C", "i", 1 << 30)),
    "nest.depth": (
        lambda: after(matmul, ("split", "i", [12] + [1] * 31), ("split", "j", [16] + [1] * 29)),
        ("split", "k", [8, 1, 1]),
    ),
    "buffer.scope": (lambda: after(matmul, ("set_scope", "C", "local")), ("parallel", "i")),
    "loop.unknown": (matmul, ("split", "ii", [None, 4])),
    "block.unknown": (matmul, ("compute_inline", "bias")),
    "buffer.unknown": (matmul, ("transform_layout", "BB", 0, 4)),
    "hole.unknown": (matmul, ("split", "i", [None, "tile"])),
    "loop.mark": (lambda: after(matmul, ("parallel", "i", "j")), ("reverse_compute_at", "bias_add", "i")),
    "index.affine": (of(nests.digits), ("compute_at", "B", "C_i")),
}
for module in primitives.MODULES.values():
    REFUSALS |= module.refusals()
