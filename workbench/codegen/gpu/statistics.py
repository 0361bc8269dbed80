"""What is known of a kernel for a GPU before it runs anywhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.codegen.gpu import nvrtc
from workbench.codegen.gpu.launch import Launch, Sizes
from workbench.codegen.gpu.module import GpuModule
from workbench.codegen.gpu.occupancy import Occupancy, occupancy
from workbench.codegen.gpu.warp_accesses import WarpAccess
from workbench.errors import BuildError

_WIDTH = re.compile(r"\.(8|16|32|64|128)\b|\.[US](8|16)\b")
_PREDICATE = re.compile(r"@!?U?P\w+\s+")


@dataclass(frozen=True, slots=True)
class MachineCode:
    """What the compiler made of a kernel.

    Attributes
    ----------
    arch : str
    registers : int
        Of a thread.
    spilled_bytes : int
        Stores and loads of a thread's registers for which there was no room.
    stack_bytes : int
        Memory of a thread besides registers.
    occupancy : Occupancy
    instructions : dict
        Instruction such as ``FFMA`` or ``LDS.128`` -> how often it stands in the code; empty without an nvdisasm that
        knows the GPU.
    """

    arch: str
    registers: int
    spilled_bytes: int
    stack_bytes: int
    occupancy: Occupancy
    instructions: Mapping[str, int] = field(default_factory=dict)

    def count(self, name: str) -> int:
        """Return how often an instruction stands in the code, whatever its width."""
        return sum(n for word, n in self.instructions.items() if word.split(".")[0] == name)

    def widths(self, name: str) -> dict[int, int]:
        """Return how often an instruction such as ``LDG`` stands in the code, by the bytes that a thread moves."""
        out: Counter[int] = Counter()
        for word, n in self.instructions.items():
            if word.split(".")[0] == name:
                found = _WIDTH.search(word)
                out[int(found[1] or found[2]) // 8 if found else 4] += n
        return dict(sorted(out.items()))

    @property
    def ffma_per_lds(self) -> float | None:
        """Multiply-adds for each load of shared memory; None without such loads, or without nvdisasm."""
        loads = self.count("LDS")
        return self.count("FFMA") / loads if loads else None


@dataclass(frozen=True, slots=True)
class KernelStatistics:
    """What is known of one kernel before it runs anywhere; printing it shows all of it.

    Attributes
    ----------
    kernel : str
    grid, block : tuple of int
        Blocks of the grid and threads of a block, along x, y and z.
    shared_bytes : int
        Memory that a block shares.
    barriers : int
        Places where the threads of a block meet.
    accesses : tuple of WarpAccess
        What each access to global or shared memory costs a warp, by its index form.
    code : MachineCode or None
        For the target ``cuda``, where NVRTC is installed.
    """

    kernel: str
    grid: Sizes
    block: Sizes
    shared_bytes: int
    barriers: int
    accesses: tuple[WarpAccess, ...]
    code: MachineCode | None = None

    def __str__(self) -> str:
        return "\n".join(text for text, _ in self.lines())

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what is known, line by line, each with its row of the nest; "" for what is about the whole kernel.

        What matters stands in the first 60 letters, as far as names allow: a panel of a narrow screen has no more.
        """
        grid, block = (" x ".join(map(str, sizes)) for sizes in (self.grid, self.block))
        yield f"{self.kernel}: {grid} blocks of {block} threads", ""
        yield f"  {self.shared_bytes} bytes shared, {self.barriers} barriers", ""
        if (code := self.code) is not None:
            full, spilled = code.occupancy, f"{code.spilled_bytes} bytes spilled, {code.stack_bytes} of stack"
            yield f"  {code.arch}: {code.registers} registers, {spilled}", ""
            yield f"  occupancy {full.share:.0%}: {full.blocks} blocks at once, bounded by {full.limiter}", ""
            if code.instructions:
                yield from (("  " + ", ".join(said), "") for said in _said(code) if said)
        for a in self.accesses:
            what = f"{a.block} {'writes' if a.is_write else 'reads'} {a.buffer}"
            unit = "sectors" if a.memory == "global" else "turns of the banks"
            how = f"{a.memory}, {a.width} bytes x {a.threads} threads"
            yield f"  {what}: {a.transactions} {unit}, at least {a.least} ({how})", a.row


def _said(code: MachineCode) -> Iterator[list[str]]:
    """What stands in the code: what computes and waits, what loads, what stores."""
    first = [f"{n} {name}" for name in ("FFMA", "HMMA", "BAR") if (n := code.count(name)) or name != "HMMA"]
    if code.ffma_per_lds is not None:
        first.append(f"{code.ffma_per_lds:.1f} FFMA for each LDS")
    yield first
    for names in (("LDG", "LDS"), ("STG", "STS")):
        found = {name: widths for name in names if (widths := code.widths(name))}
        yield [
            f"{name} " + " + ".join(f"{n} of {size} bytes" for size, n in widths.items())
            for name, widths in found.items()
        ]


def statistics(module: GpuModule, code: Callable[[Launch], MachineCode] | None = None) -> tuple[KernelStatistics, ...]:
    """Return what is known of each kernel of a module; `code` says what a compiler made of one."""
    accesses = module.warp_accesses()
    return tuple(
        KernelStatistics(
            n.kernel, n.grid, n.block, n.shared, n.barriers, accesses[n.kernel], None if code is None else code(n)
        )
        for n in module.launches()
    )


def machine_code(compiled: nvrtc.Compiled, arch: str) -> Callable[[Launch], MachineCode]:
    """Return what says of a launch what the compiler made of its kernel."""
    words: dict[str, Counter[str]] = {}
    try:
        listed = nvrtc.disassembly(compiled.cubin)
    except BuildError:  # there is no nvdisasm, or it does not know GPUs that are so old or so new
        listed = ""
    for kernel, line, _ in nvrtc.sass(listed):
        if line.startswith(" "):
            words.setdefault(kernel, Counter())[_PREDICATE.sub("", line.strip()).split()[0]] += 1

    def of(n: Launch) -> MachineCode:
        facts = compiled.facts.get(n.kernel, {})
        registers = facts.get("registers", 0)
        full = occupancy(arch, n.threads, registers, n.shared)
        spilled = facts.get("spill_stores", 0) + facts.get("spill_loads", 0)
        return MachineCode(arch, registers, spilled, facts.get("stack", 0), full, dict(words.get(n.kernel, {})))

    return of
