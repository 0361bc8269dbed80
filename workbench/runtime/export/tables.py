"""What differs from one exported network to the next, as LLVM constants: calls, arguments, shapes, names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.runtime.buffers import ALIGNMENT
from workbench.runtime.execution.plan import ArraySpec, CallPlan, ExecutablePlan, Slot
from workbench.runtime.export.elf import constants_layout
from workbench.runtime.export.library_text import ABI, CONTEXT, ERRORS

#: The one symbol that has the same name in every library: { i32 ABI; the prefix of all others, ended by a zero }.
MARK = "workbench_export"
PREFIX_LENGTH = 64
_KINDS = {"input": 0, "output": 1, "const": 2, "arena": 3}


@dataclass(frozen=True, slots=True)
class About:
    """What a library says of itself."""

    prefix: str
    name: str
    version: str
    target: str
    threads: int


def tables_text(plan: ExecutablePlan, calls: Sequence[CallPlan], symbols: Sequence[str], about: About) -> str:
    """Return the tables that `library_text` reads.

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
    first, args, rows = 0, [], []
    for call, symbol in zip(calls, symbols, strict=True):
        rows.append(f"%call {{ ptr @{symbol}, i64 {first} }}")
        args += [_place(slot, offsets) for slot in call.args]
        first += len(call.args)
    stage, arena_at = _stage(plan)
    slots = plan.output_slots or tuple(Slot("output", i) for i in range(len(plan.outputs)))
    places = len(plan.inputs) + len(plan.outputs)
    spaces = sorted({(c.code.shared_bytes, c.code.per_thread_bytes) for c in calls})
    numbers = {
        "call_count": len(calls),
        "arg_count": len(args),
        "input_count": len(plan.inputs),
        "output_count": len(plan.outputs),
        "space_count": len(spaces),
        "context_bytes": CONTEXT["places"] + 8 * (places + len(args)),
        "constant_bytes": constant_bytes,
        "arena_at": arena_at,
        "arena_bytes": max(arena_at + plan.arena_bytes, ALIGNMENT),
    }
    lines = [f"@{name} = internal constant i64 {value}" for name, value in numbers.items()]
    lines += [f"declare void @{symbol}(ptr, ptr, ptr)" for symbol in sorted(set(symbols))]
    lines += ["@wb_constants = external constant i8", f"@default_threads = internal constant i32 {about.threads}"]
    lines += [
        _array("calls", "%call", rows),
        _array("args", "%place", args),
        _array("results", "%place", [_place(slot, offsets) for slot in slots]),
        _array("spaces", "%place", [f"%place {{ i64 {a}, i64 {b} }}" for a, b in spaces]),
        _array("stage", "i64", [f"i64 {at}" for at in stage]),
        *_tensors("inputs", plan.inputs),
        *_tensors("outputs", plan.outputs),
        *_texts("error", [*ERRORS.values(), "an error that this library does not know"]),
        _text("name_text", about.name),
        _text("version_text", about.version),
        _text("target_text", about.target),
        _text("tiles_text", "amx-tile (the system does not grant it)"),
        f"@{MARK} = constant {{ i32, [{PREFIX_LENGTH} x i8] }} "
        f"{{ i32 {ABI}, [{PREFIX_LENGTH} x i8] {_string(about.prefix.encode().ljust(PREFIX_LENGTH, bytes(1)))} }}",
    ]
    return "\n".join(lines) + "\n"


def _place(slot: Slot, offsets: Sequence[int]) -> str:
    at = offsets[slot.at] if slot.kind == "const" else slot.at
    if slot.kind in ("const", "arena"):
        return f"%place {{ i64 {_KINDS[slot.kind]}, i64 {at + slot.skip} }}"
    return f"%place {{ i64 {_KINDS[slot.kind] + 4 * slot.skip}, i64 {at} }}"


def _stage(plan: ExecutablePlan) -> tuple[list[int], int]:
    """Offsets of the copies of inputs (-1 for what has none, as outputs), and their size."""
    offsets, size = [-1] * (len(plan.inputs) + len(plan.outputs)), 0
    for k in plan.lines:
        offsets[k] = size
        size += -(-plan.inputs[k].nbytes // ALIGNMENT) * ALIGNMENT
    return offsets, size


def _array(name: str, kind: str, cells: Sequence[str]) -> str:
    value = f"[{', '.join(cells)}]" if cells else "zeroinitializer"
    return f"@{name} = internal constant [{len(cells)} x {kind}] {value}"


def _string(data: bytes) -> str:
    """LLVM's form of bytes."""
    return 'c"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data) + '"'


def _text(name: str, value: str) -> str:
    data = value.encode(errors="replace").replace(b"\0", b"?") + b"\0"
    return f"@{name} = internal constant [{len(data)} x i8] {_string(data)}"


def _texts(name: str, values: Sequence[str]) -> list[str]:
    """Return texts and ``@NAME_texts``, the table of them."""
    cells = [f"ptr @{name}_text{i}" for i in range(len(values))]
    return [*(_text(f"{name}_text{i}", v) for i, v in enumerate(values)), _array(f"{name}_texts", "ptr", cells)]


def _tensors(name: str, specs: Sequence[ArraySpec]) -> list[str]:
    lines, cells = [], []
    for i, spec in enumerate(specs):
        lines.append(_text(f"{name}_name{i}", spec.name))
        lines.append(_text(f"{name}_dtype{i}", spec.dtype))
        lines.append(_array(f"{name}_shape{i}", "i64", [f"i64 {d}" for d in spec.shape]))
        parts = f"ptr @{name}_name{i}, ptr @{name}_dtype{i}, ptr @{name}_shape{i}, i64 {spec.nbytes}"
        cells.append(f"%tensor {{ {parts}, i32 {len(spec.shape)} }}")
    return [*lines, _array(name, "%tensor", cells)]
