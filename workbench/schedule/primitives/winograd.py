"""Primitive that replaces a convolution by Winograd's algorithm: winograd."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from workbench.ir import (
    Affine,
    Binary,
    Block,
    Bound,
    Buffer,
    Const,
    Digit,
    Expr,
    For,
    Func,
    Iter,
    Load,
    Select,
    Stmt,
    blocks,
)
from workbench.ir.expr import map_affine
from workbench.ir.interval import implies
from workbench.ir.winograd_weights import KERNEL_MATRIX, WinogradStep
from workbench.schedule import size_limits
from workbench.schedule.legality_classes import all_plain
from workbench.schedule.match_convolution import Conv, axes_of, match_conv
from workbench.schedule.nest_rewrites import fresh_names, nest, own_nest, remove_block
from workbench.schedule.primitive import Applied, BlockRef, Number, Primitive, primitive
from workbench.schedule.refusal import refuse


@dataclass(frozen=True, slots=True)
class TileSize(Number):
    """Outputs of a tile; left open with choices, it makes a variant of the schedule for each."""

    open_choice: ClassVar[bool] = True


@primitive(
    "winograd",
    category="algorithm",
    returns="names",
    codes={
        "winograd.tile": "there is no transform for tiles of that size",
        "winograd.conv": "the block is no two-dimensional convolution of NHWC data with kernels [kh, kw, c, o]",
        "winograd.nest": "other blocks run in the loops of the block, or a loop of it is marked",
        "winograd.kernel": "the kernel is not 3x3",
        "winograd.stride": "the convolution is strided",
        "winograd.dilation": "the convolution is dilated",
        "winograd.groups": "the convolution is grouped: an output channel does not sum over all input channels",
        "winograd.weights": "the kernel is no constant, is packed already, or is read by other blocks too",
        "winograd.dtype": "the element type is not float32 or float64",
    },
)
class Winograd(Primitive):
    """Replace a 3x3 convolution by Winograd's algorithm F(m x m, 3 x 3), with fewer multiplications.

    Contract: the block is a convolution with stride 1, without dilation and groups, of NHWC data (padded by a block
    before it or by a condition where it reads) with constant weights ``[3, 3, c, o]``. It becomes five blocks, each an
    ordinary one: ``conv.T`` and ``conv.V`` transform tiles of (m + 2) x (m + 2) pixels along rows and columns, ``conv``
    itself is now a matrix product per element of a tile, ``conv.Y`` and ``conv.out`` transform back. The weights are
    transformed ahead of time, in double precision. Loops of the block are built anew: do this first. Unroll the loops
    over a tile's elements, so that their conditions vanish. Where m does not divide the image, ``conv.out`` computes
    whole tiles and ``conv.crop`` copies what belongs to the image.

    m = 4 needs 2.25 multiplications per output and channel where m = 2 needs 4 and the convolution 9. Results differ
    from the direct ones by rounding. Largest error over the largest result, on normally distributed float32 data with
    3 to 512 channels: 2e-7 to 2e-6 for m = 2, 3e-6 to 2e-5 for m = 4, and 2e-7 to 7e-7 for the convolution.
    Gives back the names of the blocks, in order.
    """

    idle = "There is no two-dimensional convolution."

    block: Annotated[str, BlockRef("convolution to replace")]
    m: Annotated[int, TileSize("outputs of a tile along each dimension: 2 or 4")] = 4

    def apply(self, func: Func) -> Applied:
        if self.m not in KERNEL_MATRIX:
            refuse(
                "winograd.tile",
                f"There is no transform for tiles of {self.m} x {self.m} outputs.",
                (self.block,),
                f"one of: {', '.join(map(str, KERNEL_MATRIX))}",
            )
        block, path = func.block(self.block)
        _check_nest(func, block, path)
        conv = match_conv(func, block)
        made, buffers = _Stages(func, block, conv, self.m).make()
        at = own_nest(func, block.name)
        body = (*func.body[:at], *made, *func.body[at + 1 :])
        weights = func.buffer(conv.weights)
        size = self.m + 2
        packed = replace(weights, shape=(size, size, *weights.shape[2:]), layout=(WinogradStep(self.m),))
        return replace(func.with_buffers([packed, *buffers]), body=body), tuple(b.name for b, _ in blocks(made))

    def alike(self, func: Func) -> Hashable | None:
        # What is transformed has at most 16 / 4 times the elements of the image.
        known = self.m in KERNEL_MATRIX and all_plain(func) and size_limits.have_room(func, 16)
        return self.block if known else None

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, _ in blocks(func.body):
            if at in (None, block.name) and axes_of(block, "S") == 4 and axes_of(block, "R") == 3:
                yield from (Winograd(block.name, m) for m in KERNEL_MATRIX)


def _check_nest(func: Func, block: Block, path: tuple[For, ...]) -> None:
    others = [b.name for b, _ in blocks((path[0],)) if b.name != block.name] if path else []
    if others:
        refuse(
            "winograd.nest",
            f"{', '.join(others)} runs in the loops of {block.name!r}, which will not be there any more.",
            (block.name, *others),
            "do this step first, and move blocks after it",
        )
    marked = [lp.name for lp in path if lp.kind != "serial"]
    if marked:
        refuse(
            "winograd.nest",
            f"Loop {marked[0]!r} is marked, and will not be there any more.",
            (block.name, *marked),
            "do this step first, and mark loops after it",
        )


# ---------------------------------------------------------------------------------------------------------- transforms

Column = list[Expr]


@dataclass(frozen=True, slots=True)
class _Transforms:
    """Bᵀ d and Aᵀ p for one column of m + 2 values, as sums.

    What two sums share is written alike, so that it is computed once. A factor stands in each sum of its own where
    that makes a multiply-add of the two.
    """

    m: int
    dtype: str

    def of_data(self, d: Column) -> Column:
        if self.m == 2:
            return [_sub(d[0], d[2]), _add(d[1], d[2]), _sub(d[2], d[1]), _sub(d[1], d[3])]
        even, odd = self.plus(d[4], -4, d[2]), self.plus(d[3], -4, d[1])
        near, far = _sub(d[4], d[2]), _sub(d[3], d[1])
        return [
            self.plus(self.plus(d[4], -5, d[2]), 4, d[0]),
            _add(even, odd),
            _sub(even, odd),
            self.plus(near, 2, far),
            self.plus(near, -2, far),
            self.plus(self.plus(d[5], -5, d[3]), 4, d[1]),
        ]

    def of_products(self, p: Column) -> Column:
        if self.m == 2:
            return [_add(_add(p[0], p[1]), p[2]), _sub(_sub(p[1], p[2]), p[3])]
        one, alone, two, apart = _add(p[1], p[2]), _sub(p[1], p[2]), _add(p[3], p[4]), _sub(p[3], p[4])
        return [
            _add(_add(p[0], one), two),
            self.plus(alone, 2, apart),
            self.plus(one, 4, two),
            _add(self.plus(alone, 8, apart), p[5]),
        ]

    def plus(self, a: Expr, factor: int, b: Expr) -> Expr:
        return Binary("add", a, Binary("mul", b, Const(float(factor), self.dtype)))


def _add(a: Expr, b: Expr) -> Expr:
    return Binary("add", a, b)


def _sub(a: Expr, b: Expr) -> Expr:
    return Binary("sub", a, b)


def _chosen(form: Affine, values: Column) -> Expr:
    """The value whose number `form` is."""
    out = values[-1]
    for k in reversed(range(len(values) - 1)):
        out = Select((Bound(form, k, k + 1),), values[k], out)
    return out


# -------------------------------------------------------------------------------------------------------------- stages


@dataclass(frozen=True, slots=True)
class _Stages:
    """Writer of the blocks; each has axes of its own, called n, ty, tx (tiles), a, b (elements of a tile), c, o."""

    func: Func
    block: Block
    conv: Conv
    m: int

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles along the height and the width."""
        return -(-self.conv.sizes[self.conv.h] // self.m), -(-self.conv.sizes[self.conv.w] // self.m)

    def make(self) -> tuple[tuple[Stmt, ...], tuple[Buffer, ...]]:
        """Nests and new buffers, in order."""
        conv, m, size = self.conv, self.m, self.m + 2
        images, (down, across) = conv.sizes[conv.n], self.tiles
        n, c, o = ("n", images), ("c", conv.sizes[conv.c]), ("o", conv.sizes[conv.o])
        a, b, ty, tx, x, y = ("a", size), ("b", size), ("ty", down), ("tx", across), ("x", m * across + 2), ("y", m)
        whole = m * down, m * across
        exact = whole == (conv.sizes[conv.h], conv.sizes[conv.w])
        t, v, p, r = (self.func.fresh_name(f"{self.block.name}.{k}") for k in "TVMY")
        made = [
            self.stage(t, t, (n, ty, x, a, c), (a, n, ty, x, c), self.rows()),
            self.stage(v, v, (n, ty, tx, a, b, c), (a, b, n, ty, tx, c), self.columns(t)),
            self.stage(self.block.name, p, (a, b, n, ty, tx, o), (a, b, n, ty, tx, o), self.products(v, p), c),
            self.stage(r, r, (n, ty, tx, y, b, o), (y, b, n, ty, tx, o), self.rows_back(p)),
        ]
        image, h, w = self.block.buffer, ("h", whole[0]), ("w", whole[1])
        if exact:
            out = self.func.fresh_name(f"{self.block.name}.out")
            made.append(self.stage(out, image, (n, h, w, o), (n, h, w, o), self.columns_back(r)))
        else:
            out, crop = (self.func.fresh_name(f"{self.block.name}.{k}") for k in ("out", "crop"))
            made.append(self.stage(out, out, (n, h, w, o), (n, h, w, o), self.columns_back(r)))
            inside = (n, ("h", conv.sizes[conv.h]), ("w", conv.sizes[conv.w]), o)
            made.append(self.stage(crop, image, inside, inside, Load(out, tuple(Affine.var(k) for k in "nhwo"))))
        shapes = {blk.buffer: shape for blk, shape in made if blk.buffer != image}
        dtype = self.func.buffer(image).dtype
        return self.nests([blk for blk, _ in made]), tuple(Buffer(k, s, dtype) for k, s in shapes.items())

    def stage(
        self,
        name: str,
        buffer: str,
        axes: tuple[tuple[str, int], ...],
        order: tuple[tuple[str, int], ...],
        value: Expr,
        reduced: tuple[str, int] | None = None,
    ) -> tuple[Block, tuple[int, ...]]:
        """A block over `axes` that writes ``buffer[order]``, and the shape of that."""
        iters = [Iter(k, e, "S") for k, e in axes]
        if reduced is not None:
            iters.append(Iter(*reduced, "R"))
        index = tuple(Affine.var(k) for k, _ in order)
        init = self.conv.zero if reduced is not None else None
        binds = tuple(Affine.var(it.name) for it in iters)
        return Block(name, tuple(iters), binds, buffer, index, value, init), tuple(e for _, e in order)

    def nests(self, made: list[Block]) -> tuple[Stmt, ...]:
        """Put every block in loops of its own; the matrix product gets the short names."""
        names = {
            blk.name: [it.name if blk.name == self.block.name else f"{blk.name}_{it.name}" for it in blk.iters]
            for blk in made
        }
        rest = self.func.with_body(remove_block(self.func.body, self.block.name))
        fresh = iter(fresh_names(rest, [k for of in names.values() for k in of]))
        out: list[Stmt] = []
        for blk in made:
            loops = [next(fresh) for _ in blk.iters]
            bound = replace(blk, binds=tuple(Affine.var(k) for k in loops))
            out += nest([(k, it.extent) for k, it in zip(loops, blk.iters, strict=True)], (bound,))
        return tuple(out)

    # ----- values

    def rows(self) -> Expr:
        """T[a, ty, x]: Bᵀ along the height."""
        ty = Affine.var("ty")
        column = [self.pixel(ty * self.m + k, Affine.var("x")) for k in range(self.m + 2)]
        return _chosen(Affine.var("a"), self.transforms.of_data(column))

    def pixel(self, h: Affine, w: Affine) -> Expr:
        """What the convolution reads at a pixel, 0 behind the end of the image (tiles may reach there)."""
        conv = self.conv
        env = {conv.n: Affine.var("n"), conv.c: Affine.var("c"), conv.h: h, conv.w: w}
        env |= {conv.kh: Affine(), conv.kw: Affine()}
        e = map_affine(conv.data, lambda form: form.subst(env))
        height, width = conv.sizes[conv.h], conv.sizes[conv.w]
        inside = [Bound(x, 0, n + 2) for x, n in ((h, height), (w, width)) if n % self.m]
        if isinstance(e, Select) and e.b == self.conv.zero:
            inside = [b for b in inside if not any(implies(c, b) for c in e.conds)]
            return Select((*e.conds, *inside), e.a, e.b)
        return Select(tuple(inside), e, self.conv.zero) if inside else e

    def columns(self, t: str) -> Expr:
        """V[a, b, ty, tx]: Bᵀ along the width."""
        at = [Affine.var("tx") * self.m + k for k in range(self.m + 2)]
        column: Column = [Load(t, (*(Affine.var(k) for k in ("a", "n", "ty")), x, Affine.var("c"))) for x in at]
        return _chosen(Affine.var("b"), self.transforms.of_data(column))

    def products(self, v: str, p: str) -> Expr:
        """M[a, b, tile, o]: the sum over channels."""
        tile = tuple(Affine.var(k) for k in ("a", "b", "n", "ty", "tx"))
        a, b, c, o = (Affine.var(k) for k in "abco")
        term = Binary("mul", Load(v, (*tile, c)), Load(self.conv.weights, (a, b, c, o)))
        return Binary("add", Load(p, (*tile, o)), term)

    def rows_back(self, p: str) -> Expr:
        """Y[y, b, tile, o]: Aᵀ along the height."""
        tile = tuple(Affine.var(k) for k in ("b", "n", "ty", "tx", "o"))
        column: Column = [Load(p, (Affine((), k), *tile)) for k in range(self.m + 2)]
        return _chosen(Affine.var("y"), self.transforms.of_products(column))

    def columns_back(self, r: str) -> Expr:
        """The image at (h, w): Aᵀ along the width of the tile that the pixel lies in."""

        def tile(axis: str) -> Affine:
            return Affine(((Digit(axis, self.m), 1),))

        def inside(axis: str) -> Affine:
            return Affine(((Digit(axis, 1, self.m), 1),))

        column: Column = [
            Load(r, (inside("h"), Affine((), k), Affine.var("n"), tile("h"), tile("w"), Affine.var("o")))
            for k in range(self.m + 2)
        ]
        return _chosen(inside("w"), self.transforms.of_products(column))

    @property
    def transforms(self) -> _Transforms:
        """Sums of the element type."""
        return _Transforms(self.m, self.conv.zero.dtype)
