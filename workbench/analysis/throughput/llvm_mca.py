"""llvm-mca, where LLVM's tools are installed: the loop simulated on LLVM's model of the processor."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench.analysis.throughput.findings import Finding, Found
from workbench.errors import BuildError
from workbench.target import Target

#: Iterations of the shorter and of the longer simulation: their difference is without the beginning and the end.
_RUNS = (100, 300)


def why_not(target: Target) -> str:
    """Say why llvm-mca cannot be asked about a target; "" where it can."""
    found = _installed(os.environ.get("PATH", ""))
    if not found:
        return "llvm-mca is not installed: it comes with LLVM's tools"
    known = any(_knows(path, target.triple, target.cpu) for _, path in found)
    return "" if known else f"llvm-mca {found[0][0]} does not know {target.cpu}: a later LLVM may"


@lru_cache(maxsize=4)
def _installed(path: str) -> tuple[tuple[str, str], ...]:
    """Version and path of each that is installed, the newest first: distributions add the version to the name."""
    programs = {p.resolve() for folder in path.split(os.pathsep) if folder for p in Path(folder).glob("llvm-mca*")}
    found = [(_version(str(p)), str(p)) for p in programs if os.access(p, os.X_OK)]
    return tuple(sorted(found, key=lambda one: [int(n) for n in re.findall(r"\d+", one[0])], reverse=True))


def _version(program: str) -> str:
    found = re.search(r"LLVM version ([\d.]+)", _ran([program, "--version"], "").stdout)
    return found[1] if found else "of an unknown version"


def _ran(command: Sequence[str], text: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:  # a file of that name that is no program, or does not end
        return subprocess.CompletedProcess(command, 126, "", str(error))


@lru_cache(maxsize=64)
def _knows(program: str, triple: str, cpu: str) -> bool:
    return _ran([program, f"-mtriple={triple}", f"-mcpu={cpu}", "-iterations=1", "-"], "nop\n").returncode == 0


def _newest(target: Target) -> tuple[str, str]:
    """Version and path of the newest that knows the target's processor."""
    found = _installed(os.environ.get("PATH", ""))
    return next((one for one in found if _knows(one[1], target.triple, target.cpu)), found[0])


def _simulated(text: str, target: Target, iterations: int) -> Any:
    program = _newest(target)[1]
    ran = _ran(
        [program, f"-mtriple={target.triple}", f"-mcpu={target.cpu}", "--json", f"-iterations={iterations}", "-"], text
    )
    if ran.returncode:
        reason = ran.stderr.strip().partition("\n")[0]
        raise BuildError("throughput.analyser", f"llvm-mca refuses the loop: {reason}")
    return json.loads(ran.stdout)


#: A multiply-add in AT&T's syntax: its sign and order, its type, its first operands, and the register that it changes.
_MULTIPLY_ADD = re.compile(r"^(\s*)vfn?m(?:add|sub)\d+([ps][sd])(\s+)(.*),\s*%[xyz]mm\d+,\s*(%[xyz]mm\d+)(.*)$")


#: A vector register by its number; cycles of a load, and iterations until only the longest chain counts.
_VECTOR, _LOAD, _CHAINED = re.compile(r"%[xyz]mm(\d+)"), 7.0, 16


#: Processors of which LLVM's models take both ports of multiply-adds for one (14 of Zen 3, 16 of Zen 4 as well).
_HALF = ("znver3", "znver4")
#: A number from memory into all lanes is a load on them, which takes no port of arithmetic.
_BROADCAST = re.compile(r"vp?broadcast(?:s[sd]|[dq])(?=\s[^,]*\()")


def _slow(instructions: Sequence[str], rows: Sequence[Any], target: Target) -> bool:
    """Whether the model begins one multiply-add a cycle where the processor begins two (of 512 bits, half as many)."""
    return target.cpu in _HALF and any(
        _MULTIPLY_ADD.match(text) and row["RThroughput"] > (1.0 if "%zmm" in text else 0.5)
        for text, row in zip(instructions, rows, strict=True)
    )


