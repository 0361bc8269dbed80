"""``workbench doctor``: what this machine is, and whether everything that the workbench needs works on it."""

from __future__ import annotations

import os
import platform
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from workbench.cli.model import make_target
from workbench.cli.output import Output, columns
from workbench.errors import RunFailure, WorkbenchError

PACKAGES = ("numpy", "llvmlite", "onnx", "pandas", "plotly", "anywidget", "ipywidgets", "jupyterlab")


def doctor(options: Namespace, output: Output) -> int:
    """Run all checks; exit code 4 when one of them fails."""
    target = make_target(options)
    machine = {
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "target": str(target),
    }
    checks: list[dict[str, Any]] = [_package(name) for name in PACKAGES]
    checks.append(_package("xgboost-cpu", "xgboost"))
    checks.append(_check("compile, check and time a kernel in worker processes", lambda: _measure(target)))
    checks.append(_check("start a tuning log in this folder", _folder))
    bad = [check for check in checks if not check["ok"]]
    rows = [["ok" if c["ok"] else "FAILED", c["name"], c["detail"]] for c in checks]
    text = "\n".join(f"{name:8} {'-' if value is None else value}" for name, value in machine.items())
    verdict = "Everything works." if not bad else f"{len(bad)} checks failed."
    data = {**machine, "checks": checks, "ok": not bad}
    output.result(data, f"{text}\n\n{columns(['', 'Check', 'Result'], rows)}\n\n{verdict}")
    return RunFailure.exit_code if bad else 0


def _package(*names: str) -> dict[str, Any]:
    for name in names:
        try:
            return {"name": names[-1], "ok": True, "detail": version(name)}
        except PackageNotFoundError:
            continue
    return {"name": names[-1], "ok": False, "detail": f"not installed; pip install {names[0]}"}


def _check(name: str, action: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"name": name, "ok": True, "detail": action()}
    except WorkbenchError as error:
        return {"name": name, "ok": False, "detail": str(error)}
    except Exception as error:  # a doctor reports whatever is wrong and goes on
        return {"name": name, "ok": False, "detail": f"{type(error).__name__}: {error}"}


def _measure(target: Any) -> str:
    from workbench.runtime.measure import measure_func
    from workbench.workloads import matmul

    began = time.perf_counter()
    result = measure_func(matmul(64, 64, 64), target, flops=2 * 64**3)
    if not result.ok:
        raise RunFailure("run.doctor", f"{result.status}: {result.error}")
    return f"{result}; {time.perf_counter() - began:.1f} s in all"


def _folder() -> str:
    folder = os.getcwd()
    if not os.access(folder, os.W_OK):
        raise RunFailure("log.unwritable", "This folder is read-only", [folder], "give --log a path in another folder")
    return folder
