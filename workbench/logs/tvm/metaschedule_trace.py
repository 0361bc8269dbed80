"""A trace of MetaSchedule: its instructions, its decisions, and a readable name for each decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.logs.tir import TirBlock, TirFunction

RENAMED = {"GetSBlock": "GetBlock", "GetSBlocks": "GetBlocks", "SBlockize": "Blockize"}
"""Kinds that were called otherwise before 2026."""

_KEY_PREFIX = "meta_schedule."


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction: its kind (by its older name), inputs, attributes, results, and the decision where it samples."""

    kind: str
    inputs: tuple[Any, ...]
    attrs: tuple[Any, ...]
    outputs: tuple[str, ...]
    decision: Any = None

    @property
    def samples(self) -> bool:
        """Whether it makes a decision."""
        return self.kind.startswith("Sample")

    def __str__(self) -> str:
        given = ", ".join(str(item) for item in (*self.inputs, *self.attrs))
        made = f"{', '.join(self.outputs)} = " if self.outputs else ""
        chosen = f" -> {self.decision}" if self.decision is not None else ""
        return f"{made}{self.kind}({given}){chosen}"


def read_trace(trace: Any) -> tuple[Instruction, ...]:
    """Return the instructions of a trace as it is stored, ``[instructions, decisions]``.

    Raises
    ------
    ValueError, TypeError
        For a value of another form.
    """
    instructions, decisions = trace
    chosen = {int(number): decision for number, decision in decisions}
    return tuple(
        Instruction(RENAMED.get(kind, str(kind)), tuple(inputs), tuple(attrs), tuple(outputs), chosen.get(number))
        for number, (kind, inputs, attrs, outputs) in enumerate(instructions)
    )


def design_space(instructions: Sequence[Instruction]) -> tuple[str, ...]:
    """Return the kinds of the instructions before the postprocessing: records of one design space have the same."""
    kinds = [one.kind for one in instructions]
    return tuple(kinds[: kinds.index("EnterPostproc")] if "EnterPostproc" in kinds else kinds)


@dataclass(frozen=True, slots=True)
class Knob:
    """A decision: its name, what was chosen, the instruction, and the extent of the loop that it is about."""

    name: str
    value: Any
    instruction: Instruction
    extent: int | None


def knobs(instructions: Sequence[Instruction], function: TirFunction | None) -> Iterator[Knob]:
    """Yield the decisions, each named ``<kind>#<position> of <loop of block>``; the position counts decisions.

    Names of loops come from `function`; a loop that the trace made itself has none.
    """
    blocks: dict[str, str] = {}
    loops: dict[str, tuple[str, int]] = {}
    about = _annotated(instructions)
    position = 0
    for one in instructions:
        if one.kind == "GetBlock" and one.outputs:
            blocks[one.outputs[0]] = str(one.attrs[0])
        elif one.kind == "GetLoops":
            loops.update(_loops_of(one, blocks, function))
        elif one.samples:
            name, extent = f"{one.kind}#{position}", None
            if of := _place(one, blocks, loops, about):
                name, extent = f"{name} of {of[0]}", of[1]
            yield Knob(name, _value(one), one, extent)
            position += 1


def _annotated(instructions: Sequence[Instruction]) -> Mapping[Any, tuple[str, Any]]:
    """Return for each variable the first note that has it: its key, and what it is on."""
    found: dict[Any, tuple[str, Any]] = {}
    for one in instructions:
        if one.kind == "Annotate" and len(one.inputs) == 2 and isinstance(one.inputs[1], str):
            found.setdefault(one.inputs[1], (str(one.attrs[0]).removeprefix(_KEY_PREFIX), one.inputs[0]))
    return found


def _loops_of(
    one: Instruction, blocks: Mapping[str, str], function: TirFunction | None
) -> Iterator[tuple[str, tuple[str, int]]]:
    block: TirBlock | None = function.block(blocks.get(one.inputs[0], "")) if function is not None else None
    if block is not None and len(block.loops) == len(one.outputs):
        for made, loop in zip(one.outputs, block.loops, strict=True):
            yield made, (f"{loop.name} of {block.name}", loop.extent)


def _place(
    one: Instruction, blocks: Mapping[str, str], loops: Mapping[str, tuple[str, int]],
    about: Mapping[Any, tuple[str, Any]],
) -> tuple[str, int | None] | None:  # fmt: skip
    first = str(one.inputs[0]) if one.inputs else ""
    if first in loops:
        return loops[first]
    if first in blocks:
        return blocks[first], None
    if one.outputs and one.outputs[0] in about:
        key, on = about[one.outputs[0]]
        place = blocks.get(on) or loops.get(on, ("",))[0]
        return (f"{key} of {place}" if place else key), None
    return None


def _value(one: Instruction) -> Any:
    """Return what was chosen; of categories the category, not its number."""
    if one.kind == "SampleCategorical" and isinstance(one.decision, int) and one.attrs:
        candidates = one.attrs[0]
        if isinstance(candidates, list) and 0 <= one.decision < len(candidates):
            return candidates[one.decision]
    return one.decision


def choices(knob: Knob, most: int) -> list[Any] | None:
    """Return what a decision could be, as far as the record says it: categories, or the ways to split an extent.

    Parameters
    ----------
    knob : Knob
        The decision.
    most : int
        None where there are more than that.
    """
    one = knob.instruction
    if one.kind == "SampleCategorical" and one.attrs and isinstance(one.attrs[0], list):
        return list(one.attrs[0][:most])
    if one.kind == "SamplePerfectTile" and knob.extent is not None and len(one.attrs) == 2:
        parts, innermost = one.attrs
        if isinstance(parts, int) and isinstance(innermost, int) and 0 < parts <= 8 and 0 < knob.extent <= 1 << 20:
            found: list[list[int]] = []
            return found if _splits(knob.extent, parts, innermost, (), found, most) else None
    return None


def _splits(
    extent: int, parts: int, innermost: int, inner: tuple[int, ...], found: list[list[int]], most: int
) -> bool:  # fmt: skip
    """Add the ways to write an extent as a product of `parts` factors; false when there are too many."""
    if parts == 1:
        if inner or extent <= innermost:
            found.append([extent, *inner])
        return len(found) <= most
    limit = innermost if not inner else extent
    for factor in range(1, min(extent, limit) + 1):
        if extent % factor == 0 and not _splits(extent // factor, parts - 1, innermost, (factor, *inner), found, most):
            return False
    return True
