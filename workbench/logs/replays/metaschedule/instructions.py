"""What each kind of instruction of MetaSchedule is here; the words say what it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from workbench.logs.replays.metaschedule.following import Following
from workbench.logs.replays.metaschedule.fused_cut import cut_together
from workbench.logs.replays.taking import ALONE
from workbench.logs.tvm.metaschedule_trace import Instruction

ROOT = "root"
_INLINE, _AT_ROOT = "inline", "at the root"
MEMORIES = ("shared", "local")
"""Memories that have the same name here."""
Handler: TypeAlias = "Callable[[Following, Instruction], str]"


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
    name = at.block(one.inputs[0])
    blocks = [block.name for block in at.taking.schedule.blocks]
    found = blocks if name == ROOT else [block for block in blocks if name in at.taking.loops_of(block)]
    at.give(one, found)
    return f"blocks in {name}: {', '.join(found)}"


def _get_output_blocks(at: Following, one: Instruction) -> str:
    func = at.taking.schedule.func
    at.give(one, found := [b.name for b in at.taking.schedule.blocks if func.buffer(b.buffer).role == "output"])
    return f"outputs are written by {', '.join(found)}"


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
    loop, thread = at.loop(one.inputs[0]), _text((*one.attrs, *one.inputs[1:])[0])
    around = next(path[: path.index(loop)] for path in at.paths() if loop in path)
    if thread != "vthread" and any(at.taking.loop(outer).kind == thread for outer in around):
        at.taking.note(ALONE)
        return f"{loop} is run by each thread: {thread} is a loop around it"
    at.taking.do("bind", loop, thread)
    return f"{loop} by {thread}"


def _add_unit_loop(at: Following, one: Instruction) -> str:
    name = at.block(one.inputs[0])
    of_block = any(block.name == name for block in at.taking.schedule.blocks)
    loop = at.taking.loops_of(name)[-1] if of_block else name
    extent = at.taking.extent(loop)
    first, second = at.taking.do("split", loop, [extent, 1] if of_block else [1, extent])
    single, rest = (second, first) if of_block else (first, second)
    at.names = {key: rest if value == loop else value for key, value in at.names.items()}
    at.give(one, [single])
    return f"a loop {single} that runs once"


def _set_scope(at: Following, one: Instruction) -> str:
    block, scope = at.block(one.inputs[0]), one.attrs[1]
    _put(at, block, scope)
    return f"what {block} writes is to be in {scope} memory"


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
    read = at.taking.reads_of(block)
    if not 0 <= index < len(read):
        at.refuse(f"{block} reads {len(read)} tensors")
    copy = str(at.taking.do("cache_read", block, read[index]))
    _put(at, copy, scope)
    at.give(one, [copy])
    return f"{block} reads {read[index]} from a copy"


def _cache_write(at: Following, one: Instruction) -> str:
    block, scope = at.block(one.inputs[0]), one.attrs[1]
    at.give(one, [copy := str(at.taking.do("cache_write", block))])
    _put(at, block, scope)
    return f"{block} writes a temporary, which {copy} copies"


def _put(at: Following, block: str, scope: str) -> None:
    """Put what a block writes into a memory that has a name here; registers of tensor cores have none."""
    if scope in MEMORIES:
        at.scopes[block] = scope
    elif scope not in ("global", ""):
        at.refuse(f"the memory {scope} has no match here")


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
    rank = len(at.of_block(block).index)
    at.taking.do("storage_align", at.of_block(block).buffer, dim % rank if -rank <= dim else dim, factor, offset)
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
    "CacheWrite": _cache_write, "CacheRead": _cache_read, "AddUnitLoop": _add_unit_loop, "SetScope": _set_scope,
    "GetOutputBlocks": _get_output_blocks, "ReorderBlockIterVar": _nothing, "RFactor": _rfactor,
    "DecomposeReduction": _decompose, "StorageAlign": _storage_align,
}  # fmt: skip
"""What is known of each kind of instruction."""

REFUSED: Mapping[str, str] = {
    "Merge": "loops of several nests do not become one here",
    "LoopPartition": "a loop is not cut into nests after each other here",
    "Blockize": "iterations that become a block, with loops of its own around, have no match here",
    "Tensorize": "the instruction that it names is none of the intrinsics here",
    "ReadAt": "a copy that a whole block of threads makes at once has no match here",
    "WriteAt": "a copy that a whole block of threads makes at once has no match here",
    "CacheIndex": "a table of what indices come to has no match here",
    "CacheInplace": "a copy that takes the place of what is written has no match here",
    "ReIndex": "a copy whose axes are those of the block has no match here",
    "ReindexCacheRead": "a copy whose axes a function of indices says has no match here",
    "ReindexCacheWrite": "a copy whose axes a function of indices says has no match here",
    "TransformLayout": "a layout that a function of indices says has no match here",
    "TransformBlockLayout": "axes of a block that a function of indices says have no match here",
    "SetAxisSeparator": "memory of several dimensions has no match here",
    "DecomposePadding": "zeros that are written before the rest have no match here",
    "PadEinsum": "axes of all tensors are not padded at once here",
    "RollingBuffer": "a buffer that is used in a circle has no match here",
    "UnsafeSetDType": "another type of numbers changes the result",
    "UnsafeHideBufferAccess": "accesses are not hidden here",
    "AnnotateBufferAccess": "accesses are not told but found here",
    "FuseReductionEpilogue": "what follows a reduction does not become a part of it here",
}
"""Why a kind of instruction is not taken."""
