"""The innermost loop of a schedule on the processor's ports: what bounds it, instruction by instruction."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from workbench import markup as m
from workbench.analysis.loop_nest.code_listing import listing
from workbench.analysis.loop_nest.machine_loops import MachineLoop, innermost
from workbench.analysis.loop_nest.nest_rows import nest_rows
from workbench.analysis.throughput import llvm_mca, osaca_model
from workbench.analysis.throughput.findings import Finding, Found
from workbench.analysis.throughput.kernel_bound import bound_ms, iterations
from workbench.arguments import is_a
from workbench.errors import BuildError, InputError, UsageError, did_you_mean
from workbench.ir import Func
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule
from workbench.target import Target

#: A vector register that is stored on the stack.
_SPILLED = re.compile(r"\s*v?mov\w+\s+%[xyz]mm\d+, -?\d*\(%rsp\)")

Analyser: TypeAlias = tuple[Callable[[Target], str], Callable[[Sequence[str], Target], Found]]
#: Those that can be asked, the preferred one first.
ANALYSERS: dict[str, Analyser] = {
    "osaca": (osaca_model.why_not, osaca_model.analyse),
    "llvm-mca": (llvm_mca.why_not, llvm_mca.analyse),
}


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of the loop: its text, the row of the nest, its line in the listing, what the model says."""

    text: str
    row: str
    line: int
    found: Finding


