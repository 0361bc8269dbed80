"""Recognising a convolution: its axes by meaning, or the reason why Winograd's algorithm does not compute it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from workbench.ir import Binary, Block, Const, Expr, Func, Load
from workbench.ir.expr import all_index_forms
from workbench.schedule import legality
from workbench.schedule.refusal import refuse


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolution: its axes by meaning, its sizes, and the data read at ``(h + kh, w + kw)``."""

    n: str
    h: str
    w: str
    o: str
    kh: str
    kw: str
    c: str
    sizes: dict[str, int]
    data: Expr
    weights: str
    zero: Const


def axes_of(block: Block, kind: str) -> int:
    """Number of spatial ("S") or reduction ("R") axes."""
    return sum(it.kind == kind for it in block.iters)


def match_conv(func: Func, block: Block) -> Conv:
    """Find the parts of a convolution, or refuse."""
    name = block.name
    space = [x.single_var() for x in block.index]
    extents = {it.name: it.extent for it in block.iters}
    reduced = [it.name for it in block.iters if it.kind == "R"]
    start = block.init if isinstance(block.init, Const) and block.init.value == 0 else None
    op, term = block.update() if block.is_reduction else ("", None)
    plain = len(space) == 4 and None not in space and axes_of(block, "S") == 4 and not block.guard
    if not plain or start is None or op != "add" or not isinstance(term, Binary) or term.op != "mul":
        refuse(
            "winograd.conv",
            f"Block {name!r} does not sum products of data and weights over an NHWC image.",
            (name,),
            "only two-dimensional convolutions have this algorithm",
        )
    n, h, w, o = (str(x) for x in space)
    if len(reduced) == 2:
        refuse(
            "winograd.groups",
            f"Block {name!r} has one input channel per output channel, so there is no sum over channels that could "
            "become a matrix product.",
            (name,),
            "tile the convolution directly",
        )
    kernel, data = _operands(func, block, term, o, reduced)
    kh, kw, c = (str(x.single_var()) for x in kernel.index[:3])
    axis_extents = {a: extents[a] for a in (n, h, w, o, kh, kw, c)}
    sizes = {a: e for a, e in axis_extents.items() if isinstance(e, int)}
    if len(sizes) < len(axis_extents):
        refuse("winograd.conv", f"The extents of block {name!r} are open.", (name,), "do this step first")
    conv = Conv(n, h, w, o, kh, kw, c, sizes, data, kernel.buffer, start)
    _check_sizes(func, block, conv)
    for along, tap in ((h, kh), (w, kw)):
        _check_taps(name, data, along, tap)
    return conv


def _operands(func: Func, block: Block, term: Binary, o: str, reduced: list[str]) -> tuple[Load, Expr]:
    """Part the product into the kernel, read at [kh, kw, c, o], and everything else."""
    for kernel, data in ((term.b, term.a), (term.a, term.b)):
        if not isinstance(kernel, Load) or len(kernel.index) != 4:
            continue
        at = [x.single_var() for x in kernel.index]
        if at[3] != o or sorted(map(str, at[:3])) != sorted(reduced):
            continue
        if o in {v for form in all_index_forms(data) for v in form.vars}:
            refuse(
                "winograd.groups",
                f"What block {block.name!r} reads depends on the output channel {o!r}: the convolution is grouped.",
                (block.name, kernel.buffer),
                "only sums over all input channels become matrix products",
            )
        buffer = func.buffer(kernel.buffer)
        users = [b.name for b, _ in legality.readers(func, buffer.name) if b.name != block.name]
        if buffer.role != "const" or buffer.layout or users:
            why = (
                f"is an {buffer.role} of the function"
                if buffer.role != "const"
                else f"is read by {', '.join(users)} too"
                if users
                else "is packed already"
            )
            _refuse_weights(block, buffer.name, why)
        return kernel, data
    for packed in (term.a, term.b):
        if isinstance(packed, Load) and func.buffer(packed.buffer).layout:
            _refuse_weights(block, packed.buffer, "is packed already")
    refuse(
        "winograd.conv",
        f"No factor of block {block.name!r} is a kernel [kh, kw, c, o] over its reduction axes and channels.",
        (block.name,),
        "only two-dimensional convolutions have this algorithm",
    )


def _refuse_weights(block: Block, buffer: str, why: str) -> NoReturn:
    refuse(
        "winograd.weights",
        f"The kernel {buffer!r} {why}, so it cannot be transformed ahead of time.",
        (block.name, buffer),
        "declare weights with constant=True, and do this step before packing them",
    )


def _check_sizes(func: Func, block: Block, conv: Conv) -> None:
    if (conv.sizes[conv.kh], conv.sizes[conv.kw]) != (3, 3):
        refuse(
            "winograd.kernel",
            f"The kernel of block {block.name!r} is {conv.sizes[conv.kh]}x{conv.sizes[conv.kw]}; the transforms are "
            "those of 3x3.",
            (block.name, conv.weights),
            "tile the convolution directly",
        )
    wrong = {func.buffer(b).dtype for b in (block.buffer, conv.weights)} - {"float32", "float64"}
    if wrong:
        refuse(
            "winograd.dtype",
            f"Block {block.name!r} computes in {min(wrong)}, where the transforms would lose what the convolution "
            "keeps.",
            (block.name,),
            "float32 and float64 have enough digits",
        )


def _check_taps(name: str, data: Expr, along: str, tap: str) -> None:
    """Refuse unless every index that moves with the image moves with the kernel's tap by the same step, 1."""
    for form in all_index_forms(data):
        steps = form.coefficient(along), form.coefficient(tap)
        if not {along, tap} & form.vars or steps == (1, 1):
            continue
        whole = all(d.plain for d, _ in form.terms)
        if whole and steps[1] == 1 and steps[0] != 0:
            code, what = "winograd.stride", f"steps {steps[0]} pixels from one {along!r} to the next"
        elif whole and steps[0] == 1 and steps[1] != 0:
            code, what = "winograd.dilation", f"steps {steps[1]} pixels from one {tap!r} to the next"
        else:
            code, what = "winograd.conv", f"reads at {form}, not at {along!r} + {tap!r}"
        refuse(code, f"Block {name!r} {what}; tiles are made for steps of 1.", (name,), "tile the convolution directly")
