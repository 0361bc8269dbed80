"""What differs from one exported network to the next, as LLVM constants: calls, arguments, shapes, names."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.runtime.buffers import ALIGNMENT
from workbench.runtime.export.cpu_features import CHECK, checks
from workbench.runtime.export.elf import constants_layout
from workbench.runtime.export.native_contexts import (
    ABI,
    CALL,
    CONTEXT,
    ERRORS,
    KIND_BITS,
    KINDS,
    PLACE,
    SPACE,
    TENSOR,
)
from workbench.runtime.native.structs import Struct
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, Slot

#: The one symbol that has the same name in every library: { i32 ABI; the prefix of all others, ended by a zero }.
MARK = "workbench_export"
PREFIX_LENGTH = 64


@dataclass(frozen=True, slots=True)
class About:
    """What a library says of itself, its machine, and the features that its code needs; tiles have to be asked for."""

    prefix: str
    name: str
    version: str
    target: str
    threads: int
    features: tuple[str, ...] = ()
    tiles: bool = False
    arch: str = "x86_64"


def tables_text(plan: ExecutablePlan, calls: Sequence[CallPlan], symbols: Sequence[str], about: About) -> str:
    """Return the tables that `native_contexts` reads.

    Parameters
    ----------
    plan : ExecutablePlan
        The network.
    calls : sequence of CallPlan
        Its calls.
    symbols : sequence of str
        The kernel of each call.
    about : About
        Names and texts.
    """
    offsets, constant_bytes = constants_layout(plan.constants)
    args = [_place(slot, offsets) for call in calls for slot in call.args]
    starts = itertools.accumulate((len(call.args) for call in calls), initial=0)
    stage, arena_at = _stage(plan)
    slots = plan.output_slots or tuple(Slot("output", i) for i in range(len(plan.outputs)))
    places = len(plan.inputs) + len(plan.outputs)
    looked_for = checks(about.features, about.arch)
    spaces = sorted({(c.code.shared_bytes, c.code.per_thread_bytes) for c in calls})
    numbers = {
        "asks_tiles": int(about.tiles),
        "context_bytes": CONTEXT.offset("places") + 8 * (places + len(args)),
        "constant_bytes": constant_bytes,
        "arena_at": arena_at,
        "arena_bytes": max(arena_at + plan.arena_bytes, ALIGNMENT),
    }
    errors = [*ERRORS.values(), "an error that this library does not know"]
    lines = [f"@{name} = internal constant i64 {value}" for name, value in numbers.items()]
    lines += [f"declare void @{symbol}(ptr, ptr, ptr)" for symbol in sorted(set(symbols))]
    lines += ["@wb_constants = external constant i8", f"@default_threads = internal constant i32 {about.threads}"]
    lines += [
        _table("calls", CALL, zip((f"@{symbol}" for symbol in symbols), starts, strict=False)),
        _table("args", PLACE, args),
        _table("results", PLACE, (_place(slot, offsets) for slot in slots)),
        _table("spaces", SPACE, spaces),
        _array("stage", "i64", stage),
        *_tensors("inputs", plan.inputs),
        *_tensors("outputs", plan.outputs),
        *(_text(f"error{i}", text) for i, text in enumerate(errors)),
        _array("error_texts", "ptr", (f"@error{i}" for i in range(len(errors)))),
        *(_text(f"feature{i}", name) for i, (name, _, _) in enumerate(looked_for)),
        _table("checks", CHECK, ((f"@feature{i}", word, mask) for i, (_, word, mask) in enumerate(looked_for))),
        _text("name_text", about.name),
        _text("version_text", about.version),
        _text("target_text", about.target),
        _text("tiles_text", "amx-tile (the system does not grant it)"),
        f"@{MARK} = constant {{ i32, [{PREFIX_LENGTH} x i8] }} "
        f"{{ i32 {ABI}, [{PREFIX_LENGTH} x i8] {_string(about.prefix.encode().ljust(PREFIX_LENGTH, bytes(1)))} }}",
    ]
    return "\n".join(lines) + "\n"


def _place(slot: Slot, offsets: Sequence[int]) -> tuple[int, int]:
    """The words of a place, see `native_calls.address`."""
    at = offsets[slot.at] if slot.kind == "const" else slot.at
    if slot.kind in ("const", "arena"):
        return KINDS[slot.kind], at + slot.skip
    return KINDS[slot.kind] + (slot.skip << KIND_BITS), at


def _stage(plan: ExecutablePlan) -> tuple[list[int], int]:
    """Offsets of the copies of inputs (-1 for what has none, as outputs), and their size."""
    offsets, size = [-1] * (len(plan.inputs) + len(plan.outputs)), 0
    for k in plan.lines:
        offsets[k] = size
        size += -(-plan.inputs[k].nbytes // ALIGNMENT) * ALIGNMENT
    return offsets, size


def _array(name: str, kind: str, values: Iterable[str | int]) -> str:
    cells = [f"{kind} {value}" for value in values]
    value = f"[{', '.join(cells)}]" if cells else "zeroinitializer"
    return f"@{name} = internal constant [{len(cells)} x {kind}] {value}"


def _table(name: str, row: Struct, values: Iterable[tuple[str | int, ...]]) -> str:
    """Rows of a structure, and how many they are."""
    types = [kind for _, kind in row.fields.values()]
    cells = [", ".join(f"{kind} {v}" for kind, v in zip(types, each, strict=True)) for each in values]
    count = f"@{name.removesuffix('s')}_count = internal constant i64 {len(cells)}"
    return f"{count}\n{_array(name, row.type, (f'{{ {cell} }}' for cell in cells))}"


def _string(data: bytes) -> str:
    """LLVM's form of bytes."""
    return 'c"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data) + '"'


def _text(name: str, value: str) -> str:
    data = value.encode(errors="replace").replace(b"\0", b"?") + b"\0"
    return f"@{name} = internal constant [{len(data)} x i8] {_string(data)}"


def _tensors(name: str, specs: Sequence[ArraySpec]) -> list[str]:
    lines: list[str] = []
    rows: list[tuple[str | int, ...]] = []
    for i, spec in enumerate(specs):
        lines.append(_text(f"{name}_name{i}", spec.name))
        lines.append(_text(f"{name}_dtype{i}", spec.dtype))
        lines.append(_array(f"{name}_shape{i}", "i64", spec.shape))
        rows.append((f"@{name}_name{i}", f"@{name}_dtype{i}", f"@{name}_shape{i}", spec.nbytes, len(spec.shape)))
    return [*lines, _table(name, TENSOR, rows)]
