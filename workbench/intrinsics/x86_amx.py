"""Intel's Advanced Matrix Extensions: eight tile registers of 16 rows of 64 bytes, and products of whole tiles.

A product reads a tile of A (16 rows of 64 bytes), a tile of B (the rows of 4 bytes of k that belong together, for 16
columns), and accumulates onto 16 x 16 numbers of 4 bytes. Published in Intel's Architecture Instruction Set Extensions
Programming Reference, chapter "Intel AMX". Products of bfloat16 take denormal numbers for 0, and so do their sums.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench import te
from workbench.host import TILE_CONFIG
from workbench.intrinsics.declaration import Emitter, Intrinsic, Place, registry
from workbench.ir import Func

TILES = 8
ROWS, ROW_BYTES = 16, 64
#: Symbol of the shape of all tiles; an object that names it needs the system's permission to use tiles.
CONFIG = TILE_CONFIG


class Tiles:
    """Accumulators in the first tiles; the others hold operands, the longest unused of which makes room."""

    def __init__(self, emitter: Emitter, accumulators: int, product: str) -> None:
        self._e, self._product = emitter, product
        self._free = tuple(range(accumulators, TILES))
        self._held: dict[tuple[str, int], int] = {}
        self._fn("ldtilecfg", "ptr")
        self._fn("tilerelease", "")
        cells = ", ".join(f"i8 {x}" for x in config())
        emitter.declare(CONFIG, f"@{CONFIG} = internal constant [64 x i8] [{cells}], align 64")
        emitter.around(f"call void @llvm.x86.ldtilecfg(ptr @{CONFIG})", "call void @llvm.x86.tilerelease()")

    def _fn(self, name: str, args: str) -> str:
        self._e.declare(f"llvm.x86.{name}", f"declare void @llvm.x86.{name}({args})")
        return f"call void @llvm.x86.{name}"

    def zero(self, acc: int) -> None:
        """Set an accumulator to 0."""
        self._e.effect(f"{self._fn('tilezero', 'i8')}(i8 {acc})")

    def load(self, acc: int, at: Place) -> None:
        """Read a tile from memory."""
        # The second form goes past the first cache (measured: a fifth faster where the operands do not fit in it).
        name = "tileloaddt164" if at.passing else "tileloadd64"
        self._e.effect(f"{self._fn(name, 'i8, ptr, i64')}(i8 {acc}, ptr {at.pointer}, i64 {at.row_bytes})")

    def store(self, acc: int, at: Place) -> None:
        """Write a tile to memory."""
        self._e.effect(f"{self._fn('tilestored64', 'i8, ptr, i64')}(i8 {acc}, ptr {at.pointer}, i64 {at.row_bytes})")

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate the product of a tile of A and a tile of B."""
        a = self._operand(operands["A"])
        b = self._operand(operands["B"])
        self._e.effect(f"{self._fn(self._product, 'i8, i8, i8')}(i8 {acc}, i8 {a}, i8 {b})")

    def fence(self) -> None:
        """Forget which operands the tiles hold."""
        self._held.clear()

    def _operand(self, at: Place) -> int:
        key = (at.pointer, at.row_bytes)
        tile = self._held.pop(key, None)
        if tile is None:
            taken = set(self._held.values())
            tile = next((t for t in self._free if t not in taken), None)
            if tile is None:
                tile = self._held.pop(next(iter(self._held)))
            self.load(tile, at)
        self._held[key] = tile
        return tile


def config() -> list[int]:
    """Return the bytes that set the tiles up. Palette 1: every tile has 16 rows of 64 bytes."""
    data = [0] * 64
    data[0] = 1
    for t in range(TILES):
        data[16 + 2 * t] = ROW_BYTES
        data[48 + t] = ROWS
    return data


def _description(a_dtype: str, b_dtype: str, sum_dtype: str, group: int) -> Func:
    """``C[i, j] += A[i, k * group + q] * B[k, j, q]``."""
    a = te.placeholder((ROWS, 16 * group), a_dtype, "A")
    b = te.placeholder((16, 16, group), b_dtype, "B")
    k, q = te.reduce_axis(16, "k"), te.reduce_axis(group, "q")

    def at(i: te.Axis, j: te.Axis) -> te.Reduction:
        return te.sum(te.cast(a[i, k * group + q], sum_dtype) * te.cast(b[k, j, q], sum_dtype), axis=[k, q])

    return te.func(te.compute((ROWS, 16), at, name="C"), "tile_product")


def _declare(name: str, instruction: str, feature: str, a_dtype: str, b_dtype: str, sum_dtype: str) -> None:
    group = 2 if a_dtype == "bfloat16" else 4
    registry.add(
        Intrinsic(
            name,
            f"C[i, j] += A[i, {group}k + q] * B[k, j, q] for a tile of 16 x 16 x {16 * group}, "
            f"{a_dtype} times {b_dtype}, sums in {sum_dtype}.",
            _description(a_dtype, b_dtype, sum_dtype, group),
            frozenset("ABC"),
            ("amx-tile", feature),
            # One tile each for A and B at least.
            TILES - 2,
            lambda emitter, accumulators: Tiles(emitter, accumulators, instruction),
            cycles=16.0,
            latency=52.0,
        )
    )


_declare("x86.amx.bf16", "tdpbf16ps", "amx-bf16", "bfloat16", "bfloat16", "float32")
_declare("x86.amx.u8s8", "tdpbusd", "amx-int8", "uint8", "int8", "int32")
_declare("x86.amx.s8s8", "tdpbssd", "amx-int8", "int8", "int8", "int32")
