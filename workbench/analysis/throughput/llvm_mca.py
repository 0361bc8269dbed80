"""llvm-mca, where LLVM's tools are installed: the loop simulated on LLVM's model of the processor."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from workbench.analysis.throughput.findings import Finding, Found
from workbench.errors import BuildError
from workbench.target import Target

#: Iterations of the shorter and of the longer simulation: their difference is without the beginning and the end.
_RUNS = (100, 300)


def why_not(target: Target) -> str:
    """Say why llvm-mca cannot be asked about a target; "" where it can."""
    return "" if shutil.which("llvm-mca") else "llvm-mca is not installed: it comes with LLVM's tools"


@lru_cache(maxsize=1)
def _version() -> str:
    said = subprocess.run(["llvm-mca", "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    found = re.search(r"LLVM version ([\d.]+)", said)
    return found[1] if found else "of an unknown version"


def _simulated(text: str, target: Target, iterations: int) -> Any:
    command = [
        "llvm-mca", f"-mtriple={target.triple}", f"-mcpu={target.cpu}", "--json", f"-iterations={iterations}", "-",
    ]  # fmt: skip
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    if ran.returncode:
        raise BuildError("throughput.analyser", f"llvm-mca refuses the loop: {ran.stderr.strip().splitlines()[0]}")
    return json.loads(ran.stdout)


def _slow(instructions: Sequence[str], rows: Sequence[Any]) -> bool:
    """Whether the model begins one multiply-add a cycle, as LLVM 14 says of Zen 3."""
    return any("vfm" in text and row["RThroughput"] > 0.5 for text, row in zip(instructions, rows, strict=True))


def analyse(instructions: Sequence[str], target: Target) -> Found:
    """Analyse a loop, given by its instructions without the label."""
    text = "\n".join(["loop:", *(re.sub(r"\.LBB\w+", "loop", one) for one in instructions)]) + "\n"
    short, long = (_simulated(text, target, n) for n in _RUNS)
    region = long["CodeRegions"][0]
    names = [re.sub(r"^([A-Z0-9]+)(?=(Port|FPDivider|Divider))", "", n) for n in long["TargetInfo"]["Resources"]]
    ports_of = {m[1] for n in long["TargetInfo"]["Resources"] if (m := re.match(r"([A-Z]+)(?=Port\d)", n))}
    rows = region["InstructionInfoView"]["InstructionList"]
    ports: list[dict[str, float]] = [{} for _ in rows]
    for use in region["ResourcePressureView"]["ResourcePressureInfo"]:
        if use["InstructionIndex"] < len(rows):
            ports[use["InstructionIndex"]][names[use["ResourceIndex"]]] = float(use["ResourceUsage"])
    found = tuple(Finding(p, float(row["Latency"]), False) for p, row in zip(ports, rows, strict=True))
    cycles = [one["CodeRegions"][0]["SummaryView"]["TotalCycles"] for one in (short, long)]
    pressure = {n: sum(p.get(n, 0.0) for p in ports) for n in names}
    steady = (cycles[1] - cycles[0]) / (_RUNS[1] - _RUNS[0])
    # LLVM lends a processor without a model of its own that of another one; the names of its ports tell which.
    scheduling = " ".join([long["TargetInfo"]["CPUName"], *(f"(ports of {name})" for name in sorted(ports_of))])
    if target.cpu == "znver3" and _slow(instructions, rows):
        scheduling += ", which begins one multiply-add a cycle: the processor begins two"
    return Found(f"llvm-mca {_version()}", scheduling, found, pressure, 0.0, steady)
