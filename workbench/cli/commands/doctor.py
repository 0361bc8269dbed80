"""Check this machine and this installation."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Any

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.output import Output
from workbench.errors import RunFailure, WorkbenchError

#: Problems that keep the workbench from working; the others only make it slower or its times less sure.
SERIOUS = ("doctor.package", "doctor.target", "doctor.kernel")


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    shared.target(command)


def doctor(options: Namespace, output: Output) -> int:
    """Report, then compile, check and time one kernel in worker processes; exit code 4 when something does not work."""
    from workbench.codegen.backend import backends_here
    from workbench.doctor import doctor as describe
    from workbench.doctor import doctor_text
    from workbench.runtime import devices
    from workbench.target import Target

    target = Target(options.target, threads=options.threads) if options.target else Target.host(options.threads)
    report = describe(target)
    report["backends"], report["devices"] = backends_here(), devices.found()
    try:
        report["kernel"] = _measure(target)
    except WorkbenchError as error:
        report["kernel"] = None
        problem = {"code": "doctor.kernel", "message": "A kernel cannot be compiled and run here.", "hint": str(error)}
        report["problems"].append(problem)
    report["ok"] = not any(problem["code"] in SERIOUS for problem in report["problems"])
    verdict = f"A kernel was compiled, checked and timed: {report['kernel']}" if report["kernel"] else ""
    text = [
        doctor_text(report),
        _backends_text(report["backends"]),
        devices.text(report["devices"]),
        *([verdict] if verdict else []),
    ]
    text.append("Everything works." if report["ok"] else "Something does not work.")
    output.result(report, "\n\n".join(text))
    return 0 if report["ok"] else RunFailure.exit_code


def _backends_text(backends: list[dict[str, Any]]) -> str:
    """Lay out what every code generator can do here."""
    lines = []
    for b in backends:
        state = "runs here" if b["runs"] else "compiles, does not run here" if b["compiles"] else "prints only"
        lines.append(f"backend {b['name']:13} {state}: {b['title']}")
        lines += [f"  {b['reason']}"] if not b["runs"] and not b["compiles"] else []
    return "\n".join(lines)


def _measure(target: Any) -> str:
    from workbench.codegen.backend import require_runnable
    from workbench.runtime.schedule_methods import measure
    from workbench.workloads import matmul

    require_runnable(target)
    began = time.perf_counter()
    func = matmul(64, 64, 64)
    result = measure(func, func, target)
    if not result.ok:
        raise RunFailure("run.doctor", f"{result.status}: {result.error}")
    return f"{result}; {time.perf_counter() - began:.1f} s in all"