@dataclass(frozen=True, slots=True)
class Throughput:
    """What one iteration of a machine loop takes at least when its data lie in the first cache.

    Attributes
    ----------
    analyser, model : str
        Who says so, and of which processor.
    row : str
        Row of the nest whose loop it is.
    trips : int or None
        Iterations of one run of the machine loop, where the code says them; it may have been unrolled.
    instructions : tuple of Instruction
    pressure : mapping of str to float
        Cycles that one iteration occupies each port.
    port_cycles, chain_cycles : float
        Cycles of the busiest port, and of the longest chain from one iteration to the next (0 where it is not known).
    cycles : float
        Of one iteration: the larger of both, or what the analyser has simulated.
    bound : str
        "throughput", "latency" where the chain takes longer than any port, or "both" where they take as long: then
        neither hides the other, and the loop takes somewhat longer than `cycles`.
    unknown : tuple of str
        Instructions that the model does not know: `cycles` may be too small then.
    bound_ms : float or None
        Milliseconds of a whole call for the iterations of this loop; None where their number or the clock is not known.
    iterations : float or None
        Of the machine loop in a whole call, in all threads; None where the code does not say it.
    """

    analyser: str
    model: str
    row: str
    trips: int | None
    instructions: tuple[Instruction, ...]
    pressure: Mapping[str, float]
    port_cycles: float
    chain_cycles: float
    cycles: float
    bound: str
    unknown: tuple[str, ...]
    bound_ms: float | None = None
    iterations: float | None = None

    @property
    def busiest(self) -> tuple[str, ...]:
        """Ports that are occupied longest."""
        return tuple(p for p, x in self.pressure.items() if x > 0 and x >= 0.98 * self.port_cycles)

    @property
    def text(self) -> str:
        """What bounds the loop, in a sentence."""
        of = f"{self.cycles:.3g} cycles an iteration"
        if self.bound == "latency":
            chain = f" of {self.chain_cycles:.3g} cycles" if self.chain_cycles else ""
            why = f"the chain{chain} from one iteration to the next bounds it, ports need {self.port_cycles:.3g}"
        else:
            why = f"port{'s' if len(self.busiest) > 1 else ''} {', '.join(self.busiest)} bound it"
            chain = "as long, so neither hides the other" if self.bound == "both" else f"{self.chain_cycles:.3g}"
            why += f", its longest chain takes {chain}" if self.chain_cycles else ""
        more = f"; at least: the model does not know {', '.join(self.unknown)}" if self.unknown else ""
        if spilled := sum(bool(_SPILLED.match(one.text)) for one in self.instructions):
            more += f"; registers are short, {spilled} vectors are kept in memory: waiting for these is not counted"
        return f"{of}: {why}{more} ({self.analyser}, model {self.model})"

    @property
    def bound_text(self) -> str:
        """What that makes of a call, in a sentence; "" where it is not known."""
        if self.bound_ms is None:
            return ""
        return f"A call takes {m.milliseconds(self.bound_ms)} at least, for the iterations of {self.row}"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "analyser": self.analyser, "model": self.model, "row": self.row, "trips": self.trips, "text": self.text,
            "whole": self.bound_text,
            "cycles": round(self.cycles, 3), "port_cycles": round(self.port_cycles, 3),
            "chain_cycles": round(self.chain_cycles, 3), "bound": self.bound, "unknown": list(self.unknown),
            "ports": [p for p, x in self.pressure.items() if x],
            "pressure": [round(x, 3) for x in self.pressure.values() if x],
            "instructions": [
                {"text": i.text.strip(), "row": i.row, "line": i.line, "latency": i.found.latency,
                 "chain": i.found.chain, "known": i.found.known,
                 "ports": {p: round(x, 3) for p, x in i.found.ports.items()}}
                for i in self.instructions
            ],
        }  # fmt: skip

    @shown_legibly
    def __repr__(self) -> str:
        lines = [self.text, *filter(None, [self.bound_text]), ""]
        for one in self.instructions:
            ports = " ".join(f"{p}:{x:.3g}" for p, x in one.found.ports.items())
            latency = "?" if one.found.latency is None else f"{one.found.latency:g}"
            mark = "*" if one.found.chain else " " if one.found.known else "?"
            lines.append(f"{mark} {latency:>3}  {' '.join(one.text.split()):<58} {ports}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = (m.Column("Instruction"), m.Column("Latency", number=True), m.Column("Chain"), m.Column("Ports"))
        rows = [
            [m.mono(" ".join(i.text.split()), 60), "?" if i.found.latency is None else f"{i.found.latency:g}",
             "chain" if i.found.chain else "", " ".join(f"{p}:{x:.3g}" for p, x in i.found.ports.items())]
            for i in self.instructions
        ]  # fmt: skip
        return str(
            m.page(
                m.heading("Throughput", self.row),
                m.line(m.text(self.text, 400)),
                m.line(m.text(self.bound_text, 400)),
                m.table(columns, rows),
            )
        )


def throughput(
    schedule: Schedule | Func,
    target: Target | str | None = None,
    *,
    row: str | None = None,
    analyser: str | None = None,
) -> Throughput:
    """Say what an iteration of the innermost loop takes on the processor's ports, from its machine code.

    Parameters
    ----------
    schedule : Schedule or Func
        All its numbers are known.
    target : Target or str, optional
        The schedule's own by default, or this machine.
    row : str, optional
        Which loop, by its row; by default that which runs most often.
    analyser : str, optional
        "osaca" or "llvm-mca"; by default the first that is installed and knows the processor.

    Raises
    ------
    UsageError
        "throughput.analyser" where none can be asked, "throughput.loop" where the code has no such loop.
    BuildError
        As `analysis.listing`.
    """
    is_a("schedule", schedule, (Schedule, Func), "pass a schedule, or its func")
    func = schedule if isinstance(schedule, Func) else schedule.func
    machine = target or (None if isinstance(schedule, Func) else schedule.target) or Target.host()
    machine = machine if isinstance(machine, Target) else Target(machine)
    loop = _chosen(innermost(listing(func, "asm", machine).lines), func, machine, row)
    lines = [(k, loop.lines[k]) for k in loop.instructions]
    report = _report(loop, lines, _analysed([line.text for _, line in lines], machine, analyser))
    whole = bound_ms(func, loop, report.cycles, machine)
    return replace(report, bound_ms=whole, iterations=iterations(func, loop, machine))


def _analysed(instructions: Sequence[str], target: Target, name: str | None) -> Found:
    """What the first analyser says that knows the processor and the loop."""
    if name is not None and name not in ANALYSERS:
        raise InputError("throughput.analyser", f"There is no analyser {name!r}", (), did_you_mean(name, ANALYSERS, ""))
    reasons = []
    for one in ANALYSERS if name is None else (name,):
        why_not, analyse = ANALYSERS[one]
        if not (reason := why_not(target)):
            try:
                return analyse(instructions, target)
            except BuildError as error:  # its tables lack something
                reason = error.message
        reasons.append(reason)
    text = "No analyser of machine code can be asked: " + "; ".join(reasons)
    raise UsageError("throughput.analyser", text, (), "install one of them; the estimate of a nest needs none")


def _chosen(loops: Sequence[MachineLoop], func: Func, target: Target, row: str | None) -> MachineLoop:
    """The machine loop of a row, else that of the row that runs most often; of several, the longest one."""
    rows = {r.id: r.iters or 0 for r in nest_rows(func, target).rows}
    known = [one for one in loops if row is None or row == one.row]
    if not known:
        found = ", ".join(dict.fromkeys(one.row for one in loops if one.row)) or "none: all of it is unrolled"
        raise UsageError("throughput.loop", "The machine code has no such loop", (row or "",), f"loops there: {found}")
    return max(known, key=lambda one: (rows.get(one.row, 0), len(one.instructions)))


def _report(loop: MachineLoop, lines: Sequence[tuple[int, Any]], found: Found) -> Throughput:
    busiest = max(found.pressure.values(), default=0.0)
    cycles = max(busiest, found.latency) if found.simulated is None else found.simulated
    waits = found.latency if found.simulated is None else found.simulated
    unknown = [line.text.split()[0] for (_, line), f in zip(lines, found.instructions, strict=True) if not f.known]
    return Throughput(
        analyser=found.analyser,
        model=found.model,
        row=loop.row,
        trips=loop.trips,
        instructions=tuple(
            Instruction(line.text, line.row, loop.first + k, f)
            for (k, line), f in zip(lines, found.instructions, strict=True)
        ),
        pressure=found.pressure,
        port_cycles=busiest,
        chain_cycles=found.latency,
        cycles=cycles,
        bound="latency" if waits > 1.05 * busiest else "both" if found.latency > 0.95 * busiest else "throughput",
        unknown=tuple(dict.fromkeys(unknown)),
    )
