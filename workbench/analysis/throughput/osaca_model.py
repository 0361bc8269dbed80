"""OSACA, as the optional package `osaca`: ports, latencies and the longest chain through an iteration."""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from workbench.analysis.throughput.findings import Finding, Found
from workbench.errors import BuildError
from workbench.target import Target

#: Name of a CPU, as LLVM writes it -> that of OSACA's model.
MODELS = {
    "sapphirerapids": "SPR", "emeraldrapids": "SPR", "icelake-server": "ICX", "icelake-client": "ICL",
    "rocketlake": "ICL", "tigerlake": "ICL", "cascadelake": "CSX", "cooperlake": "CSX", "skylake-avx512": "SKX",
    "skylake": "SKX", "broadwell": "BDW", "haswell": "HSW", "ivybridge": "IVB", "sandybridge": "SNB",
    "znver1": "ZEN1", "znver2": "ZEN2", "znver3": "ZEN3", "znver4": "ZEN4",
}  # fmt: skip
#: OSACA lets a broadcast from memory take a port of multiply-adds on Zen 3, and one that is none on Zen 4 (0.7.1). It
#: takes none (measured, tests/benchmarks/bench_throughput.py), as a load, so it is looked up as one.
_AS_A_LOAD = dict.fromkeys(("ZEN3", "ZEN4"), re.compile(r"vp?broadcast(?:s[sd]|[dq])(?=\s[^,]*\()"))


def why_not(target: Target) -> str:
    """Say why OSACA cannot be asked about a target; "" where it can."""
    if importlib.util.find_spec("osaca") is None:
        return "OSACA is not installed: pip install 'schedule-workbench[throughput]'"
    return "" if target.cpu in MODELS else f"OSACA has no model of {target.cpu}"


@lru_cache(maxsize=4)
def _machine(arch: str) -> tuple[Any, Any, Any]:
    from osaca.parser import ParserX86ATT
    from osaca.semantics import ArchSemantics, MachineModel

    parser, machine = ParserX86ATT(), MachineModel(arch=arch)
    return parser, machine, ArchSemantics(parser, machine)


def analyse(instructions: Sequence[str], target: Target) -> Found:
    """Analyse a loop, given by its instructions without the label."""
    from importlib.metadata import version

    from osaca.semantics import KernelDG

    arch = MODELS[target.cpu]
    if read := _AS_A_LOAD.get(arch):
        instructions = [read.sub("vmovups", one) for one in instructions]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the versions of what it imports
        parser, machine, semantics = _machine(arch)
        kernel = parser.parse_file("\n".join(instructions) + "\n")
        semantics.normalize_instruction_forms(kernel)
        try:
            semantics.add_semantics(kernel)
        except KeyError as error:  # of a port in its tables
            raise BuildError(
                "throughput.analyser", f"OSACA's model {arch} does not fit the loop: {error.args[0]}"
            ) from error
        semantics.assign_optimal_throughput(kernel)
        chains = KernelDG(kernel, parser, machine, semantics).get_loopcarried_dependencies()
    longest = max(chains.values(), key=lambda chain: chain["latency"], default=None)
    on_chain = {one[0].line_number for one in longest["dependencies"]} if longest else set()
    ports = machine.get_ports()
    found = [
        Finding(
            {p: float(x) for p, x in zip(ports, form.port_pressure, strict=True) if x},
            None if "lt_unknown" in form.flags else float(form.latency),
            form.line_number in on_chain,
            "tp_unknown" not in form.flags,
        )
        for form in kernel
    ]
    pressure = {p: sum(f.ports.get(p, 0.0) for f in found) for p in ports}
    latency = float(longest["latency"]) if longest else 0.0
    return Found(f"OSACA {version('osaca')}", arch, tuple(found), pressure, latency, None)
