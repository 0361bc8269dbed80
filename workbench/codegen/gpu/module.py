"""A whole function as one file of CUDA C or OpenCL C: a kernel for each nest over a grid, and how they are launched."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.codegen.c.expressions import ExprPrinter
from workbench.codegen.c.identifiers import Names
from workbench.codegen.c.loops import comment
from workbench.codegen.c.support_functions import MEMORY_TYPE, Helpers
from workbench.codegen.constants import Device
from workbench.codegen.gpu.barriers import barriers
from workbench.codegen.gpu.kernels import Kernel, cut_into_kernels, device_func, owned, without_threads
from workbench.codegen.gpu.launch import Launch, Sizes
from workbench.codegen.gpu.occupancy import WARP
from workbench.codegen.gpu.placement import Placed, memories, place, shared_bytes, workspace
from workbench.codegen.gpu.printer import KernelPrinter
from workbench.codegen.gpu.warp_accesses import WarpAccess, warp_accesses
from workbench.codegen.gpu.warp_tiles import head, operands, tiles
from workbench.codegen.gpu.words import RESERVED, Words
from workbench.errors import BuildError
from workbench.ir import Affine, Buffer, Func, blocks, loops
from workbench.ir.expr import all_index_forms
from workbench.ir.poly import concrete
from workbench.ir.stmt import touched
from workbench.target import Target

_AXES = ("x", "y", "z")


class GpuModule:
    """The text of a function for a GPU, and its launches.

    Parameters
    ----------
    func : Func
        Concrete, scheduled or not.
    symbol : str
        Name of the entry, and beginning of the kernels' names.
    words : Words
        The language.
    target : Target
        How many threads and how much shared memory a block may have.
    poison : bool
        Fill temporaries of threads and blocks with NaN first.

    Raises
    ------
    BuildError
        "build.holes", "gpu.scope", "gpu.local", "gpu.shared", "gpu.threads", "gpu.grid".
    """

    def __init__(self, func: Func, symbol: str, words: Words, target: Target, poison: bool = False) -> None:
        func = device_func(func, words.has_tiles)
        kernels = cut_into_kernels(func, symbol)
        owner = owned(func)
        self._most_shared = int(target.option("max_shared_memory_per_block"))
        self._most_threads = int(target.option("max_num_threads"))
        memory = memories(func, kernels, owner, self._most_shared)
        func = without_threads(func, {n: o for n, o in owner.items() if memory[n] == "local"})
        self._func, self._words, self._poison, self.symbol = func, words, poison, symbol
        self.kernels = cut_into_kernels(func, symbol)
        self.placed = place(func, memory)
        self.workspace_bytes = workspace(self.placed)
        self._names, self._helpers = Names(symbol, *(k.name for k in kernels), *RESERVED), Helpers()
        self._buffers = {b.name: b for b in func.buffers}
        self._extents = {lp.name: concrete(lp.extent) for lp, _ in loops(func.body)}
        self.counter = "int" if self._is_small() else "int64_t"
        for b in func.buffers:
            self._names("buffer", b.name)
        self._wide: dict[str, int] = {}
        self._spots = {k.name: barriers(k, self.placed) for k in self.kernels}
        self._tiles = {
            lp: operands(lp, self._buffers, target) for k in self.kernels for lp in tiles(k.body)
        }  # fmt: skip
        for k in self.kernels:
            self._check(k)

    def lines(self) -> list[str]:
        """Return the lines of the file; those of nests know their rows."""
        printed = [self._kernel(k) for k in self.kernels]
        parts = [self._title(), self._words.head.split("\n")]
        if self._tiles:
            parts.append(head().split("\n"))
        if text := self._helpers.text():
            parts.append(text.replace("static inline", self._words.function).split("\n"))
        return [line for k, part in enumerate([*parts, *printed]) for line in (("", *part) if k else part)]

    def launches(self) -> list[Launch]:
        """Return the launches, in order."""
        return [self._launch(k) for k in self.kernels]

    def _is_small(self) -> bool:
        """Whether every index and every offset in bytes is below 2**31."""
        forms: list[Affine] = []
        for b, _ in blocks(self._func.body):
            forms += [*b.index, *(g.form for g in b.guard), *(f for e in b.exprs for f in all_index_forms(e))]
        reach = (
            abs(concrete(f.const)) + sum(abs(concrete(c)) * self._extents.get(d.var, 1 << 31) for d, c in f.terms)
            for f in forms
            if not f.free
        )
        sizes = (b.nbytes for b in self._func.buffers)
        return all(x < 1 << 31 for x in (*reach, *sizes, self.workspace_bytes))

    def _check(self, kernel: Kernel) -> None:
        """Raise where a kernel asks for more than a device has."""
        shared = shared_bytes(self.placed, kernel)
        if shared > self._most_shared:
            parts = [f"{n} {p.total}" for n, p in self._inside(kernel).items() if p.memory == "shared"]
            raise BuildError(
                "gpu.shared",
                f"The threads of a block of {kernel.name} would share {shared} bytes ({', '.join(parts)}); "
                f"there are {self._most_shared}.",
                (kernel.name,),
                "smaller tiles, or shorter steps of the sum between two fetches",
            )
        if kernel.threads > self._most_threads:
            sizes = " x ".join(f"{n} along {axis[-1]}" for axis, n in kernel.block.items())
            raise BuildError(
                "gpu.threads",
                f"A block of {kernel.name} would have {kernel.threads} threads ({sizes}); there are "
                f"{self._most_threads}.",
                (kernel.name,),
                "bind shorter loops; each axis is as long as the longest loop that is bound to it",
            )
        if any(tiles(kernel.body)):
            self._check_tiles(kernel)
        for axis in ("blockIdx.y", "blockIdx.z"):
            if kernel.grid.get(axis, 1) > Device.BLOCKS:
                raise BuildError(
                    "gpu.grid",
                    f"The grid of {kernel.name} has {kernel.grid[axis]} blocks along {axis[-1]}; there can be "
                    f"{Device.BLOCKS}.",
                    (kernel.name,),
                    "bind the longest loop to blockIdx.x",
                )

    def _check_tiles(self, kernel: Kernel) -> None:
        along = kernel.block.get("threadIdx.x", 1)
        if along % WARP:
            raise BuildError(
                "gpu.warp",
                f"A block of {kernel.name} has {along} threads along x: its tiles are computed by warps of {WARP}.",
                (kernel.name,),
                f"bind loops of {WARP} iterations, or a multiple, to threadIdx.x",
            )
        for lp in tiles(kernel.body):
            for tile in self._tiles[lp].values():
                own = self.placed.get(tile.buffer.name)
                if own is not None and own.memory == "local":
                    raise BuildError(
                        "gpu.tile",
                        f"{tile.buffer.name!r} lies in the registers of each thread, where no warp can load a tile.",
                        (tile.buffer.name,),
                        f"set_scope({tile.buffer.name!r}, 'shared')",
                    )

    # ---- text ------------------------------------------------------------------------------------------------------

    def _inside(self, kernel: Kernel) -> dict[str, Placed]:
        names = {n for b, _ in blocks(kernel.body) for n in touched(b)}
        return {n: p for n, p in self.placed.items() if n in names}

    def _parameters(self, kernel: Kernel) -> Iterator[Buffer]:
        """Buffers that a kernel is given: the function's, and those in the workspace."""
        names = {n for b, _ in blocks(kernel.body) for n in touched(b)}
        for b in self._func.buffers:
            if b.name in names and (b.name not in self.placed or self.placed[b.name].memory == "global"):
                yield b

    def _kernel(self, kernel: Kernel) -> list[str]:
        ex = ExprPrinter(self._buffers, self._extents, self._names, self._helpers)
        out = KernelPrinter(
            ex, self._names, self._buffers, {}, self._poison, self.counter, words=self._words, kernel=kernel,
            temporaries=self._inside(kernel), spots=self._spots[kernel.name], helpers=self._helpers, wide=self._wide,
            tiles=self._tiles,
        )  # fmt: skip
        written = {b.buffer for b, _ in blocks(kernel.body)}
        parameters = []
        for b in self._parameters(kernel):
            copies = b.name in self.placed and self.placed[b.name].copies
            name, const = (
                self._names("all copies" if copies else "buffer", b.name),
                "" if b.name in written else "const ",
            )
            parameters.append(self._words.pointer.format(const=const, type=MEMORY_TYPE[b.dtype], name=name))
        sizes = dict(zip("xyz", self._launch(kernel).block, strict=True))
        stages = ", ".join(dict.fromkeys(comment(b.name) for b, _ in blocks(kernel.body)))
        head = self._words.kernel.format(threads=kernel.threads, **sizes)
        out.emit(0, f"/* {stages} */")
        out.emit(0, f"{head}{kernel.name}({', '.join(parameters)}) {{")
        out.shared(1)
        out.variables(None, 1)
        out.body(kernel.body, 1)
        out.emit(0, "}")
        return out.lines

    def warp_accesses(self) -> dict[str, tuple[WarpAccess, ...]]:
        """Return what the accesses of each kernel cost a warp."""
        self.lines()  # says where several elements are moved at once
        return {k.name: tuple(warp_accesses(k, self.placed, self._buffers, self._wide)) for k in self.kernels}

    def _title(self) -> list[str]:
        rows = [f"/* {comment(self._func.name)}", " *"]
        return [*rows, *(n.row() for n in self.launches()), " */"]

    def host(self) -> list[str]:
        """Return a function in CUDA C that launches the kernels: ``symbol_launch(void **bufs, char *workspace)``."""
        types = [MEMORY_TYPE[b.dtype] for b in self._func.params]
        rows = [f"static void {self.symbol}_launch(void **bufs, char *workspace) {{"]
        for k, n in zip(self.kernels, self.launches(), strict=True):
            grid, block = (f"({', '.join(map(str, x))})" for x in (n.grid, n.block))
            given = [
                f"({MEMORY_TYPE[b.dtype]} *)(workspace + {at})" if param is None else f"({types[param]} *)bufs[{param}]"
                for b, (param, at) in zip(self._parameters(k), n.arguments, strict=True)
            ]
            rows.append(f"    LAUNCH({n.kernel}, {grid}, {block}, {', '.join(given)});")
        return [*rows, "    (void)bufs, (void)workspace;", "}"]

    def output_bytes(self) -> list[int]:
        """Return the bytes of each parameter, 0 for those that are only read."""
        return [b.nbytes if b.role == "output" else 0 for b in self._func.params]

    def _launch(self, kernel: Kernel) -> Launch:
        def sizes(table: dict[str, int] | object, word: str) -> Sizes:
            assert isinstance(table, dict)
            x, y, z = (table.get(f"{word}.{a}", 1) for a in _AXES)
            return x, y, z

        numbers = {b.name: k for k, b in enumerate(self._func.params)}
        arguments = tuple(
            (numbers[b.name], 0) if b.name in numbers else (None, self.placed[b.name].offset)
            for b in self._parameters(kernel)
        )
        return Launch(
            kernel.name, sizes(kernel.grid, "blockIdx"), sizes(kernel.block, "threadIdx"), arguments,
            shared_bytes(self.placed, kernel), len(self._spots[kernel.name]),
        )  # fmt: skip