def _as_products(instructions: Sequence[str]) -> list[str]:
    """Multiply-adds as products that change the same register: these occupy the ports as long as both should."""
    return [_MULTIPLY_ADD.sub(r"\1vmul\2\3\4, \5, \5\6", one) for one in instructions]


def _chain(instructions: Sequence[str], rows: Sequence[Any]) -> float:
    """Cycles that an iteration takes where nothing but vector registers of the one before is waited for."""
    ready: dict[str, float] = {}
    ends = []
    for _ in range(2 * _CHAINED):
        for text, row in zip(instructions, rows, strict=True):
            *sources, last = _VECTOR.findall(text) or [""]
            if last and not text.rstrip().endswith(")"):  # else it is stored
                own = [last] if _MULTIPLY_ADD.match(text) else []
                spent = row["Latency"] - (_LOAD if "(" in text and sources else 0.0)
                ready[last] = max((ready.get(name, 0.0) for name in (*sources, *own)), default=0.0) + spent
        ends.append(max(ready.values(), default=0.0))
    return (ends[-1] - ends[_CHAINED - 1]) / _CHAINED


@dataclass(frozen=True, slots=True)
class _Simulation:
    """A loop on the model: what is said of each instruction, its ports, cycles of an iteration, and who was asked."""

    rows: Sequence[Any]
    ports: Sequence[dict[str, float]]
    names: Sequence[str]
    steady: float
    model: str

    @staticmethod
    def of(instructions: Sequence[str], target: Target) -> _Simulation:
        text = "\n".join(["loop:", *(re.sub(r"\.LBB\w+", "loop", one) for one in instructions)]) + "\n"
        short, long = (_simulated(text, target, n) for n in _RUNS)
        region, resources = long["CodeRegions"][0], long["TargetInfo"]["Resources"]
        names = [re.sub(r"^([A-Z0-9]+)(?=(Port|FPDivider|Divider))", "", n) for n in resources]
        ports_of = {m[1] for n in resources if (m := re.match(r"([A-Z]+)(?=Port\d)", n))}
        rows = region["InstructionInfoView"]["InstructionList"]
        ports: list[dict[str, float]] = [{} for _ in rows]
        for use in region["ResourcePressureView"]["ResourcePressureInfo"]:
            if use["InstructionIndex"] < len(rows):
                ports[use["InstructionIndex"]][names[use["ResourceIndex"]]] = float(use["ResourceUsage"])
        cycles = [one["CodeRegions"][0]["SummaryView"]["TotalCycles"] for one in (short, long)]
        steady = (cycles[1] - cycles[0]) / (_RUNS[1] - _RUNS[0])
        # LLVM lends a processor without a model of its own that of another one; the names of its ports tell which.
        model = " ".join([long["TargetInfo"]["CPUName"], *(f"(ports of {name})" for name in sorted(ports_of))])
        return _Simulation(rows, ports, names, steady, model)


def analyse(instructions: Sequence[str], target: Target) -> Found:
    """Analyse a loop, given by its instructions without the label."""
    if target.cpu in _HALF:
        instructions = [_BROADCAST.sub("vmovups", one) for one in instructions]
    run = _Simulation.of(instructions, target)
    rows, steady, model = run.rows, run.steady, run.model
    if _slow(instructions, rows, target):
        run = _Simulation.of(_as_products(instructions), target)
        steady = max(run.steady, min(steady, _chain(instructions, rows)))
        model += ", corrected: it begins half as many multiply-adds as the processor"
    found = tuple(Finding(p, float(row["Latency"]), False) for p, row in zip(run.ports, rows, strict=True))
    pressure = {n: sum(p.get(n, 0.0) for p in run.ports) for n in run.names}
    return Found(f"llvm-mca {_newest(target)[0]}", model, found, pressure, 0.0, steady)
