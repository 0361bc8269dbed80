"""Loops and blocks as statements of a kernel: bound loops become numbers of blocks and threads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.codegen.c.loops import Accumulators, NestPrinter, comment
from workbench.codegen.c.support_functions import MEMORY_TYPE, Helpers
from workbench.codegen.constants import Device
from workbench.codegen.gpu.barriers import Spot, has_barrier
from workbench.codegen.gpu.combining import PART
from workbench.codegen.gpu.kernels import INIT, Kernel
from workbench.codegen.gpu.placement import Placed
from workbench.codegen.gpu.vectors import DTYPE, Scalar, VectorPrinter, lanes_of
from workbench.codegen.gpu.warp_tiles import SUMS, TILE, Tile, tile_at
from workbench.codegen.gpu.words import Words
from workbench.codegen.lowering import init_nest, reducing_loops
from workbench.ir import Affine, Block, Const, For, Load, Stmt, blocks, loops
from workbench.ir.affine import flat_index
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import concrete

#: Types that a device loads several elements of at once, in CUDA C by their size.
_WIDE = {1: "char", 2: "short", 4: "int", 8: "longlong"}


@dataclass(slots=True)
class KernelPrinter(NestPrinter):
    """Prints the statements of one kernel.

    Barriers stand between statements that all threads reach. So a loop over fewer threads than the block has does not
    keep the others away from its body as a whole: each part without a barrier has its own condition.
    """

    words: Words = field(kw_only=True)
    kernel: Kernel = field(kw_only=True)
    temporaries: Mapping[str, Placed] = field(kw_only=True)
    spots: frozenset[Spot] = field(kw_only=True)
    helpers: Helpers = field(kw_only=True)
    #: Blocks that move several elements at once, and how many.
    wide: dict[str, int] = field(default_factory=dict)
    #: Loops that a warp computes, and the tiles that they touch.
    tiles: Mapping[For, Mapping[str, Tile]] = field(default_factory=dict)
    #: Block -> the unrolled loops that tell its sums in registers apart.
    _sums: dict[str, tuple[For, ...]] = field(default_factory=dict)
    #: Loops around, and the axes of threads about which nothing is left to ask.
    _path: tuple[For, ...] = ()
    _asked: frozenset[str] = frozenset()
    #: Whether temporaries may live in the loops that are printed.
    _is_home: bool = True

    def body(self, stmts: tuple[Stmt, ...], depth: int) -> None:
        around = self._path[-1].name if self._path else ""
        for k, s in enumerate(stmts):
            if (around, k) in self.spots:
                self.emit(depth, self.words.barrier)
            self._declare_sums(s, depth)
            init, part = (s.note(INIT), s.note(PART)) if isinstance(s, For) else (None, None)
            if init is not None:
                with self.notes.at(f"init:{init}", pinned=True):
                    self._init(s, depth)
            elif part is not None:
                with self.notes.at(str(part), pinned=True):
                    self._guarded(s, depth)
            else:
                self._guarded(s, depth)

    def _guarded(self, s: Stmt, depth: int) -> None:
        """Print a statement for the threads that run it."""
        conditions, asked = self._conditions(s)
        before, self._asked = self._asked, self._asked | asked
        if conditions:
            self.emit(depth, f"if ({' && '.join(conditions)}) {{")
        NestPrinter.body(self, (s,), depth + bool(conditions))
        if conditions:
            self.emit(depth, "}")
        self._asked = before

    def _init(self, s: Stmt, depth: int) -> None:
        before, self._is_home = self._is_home, False
        self._guarded(s, depth)
        self._is_home = before

    def _init_nest(self, b: Block, path: tuple[For, ...], depth: int) -> None:
        before, self._path = self._path, self._path[:-1]
        self._init(init_nest(b, path, f"{b.name}, init"), depth)
        self._path = before

    def _may_keep(self, b: Block, path: tuple[For, ...]) -> bool:
        # What is read and written around a loop with barriers is read and written by every thread.
        axes = {axis for axis, threads in self.kernel.block.items() if threads > 1}
        return axes <= self._asked and NestPrinter._may_keep(self, b, path)

    def _conditions(self, s: Stmt) -> tuple[list[str], set[str]]:
        """What threads have to be asked before a statement, and the axes that this settles for all inside."""
        if any(has_barrier(s, spot) for spot in self.spots):
            return [], set()
        conditions: list[str] = []
        asked: set[str] = set()
        around: dict[str, For] = {lp.kind: lp for lp in self._path}
        for axis, threads in self.kernel.block.items():
            if axis in self._asked or threads == 1:
                continue
            if axis in around:
                asked.add(axis)
                if concrete(around[axis].extent) < threads:
                    conditions.append(f"{self.names('loop', around[axis].name)} < {around[axis].extent}")
            elif not any(lp.kind == axis for lp, _ in loops((s,))):
                asked.add(axis)
                conditions.append(f"{self.words.number[axis]} == 0")
        return conditions, asked

    # ---- loops -----------------------------------------------------------------------------------------------------

    def _loop(self, lp: For, depth: int) -> None:
        if lp.kind == "vectorize" and (self._in_vectors(lp, depth) or self._copied(lp, depth)):
            return
        if lp.note(TILE) is not None:
            self._tile(lp, depth)
            return
        before = self._path
        self._path = (*before, lp)
        NestPrinter._loop(self, lp, depth)
        self._path = before

    def _stop(self, lp: For, depth: int) -> str:
        return str(lp.extent) if lp.kind in self.words.number else NestPrinter._stop(self, lp, depth)

    def _header(self, lp: For, depth: int, stop: str = "") -> None:
        number = self.words.number.get(lp.kind)
        if number is None:
            NestPrinter._header(self, lp, depth, stop)
            return
        name = self.names("loop", lp.name)
        self.emit(
            depth, f"{{ const {self.counter} {name} = {number}; /* {comment(lp.name)} in {lp.extent} ({lp.kind}) */"
        )

    def _pragma(self, lp: For, depth: int) -> None:
        unrolled = For(lp.name, lp.extent, lp.body, "unroll") if lp.kind in ("vectorize", "vthread") else lp
        NestPrinter._pragma(self, unrolled, depth)

    # ---- tiles -----------------------------------------------------------------------------------------------------

    def _declare_sums(self, s: Stmt, depth: int) -> None:
        """Declare the sums of a warp that are in registers from this statement on."""
        for key, _ in s.notes:
            if not key.startswith(SUMS):
                continue
            block = key.removeprefix(SUMS)
            b, path = next((b, path) for b, path in blocks((s,)) if _sums_of(b, path) == block)
            own = reducing_loops(b)
            self._sums[block] = tuple(lp for lp in path if lp.kind == "unroll" and lp.name not in own)
            sizes = "".join(f"[{lp.extent}]" for lp in self._sums[block])
            with self.notes.at(f"init:{block}", pinned=True):
                self.emit(depth, f"wmma_sums {self.names('sums', f'{block}_sums')}{sizes} = {{}};")

    def _tile(self, lp: For, depth: int) -> None:
        """Print what a warp does with a tile."""
        b, path = next(blocks((lp,)))
        block, what = _sums_of(b, path), lp.note(TILE)
        at = self.tiles[lp]
        c, row = self._address(at["C"]), at["C"].row
        name = self.names("sums", f"{block}_sums") + "".join(
            f"[{self.names('loop', x.name)}]" for x in self._sums.get(block, ())
        )
        with self.notes.at(f"stmt:{block}", pinned=True):
            if what in ("first", "whole"):
                self.emit(depth, f"wmma_sums {name} = {{}};")
            if what in ("load", "whole"):
                self.emit(depth, f"wmma_load({name}, {c}, {row});")
            if what in ("step", "first", "whole"):
                given = ", ".join(f"{self._address(at[n])}, {at[n].row}" for n in "AB")
                function = str(lp.intrin).removeprefix("cuda.").replace(".", "_")
                self.emit(depth, f"{function}({name}, {given}); /* {comment(', '.join(x.name for x in path))} */")
            if what in ("store", "first", "whole"):
                self.emit(depth, f"wmma_store({c}, {row}, {name});")
                self.emit(depth, self.words.warp_barrier)

    def _address(self, tile: Tile) -> str:
        return f"&{self.ex.element(tile.buffer.name, tile.index)}"

    # ---- temporaries -----------------------------------------------------------------------------------------------

    def variables(self, loop: str | None, depth: int) -> None:
        for name, p in self.temporaries.items():
            if p.home != loop or not self._is_home:
                continue
            b, text = self.buffers[name], self.names("buffer", name)
            kind = MEMORY_TYPE[b.dtype]
            if p.memory == "local":
                count, shape = p.nbytes // itemsize(b.dtype), "x".join(map(str, b.shape)) or "scalar"
                self.emit(depth, f"ALIGNED {kind} {text}[{count}]; /* {shape} */")
                if self.poison:
                    self.emit(depth, f"memset({text}, 0xff, sizeof {text});")
            elif p.copies:
                at = f"{self._copy_number(p)} * {p.nbytes // itemsize(b.dtype)}"
                space = self.words.spaces[p.memory]
                self.emit(depth, f"{space}{kind} *const {text} = {self.names('all copies', name)} + {at};")

    def shared(self, depth: int) -> None:
        """Declare what the threads of the block share."""
        for name, p in self.temporaries.items():
            b = self.buffers[name]
            if p.memory != "shared":
                continue
            text = self.names("all copies" if p.copies else "buffer", name)
            count, shape = p.total // itemsize(b.dtype), "x".join(map(str, b.shape)) or "scalar"
            self.emit(depth, f"{self.words.shared}ALIGNED {MEMORY_TYPE[b.dtype]} {text}[{count}]; /* {shape} */")
            if self.poison:
                self.emit(depth, f"SHARED({text});")

    def _copy_number(self, p: Placed) -> str:
        text = "0"
        for lp in p.copies:
            name = self.names("loop", lp.name)
            text = name if text == "0" else f"({text} * {lp.extent} + {name})"
        return text

    # ---- several elements at once ----------------------------------------------------------------------------------

    def _copied(self, lp: For, depth: int) -> bool:
        """Print a vectorised copy of neighbours as wide loads and stores; False where it is none."""
        b = lp.body[0]
        if len(lp.body) != 1 or not isinstance(b, Block) or b.init is not None or not isinstance(b.value, Load):
            return False
        source, kind = b.value, self.buffers[b.buffer].dtype
        met = [c for c in b.guard if c not in self._met]
        if (
            any(lp.name in c.form.vars for c in met)
            or source.at
            or self.buffers[source.buffer].dtype != kind
            or b.buffer in self.ex.kept
            or source.buffer in self.ex.kept
        ):
            return False
        extent, size = concrete(lp.extent), itemsize(kind)
        lanes = math.gcd(extent, Device.VECTOR_BYTES // size)
        if lanes not in (2, 4) or lanes * size not in (4, 8, 16):
            return False
        ends = [(n, self._flat(n, index)) for n, index in ((b.buffer, b.index), (source.buffer, source.index))]
        if not all(_aligned(x, lp.name, lanes) for _, x in ends):
            return False
        self.wide[b.name] = lanes
        wide = "float" if kind == "float32" else _WIDE[size]
        to, at = self.ex.element(b.buffer, b.index), self.ex.element(source.buffer, source.index)
        guard = self.ex.bounds(met)
        if guard is False:
            return True
        asked = "" if guard is True else f"if ({guard.text}) "
        text = asked + self.words.copy.format(type=wide, n=lanes, to=to, source=at)
        with self.notes.at(f"stmt:{b.name}"):
            self._steps(lp, lanes, text, depth)
        return True

    def _steps(self, lp: For, lanes: int, text: str, depth: int) -> None:
        """Print a statement about several neighbours at once for all of a loop."""
        name, extent = self.names("loop", lp.name), concrete(lp.extent)
        if extent == lanes:
            self.emit(depth, f"{{ const {self.counter} {name} = 0; {text} }} /* {comment(lp.name)} (vectorize) */")
        else:
            head = f"for ({self.counter} {name} = 0; {name} < {extent}; {name} += {lanes})"
            self.emit(depth, f"{head} {text} /* {comment(lp.name)} (vectorize) */")

    def _in_vectors(self, lp: For, depth: int) -> bool:
        """Print a vectorised loop over one block as statements on vectors; False where there are none."""
        b, lanes = lp.body[0], lanes_of(lp) if self.words.has_vectors else 1
        if lanes == 1 or len(lp.body) != 1 or not isinstance(b, Block):
            return False
        met = [c for c in b.guard if c not in self._met]
        if any(lp.name in c.form.vars for c in met):
            return False
        try:
            text = self._vectors(lp, lanes).statement(b)
        except Scalar:
            return False
        guard = self.ex.bounds(met)
        if guard is False:
            return True
        if lanes < concrete(lp.extent) and b.buffer in self.ex.kept:
            self.emit(depth, f"UNROLL({concrete(lp.extent) // lanes})")  # so that sums stay in registers
        with self.notes.at(f"stmt:{b.name}"):
            self._steps(lp, lanes, text if guard is True else f"if ({guard.text}) {text}", depth)
        return True

    def _vectors(self, lp: For, lanes: int) -> VectorPrinter:
        def memory(buffer: str) -> str:
            return self.temporaries[buffer].memory if buffer in self.temporaries else "global"

        return VectorPrinter(self.ex, self.helpers, self.buffers, lp.name, self.names("loop", lp.name), lanes, memory)

    def _for_each(self, acc: Accumulators, left: str, right: str, depth: int) -> None:
        b, lanes = acc.block, lanes_of(acc.loops[-1]) if acc.loops and self.words.has_vectors else 1
        if lanes == 1 or self.buffers[b.buffer].dtype != DTYPE:
            NestPrinter._for_each(self, acc, left, right, depth)
            return
        last, around = acc.loops[-1], depth + len(acc.loops) - 1
        try:
            text = f"{self._side(acc, left, lanes)} = {self._side(acc, right, lanes)};"
        except Scalar:
            NestPrinter._for_each(self, acc, left, right, depth)
            return
        for k, lp in enumerate(acc.loops[:-1]):
            self._header(lp, depth + k)
        if lanes < concrete(last.extent):
            self.emit(around, f"UNROLL({concrete(last.extent) // lanes})")
        self._steps(last, lanes, text, around)
        for k in reversed(range(len(acc.loops) - 1)):
            self.emit(depth + k, "}")

    def _side(self, acc: Accumulators, text: str, lanes: int) -> str:
        """One side of what fills or stores accumulators, as a vector; `Scalar` where it is none."""
        b, vectors = acc.block, self._vectors(acc.loops[-1], lanes)
        if text == acc.element:
            return vectors.at(text, "local")
        if text == self.ex.element(b.buffer, b.index):
            return vectors.element(b.buffer, b.index)
        if isinstance(b.init, Const):
            return f"(float{lanes})({text})"
        raise Scalar

    def _flat(self, name: str, index: tuple[Affine, ...]) -> Affine:
        return flat_index(index, self.buffers[name].strides())


def _sums_of(b: Block, path: tuple[For, ...]) -> str:
    """The block whose sums a statement moves or adds to."""
    at = tile_at(path)
    return b.name if at is None else str(path[at].note("of") or b.name)


def _aligned(flat: Affine, loop: str, lanes: int) -> bool:
    """Whether the loop moves an element by one from a place that is a multiple of `lanes`."""
    own = [(d, c) for d, c in flat.terms if d.var == loop]
    others = [c for d, c in flat.terms if d.var != loop]
    plain = len(own) == 1 and own[0][0].plain and own[0][1] == 1
    return plain and not any(concrete(c) % lanes for c in (*others, flat.const))
