"""What an intrinsic is: the loops that it stands for, what the CPU must have, and how its code is written.

The description is an ordinary unscheduled function made with `te`: its nest says what the instruction computes, its
buffers how the operands lie in memory. So the interpreter can run what the description says, and nothing else has to
know what an instruction means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from workbench.errors import BuildError, ScheduleError
from workbench.ir import Block, For, Func, Stmt, blocks, loops
from workbench.registry import Declarations

if TYPE_CHECKING:
    from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Place:
    """Where one operand lies for one call.

    Attributes
    ----------
    buffer, pointer : str
        Its buffer, and the address of its first element.
    row_bytes : int
        Bytes from row to row.
    passing : bool
        Whether so much of the buffer is read before this part is read again that it should not displace other data
        from the first cache.
    """

    buffer: str
    pointer: str
    row_bytes: int
    passing: bool = False


class Emitter(Protocol):
    """What an implementation may ask of the code generator. Values and addresses are LLVM texts without their type."""

    def declare(self, name: str, text: str) -> None:
        """Put a declaration or a constant into the module, once."""

    def effect(self, text: str) -> None:
        """Emit an instruction that gives no value."""

    def value(self, text: str) -> str:
        """Emit an instruction here and return its value."""

    def slot(self, type_: str) -> str:
        """Return the address of a register of this type, which lives as long as the function."""

    def read(self, place: Place, lanes: int, splat: bool) -> str:
        """Return a vector of `lanes` int32 read at a place, or one int32 read there in every lane."""

    def again(self, value: str, type_: str) -> str:
        """Return a value that products are computed with, once more where nothing but products is timed."""

    def around(self, before: str, after: str) -> None:
        """Emit `before` ahead of the whole nest, and `after` at the end of the function; once each."""


class Machine(Protocol):
    """Code of one intrinsic while a group of its accumulators, numbered from 0, lives in registers."""

    def zero(self, acc: int) -> None:
        """Set an accumulator to 0."""

    def load(self, acc: int, at: Place) -> None:
        """Read an accumulator from memory."""

    def store(self, acc: int, at: Place) -> None:
        """Write an accumulator to memory."""

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate one call of the intrinsic; operands go by their name in the description."""

    def fence(self) -> None:
        """Forget what is known of operand registers: a loop begins, which comes back here with others in them."""


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One instruction, or a short sequence of them.

    Attributes
    ----------
    name : str
        Architecture, extension, operation: ``"x86.amx.bf16"``.
    summary : str
        What it computes, in one line.
    func : Func
        The description: one nest that reduces; its loops are matched in order. A buffer's first dimension may have any
        stride if it is in `rows`; all others lie as the description's do.
    rows : frozenset of str
        Buffers of the description whose rows may lie apart.
    requires : tuple of str
        Extensions that the target must have.
    accumulators : int
        Results that can be kept in registers at the same time.
    machine : callable or None
        ``machine(emitter, accumulators)`` gives the implementation for a group of so many results. None where no code
        of LLVM's calls it: the code generator of an accelerator knows it by its name.
    cycles, latency : float
        Processor cycles from one call to the next, and from a result to the next one on the same accumulator; what a
        cost model goes by.
    threads : int
        Threads along threadIdx.x that compute it together: a warp, for those of GPUs.
    """

    name: str
    summary: str
    func: Func
    rows: frozenset[str]
    requires: tuple[str, ...]
    accumulators: int
    machine: Callable[[Emitter, int], Machine] | None = field(compare=False)
    cycles: float = 0.5
    latency: float = 5.0
    threads: int = 1

    @property
    def block(self) -> Block:
        """The block of the description."""
        return next(blocks(self.func.body))[0]

    @property
    def chain(self) -> tuple[For, ...]:
        """The loops of the description, outermost first."""
        return tuple(lp for lp, _ in loops(self.func.body))

    @property
    def shape(self) -> str:
        """The loops in words: ``i 16, j 16, reduce k 16, reduce q 2``."""
        kinds = {it.name: it.kind for it in self.block.iters}
        return ", ".join(f"{'reduce ' if kinds[lp.name] == 'R' else ''}{lp.name} {lp.extent}" for lp in self.chain)

    def missing(self, target: Target) -> tuple[str, ...]:
        """Extensions that the target lacks."""
        return tuple(name for name in self.requires if name not in target.isa)


registry: Declarations[Intrinsic] = Declarations("intrinsic", "intrinsics", "intrinsic.unknown", ScheduleError)


def require(body: tuple[Stmt, ...], target: Target) -> None:
    """Raise `BuildError` "build.intrinsic" when a nest calls an intrinsic that the target does not have."""
    for lp, _ in loops(body):
        if lp.intrin is None:
            continue
        missing = registry[lp.intrin].missing(target)
        if missing:
            raise BuildError(
                "build.intrinsic",
                f"Loop {lp.name!r} calls {lp.intrin}, and {target.title!r} lacks {', '.join(missing)}.",
                (lp.name, *missing),
                "build for a target that has it; the interpreter and the C backend run the loops that describe it",
            )
