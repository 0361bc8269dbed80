"""A trace of MetaSchedule, instruction by instruction, on our schedule of the same computation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from workbench.errors import WorkbenchError
from workbench.ir import Block
from workbench.logs.importer import UNREADABLE
from workbench.logs.replays.ansor.unrolling import loops_to_unroll
from workbench.logs.replays.metaschedule.computation import Computation
from workbench.logs.replays.metaschedule.fused_cut import cut_together, fused_and_cut
from workbench.logs.replays.result import CannotReplay
from workbench.logs.replays.taking import Taking
from workbench.logs.tvm.metaschedule_trace import Instruction
from workbench.schedule.schedule import Schedule
from workbench.target import Target

ROOT = "root"
_INLINE, _AT_ROOT = "inline", "at the root"
Handler: TypeAlias = "Callable[[Following, Instruction], str]"


def build(computation: Computation, instructions: Sequence[Instruction], target: Target) -> Taking:
    """Follow a trace.

    Parameters
    ----------
    computation : Computation
        What the module computes.
    instructions : sequence of Instruction
        The trace with its decisions.
    target : Target
        What the schedule is for.

    Raises
    ------
    CannotReplay
        At an instruction that has no counterpart, or is not legal here.
    """
    following = Following(computation, target)
    following.cuts = fused_and_cut(instructions)
    for number, one in enumerate(instructions):
        following.follow(number, one)
    following.unroll()
    return following.taking


class Following:
    """A schedule while a trace is followed, and what the names of the trace stand for: blocks, loops and numbers."""

    def __init__(self, computation: Computation, target: Target) -> None:
        self.taking = Taking(Schedule(computation.func, target))
        self.names: dict[str, Any] = {}
        self.pragmas: list[tuple[str, int]] = []
        self.untouched = dict(computation.loops)
        self.cuts: Mapping[str, Instruction] = {}
        self.aliases: dict[str, str] = {}

    def follow(self, number: int, one: Instruction) -> None:
        """Take one instruction."""
        handler = HANDLERS.get(one.kind)
        try:
            if handler is None:
                self.refuse("it has no counterpart here")
            words = handler(self, one)
        except CannotReplay as refused:
            raise CannotReplay(f"instruction {number} {one}: {refused.reason}", self.taking.steps) from None
        except WorkbenchError as error:
            why = f"instruction {number} {one}: {error.message} [{error.code}]"
            raise CannotReplay(why, self.taking.steps) from None
        except UNREADABLE as error:
            why = f"instruction {number} {one.kind} has another form ({type(error).__name__})"
            raise CannotReplay(why, self.taking.steps) from None
        self.taking.told(str(one), words, number)

    def refuse(self, why: str) -> NoReturn:
        """Say why an instruction cannot be taken."""
        raise CannotReplay(why)

    def unroll(self) -> None:
        """Unroll what the pragmas ask for; last, because a marked loop is cut no more."""
        schedule = self.taking.schedule
        for loop, most in self.pragmas:
            inside = [block.name for block in schedule.blocks if loop in self.taking.loops_of(block.name)]
            for name in loops_to_unroll(schedule.func, inside[0], most, loop) if inside else ():
                self.taking.do("unroll", name)
            self.taking.told(f"auto_unroll_max_step {most}", f"short loops inside {loop} are written out")

    # ----- names

    def block(self, name: Any) -> str:
        """Return the block that a name of the trace stands for."""
        found = self.names[name]
        if not isinstance(found, str):
            raise TypeError("not a block")
        return found

    def loop(self, name: Any) -> str:
        """Return the loop that a name of the trace stands for."""
        return self.block(name)

    def number(self, name: Any) -> Any:
        """Return a number: itself, or what a name of the trace stands for; None where the rest is meant."""
        if name is None or name == "None":
            return None
        return self.names[name] if isinstance(name, str) else name

    def give(self, one: Instruction, values: Sequence[Any]) -> None:
        """Give the results of an instruction their values."""
        if len(values) != len(one.outputs):
            self.refuse(f"it makes {len(one.outputs)}, and {len(values)} are there")
        self.names.update(zip(one.outputs, values, strict=True))

    def of_block(self, name: str) -> Block:
        """Return a block of the schedule."""
        return self.taking.schedule.func.block(name)[0]

    def consumers(self, name: str) -> list[str]:
        """Return the blocks that read what a block writes."""
        own = self.of_block(name)
        found = [b for b in self.taking.schedule.blocks if b.name != name and _reads(b, own.buffer)]
        return [block.name for block in found]

    def producers(self, name: str) -> list[str]:
        """Return the blocks that write what a block reads."""
        own = self.of_block(name)
        return [b.name for b in self.taking.schedule.blocks if b.name != name and _reads(own, b.buffer)]


def _reads(block: Block, buffer: str) -> bool:
    return any(load.buffer == buffer for load in block.loads())


# ----- what each kind of instruction does; the words say what it was


def _get_block(at: Following, one: Instruction) -> str:
    name = str(one.attrs[0])
    name = at.aliases.get(name, name)
    if name != ROOT and name not in {block.name for block in at.taking.schedule.blocks}:
        at.refuse(f"there is no block {name}")
    at.give(one, [name])
    return f"block {name}"


def _get_loops(at: Following, one: Instruction) -> str:
    name = at.block(one.inputs[0])
    loops = at.taking.loops_of(name)
    first = at.untouched.get(name, ())
    if sorted(first) == sorted(loops):
        loops = list(first)  # where the module has another order than the stage
    at.give(one, loops)
    return f"loops {', '.join(loops)}"


def _get_child_blocks(at: Following, one: Instruction) -> str:
    at.give(one, [block.name for block in at.taking.schedule.blocks])
    return "all blocks"


def _get_consumers(at: Following, one: Instruction) -> str:
    at.give(one, found := at.consumers(at.block(one.inputs[0])))
    return f"read by {', '.join(found)}"


def _get_producers(at: Following, one: Instruction) -> str:
    at.give(one, found := at.producers(at.block(one.inputs[0])))
    return f"reads {', '.join(found)}"


def _sample_tile(at: Following, one: Instruction) -> str:
    at.give(one, list(one.decision))
    return f"tiles {one.decision}"


def _sample_categorical(at: Following, one: Instruction) -> str:
    at.give(one, [one.attrs[0][one.decision]])
    return f"{one.attrs[0][one.decision]} of {one.attrs[0]}"


def _sample_location(at: Following, one: Instruction) -> str:
    if one.decision in (-1, -2):
        at.give(one, [_AT_ROOT if one.decision == -1 else _INLINE])
        return "computed in a nest of its own" if one.decision == -1 else "computed where it is read"
    readers = at.consumers(at.block(one.inputs[0]))
    paths = [at.taking.loops_of(reader) for reader in readers]
    common = [loop for loop in paths[0] if all(loop in path for path in paths)] if paths else []
    if not 0 <= one.decision < len(common):
        at.refuse(f"its readers have {len(common)} loops in common")
    at.give(one, [common[one.decision]])
    return f"computed in loop {common[one.decision]}"


def _split(at: Following, one: Instruction) -> str:
    if all(name in at.names for name in one.outputs):
        return f"as {' and '.join(at.loop(name) for name in one.outputs)}, made before"
    loop, extent = at.loop(one.inputs[0]), at.taking.extent(at.loop(one.inputs[0]))
    factors = [at.number(name) for name in one.inputs[1:]]
    known, rest = 1, factors.count(None)
    for factor in factors:
        known *= factor or 1
    sizes = [-(-extent // known) if factor is None else factor for factor in factors]
    if rest > 1 or known < 1:
        at.refuse(f"it cuts {extent} iterations by {factors}")
    even = known * (-(-extent // known) if rest else 1) == extent
    at.give(one, list(at.taking.do("split", loop, sizes, *([] if even else ["guard"]))))
    return f"{loop} of {extent} by {sizes}"


def _fuse(at: Following, one: Instruction) -> str:
    loops = [at.loop(name) for name in one.inputs]
    if (cut := at.cuts.get(one.outputs[0])) is not None:
        inner = at.number(cut.inputs[2])
        outside, inside = cut_together(at.taking, loops, inner)
        at.give(one, [inside])
        at.give(cut, [outside, inside])
        return f"{', '.join(loops)} become {outside} and {inside}, the second of {at.taking.extent(inside)}"
    at.give(one, loops if len(loops) == 1 else [str(at.taking.do("fuse", *loops))])
    return f"{', '.join(loops)} become one"


def _reorder(at: Following, one: Instruction) -> str:
    loops = [at.loop(name) for name in one.inputs]
    at.taking.order(*loops)
    return f"in the order {', '.join(loops)}"


def _parallel(at: Following, one: Instruction) -> str:
    if at.taking.loop(at.loop(one.inputs[0])).kind == "parallel":
        return f"{at.loop(one.inputs[0])} is on all cores already"
    at.taking.parallel(at.loop(one.inputs[0]))
    return f"{at.loop(one.inputs[0])} on all cores"


def _vectorize(at: Following, one: Instruction) -> str:
    at.taking.vectorize(at.loop(one.inputs[0]))
    return f"{at.loop(one.inputs[0])} as vectors"


def _unroll(at: Following, one: Instruction) -> str:
    at.taking.unroll(at.loop(one.inputs[0]))
    return f"{at.loop(one.inputs[0])} written out"


def _bind(at: Following, one: Instruction) -> str:
    at.taking.do("bind", at.loop(one.inputs[0]), _text(one.inputs[1]))
    return f"{at.loop(one.inputs[0])} by {_text(one.inputs[1])}"


def _text(value: Any) -> str:
    """Return a text; one that is given where names may stand is JSON in a text."""
    return str(json.loads(value)) if isinstance(value, str) and value.startswith('"') else str(value)


def _annotate(at: Following, one: Instruction) -> str:
    key, value = str(one.attrs[0]), one.inputs[1]
    value = at.names.get(value, value) if isinstance(value, str) else value
    if key == "pragma_auto_unroll_max_step" and isinstance(value, int):
        at.pragmas.append((at.loop(one.inputs[0]), value))
        return "taken last"
    if key in ("pragma_unroll_explicit",) or key.startswith("meta_schedule."):
        return "a note of the tuner, without effect by itself"
    at.taking.note(f"the note {key} has no effect here")
    return "has no effect here"


def _nothing(at: Following, one: Instruction) -> str:
    return "nothing is to be done"


def _compute_at(at: Following, one: Instruction) -> str:
    block, loop = at.block(one.inputs[0]), at.loop(one.inputs[1])
    if loop == _INLINE:
        at.taking.do("compute_inline", block)
        return f"{block} is computed where it is read"
    if loop == _AT_ROOT:
        return f"{block} stays where it is"
    at.taking.do("compute_at", block, loop)
    return f"{block} is computed in {loop}"


def _reverse_compute_at(at: Following, one: Instruction) -> str:
    block, loop = at.block(one.inputs[0]), at.loop(one.inputs[1])
    if loop == _INLINE:
        at.taking.do("reverse_compute_inline", block)
        return f"{block} is computed by what it reads"
    if loop == _AT_ROOT:
        return f"{block} stays where it is"
    at.taking.do("reverse_compute_at", block, loop)
    return f"{block} follows in {loop}"


def _on_block(primitive: str, words: str) -> Handler:
    def taken(at: Following, one: Instruction) -> str:
        block = at.block(one.inputs[0])
        found = at.taking.do(primitive, block)
        if one.outputs:
            at.give(one, [str(found)])
        return words.format(block)

    return taken


def _cache_read(at: Following, one: Instruction) -> str:
    block, (index, scope) = at.block(one.inputs[0]), one.attrs[:2]
    own = at.of_block(block)
    read = list(dict.fromkeys(load.buffer for load in own.loads() if load.buffer != own.buffer))
    if not 0 <= index < len(read):
        at.refuse(f"{block} reads {len(read)} tensors")
    copy = str(at.taking.do("cache_read", block, read[index]))
    if scope not in ("global", ""):
        at.taking.do("set_scope", at.of_block(copy).buffer, scope)
    at.give(one, [copy])
    return f"{block} reads {read[index]} from a copy"


def _rfactor(at: Following, one: Instruction) -> str:
    loop = at.loop(one.inputs[0])
    inside = [name for name in [b.name for b in at.taking.schedule.blocks] if loop in at.taking.loops_of(name)]
    partial = str(at.taking.do("rfactor", loop, int(one.attrs[0])))
    at.aliases |= {f"{name}_rf": partial for name in inside}
    at.give(one, [partial])
    return f"{loop} keeps results of its own, which are reduced afterwards"


def _decompose(at: Following, one: Instruction) -> str:
    block, loop = at.block(one.inputs[0]), at.loop(one.inputs[1])
    at.give(one, [start := str(at.taking.do("decompose_reduction", block, loop))])
    at.aliases |= {f"{block}_init": start, f"{block}_update": block}
    vectors = [name for name in at.taking.loops_of(block) if at.taking.loop(name).kind == "vectorize"]
    for name in at.taking.loops_of(start):
        if name.removesuffix(".init") in vectors and at.taking.loop(name).kind == "serial":
            at.taking.vectorize(name)
    return f"initial values of {block} before {loop}"


def _storage_align(at: Following, one: Instruction) -> str:
    block, (_, dim, factor, offset) = at.block(one.inputs[0]), one.attrs
    at.taking.do("storage_align", at.of_block(block).buffer, dim, factor, offset)
    return f"rows of {block} are padded"


HANDLERS: dict[str, Handler] = {
    "GetBlock": _get_block, "GetLoops": _get_loops, "GetChildBlocks": _get_child_blocks,
    "GetConsumers": _get_consumers, "GetProducers": _get_producers, "SamplePerfectTile": _sample_tile,
    "SamplePartitionedTile": _sample_tile, "SampleCategorical": _sample_categorical,
    "SampleComputeLocation": _sample_location, "Split": _split, "Fuse": _fuse, "Reorder": _reorder,
    "Parallel": _parallel, "Vectorize": _vectorize, "Unroll": _unroll, "Bind": _bind, "Annotate": _annotate,
    "Unannotate": _nothing, "EnterPostproc": _nothing, "ComputeAt": _compute_at,
    "ReverseComputeAt": _reverse_compute_at,
    "ComputeInline": _on_block("compute_inline", "{} is computed where it is read"),
    "ReverseComputeInline": _on_block("reverse_compute_inline", "{} is computed by what it reads"),
    "CacheWrite": _on_block("cache_write", "{} writes a temporary, which is copied"),
    "CacheRead": _cache_read, "RFactor": _rfactor, "DecomposeReduction": _decompose, "StorageAlign": _storage_align,
}  # fmt: skip
"""What is known of each kind of instruction."""
