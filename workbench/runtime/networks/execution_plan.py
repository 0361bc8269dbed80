"""The plan of a whole network: which kernels run in which order on which memory. Pure data, made by the compiler."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from workbench.ir.product_type import PLAIN
from workbench.runtime.buffers import Array, numpy_dtype

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode

SlotKind: TypeAlias = Literal["input", "output", "const", "arena"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an argument of a call lives.

    Parameters
    ----------
    kind : {"input", "output", "const", "arena"}
        Which memory.
    at : int
        Position among the plan's inputs, outputs or constants; for the arena, an offset in bytes (a multiple of 64).
    skip : int
        Bytes from there to the first element: where a part of a larger tensor begins.
    """

    kind: SlotKind
    at: int
    skip: int = 0


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Name, shape and dtype of an input or output of the network."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * numpy_dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True)
class Use:
    """What an argument of a call is, so that `check_plan` can follow who overwrites what.

    Parameters
    ----------
    memory : str
        Name of the tensor whose memory it is: a part of a larger tensor has the name of that one.
    shape : tuple of int
        The argument's own shape; elements of a part lie as in an array of the kernel's parameter's shape.
    """

    memory: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CallPlan:
    """One kernel call.

    Parameters
    ----------
    name : str
        What the profile calls it, for instance the names of the fused nodes.
    code : ObjectCode
        The kernel. Calls that share the object share the loaded code.
    args : tuple of Slot
        One per parameter of the kernel, in the order of ``code.params`` (inputs and constants are read, outputs
        written).
    flops : int
        Floating-point operations of the call.
    task : str
        Key of the tuning task, "" for none.
    tuned : bool
        Whether the schedule comes from a record.
    uses : tuple of Use
        What each argument is; empty where nobody knows.
    reuses : tuple of (int, int)
        Positions of an input and of the output that the kernel may write over it.
    traffic : int
        Bytes that the call has to read and write at least; 0 where nobody counted.
    tile : int, optional
        Outputs of a tile along each dimension where the kernel is Winograd's algorithm, which does less than `flops`.
    fixed : bool
        Whether it is a runtime kernel: there is nothing to tune.
    product : str
        Element type of the numbers that it multiplies and sums, see `workbench.ir.product_type`.
    """

    name: str
    code: ObjectCode
    args: tuple[Slot, ...]
    flops: int = 0
    task: str = ""
    tuned: bool = False
    uses: tuple[Use, ...] = ()
    reuses: tuple[tuple[int, int], ...] = ()
    traffic: int = 0
    tile: int | None = None
    fixed: bool = False
    product: str = PLAIN


@dataclass(frozen=True, slots=True, eq=False)
class HostCall:
    """One step that is not compiled: a Python function of arrays, which may not keep or change them.

    Parameters
    ----------
    name : str
        What the profile calls it.
    run : callable
        ``run(*inputs) -> outputs``; further outputs than `results` are dropped.
    args, results : tuple of (Slot, ArraySpec)
        Where its inputs and outputs live.
    reason : str
        Why it is not compiled.
    operator : str
        Operator that it computes.
    uses : tuple of Use
        What its inputs and then its outputs are.
    """

    name: str
    run: Callable[..., Sequence[Array]]
    args: tuple[tuple[Slot, ArraySpec], ...]
    results: tuple[tuple[Slot, ArraySpec], ...]
    reason: str
    operator: str
    flops: int = 0
    task: str = ""
    tuned: bool = False
    uses: tuple[Use, ...] = ()


class Body(Protocol):
    """A network inside of a step: an `Executable`."""

    def set_threads(self, threads: int) -> None: ...

    def poison(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ExecutablePlan:
    """Everything that an `Executable` needs.

    Parameters
    ----------
    inputs, outputs : tuple of ArraySpec
        The network's interface, in order.
    constants : tuple of array
        Constant operands, already in the layout that the kernels expect.
    arena_bytes : int
        Size of the memory for intermediate results; the offsets in the calls refer to it.
    calls : tuple of CallPlan or HostCall
        In execution order.
    threads : int
        Threads to use unless told otherwise.
    output_slots : tuple of Slot
        Where each output is found after the last call. Empty means that calls write to ``Slot("output", i)``; give it
        where an output is an input, a constant or an intermediate result as it is.
    untuned : tuple of str
        Descriptions of the tasks that run with their default schedule.
    borrowed : tuple of (str, str)
        Description of each task whose schedule is that of another task or machine, and where it comes from.
    name : str
        For display.
    target : str
        Text of the target that the kernels were compiled for; "" where nobody says.
    least_bytes : int
        Most bytes of intermediate results that live at once, a result that lies over an operand counted once: no arena
        for these calls is smaller. 0 where nobody counted.
    lines : tuple of int
        Inputs whose vectors are read so often that one that does not begin a line of the cache is copied first.
    cuts : tuple of (int, int, int)
        Outputs of which data decide how much counts, as positions: the output, the output that says how much, the axis.
    rounded : tuple of str
        Narrower types that numbers are rounded to and then kept in float32.
    bodies : tuple of Body
        Networks that steps run: bodies of If, Loop and Scan.
    """

    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    constants: tuple[Array, ...]
    arena_bytes: int
    calls: tuple[CallPlan | HostCall, ...]
    threads: int = 1
    output_slots: tuple[Slot, ...] = ()
    untuned: tuple[str, ...] = field(default=())
    name: str = "network"
    target: str = ""
    least_bytes: int = 0
    borrowed: tuple[tuple[str, str], ...] = ()
    lines: tuple[int, ...] = ()
    cuts: tuple[tuple[int, int, int], ...] = ()
    rounded: tuple[str, ...] = ()
    bodies: tuple[Body, ...] = ()

    @property
    def working_set(self) -> int:
        """Bytes that one run touches: constants, arena, inputs and outputs."""
        held = sum(array.nbytes for array in self.constants)
        return self.arena_bytes + held + sum(spec.nbytes for spec in self.inputs + self.outputs)


def main_node(call: str, nodes: Container[str]) -> str | None:
    """Node that a call is named after, in front of a colon and what it computes; either may have colons inside."""
    parts = call.split(": ")
    return next((h for k in range(len(parts) - 1, 0, -1) if (h := ": ".join(parts[:k])) in nodes), None)
