"""What this machine and this installation are, and what about them will get in the way.

Nothing is compiled or timed here.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from workbench import host
from workbench.queue_settings import measuring_cores
from workbench.target import Target, cache_dir

#: Distributions that the workbench needs; alternatives are separated by a bar.
PACKAGES = (
    "numpy",
    "llvmlite",
    "onnx",
    "xgboost-cpu|xgboost",
    "pandas",
    "plotly",
    "anywidget",
    "ipywidgets",
    "jupyterlab",
)


def doctor(target: Target | None = None) -> dict[str, Any]:
    """Describe the machine, the installation and their problems.

    Parameters
    ----------
    target : Target, optional
        What code is to be made for; default this machine.

    Returns
    -------
    dict
        JSON-ready: ``system python cpu cores load target isa vector_bytes vector_registers threads caches peak_gflops``
        (of float32 on one core, None until measured) ``peaks`` (of narrower numbers on all threads, by type, as far as
        measured) ``cache_dir versions problems``; a problem is ``{"code", "message", "hint"}``.
    """
    target = target or Target.host()
    here = host.detect()
    versions = {p.partition("|")[0]: _version(p) for p in PACKAGES}
    return {
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "cpu": here.model,
        "cores": here.threads,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "target": str(target),
        "isa": sorted(target.isa),
        "vector_bytes": target.vector_bytes,
        "vector_registers": target.vector_registers,
        "threads": target.threads,
        "caches": {k: getattr(target, f"{k}_bytes") for k in ("l1", "l2", "l3", "line")},
        "peak_gflops": target.stored_peak(),
        "peaks": target.stored_peaks(target.threads),
        "cache_dir": str(cache_dir()),
        "versions": versions,
        "problems": _problems(target, here, versions),
    }


def doctor_text(report: dict[str, Any]) -> str:
    """Lay out a `doctor` report for the terminal."""
    caches = ", ".join(f"{k.upper()} {host.format_size(v)}" for k, v in report["caches"].items())
    peak = f"{report['peak_gflops']:.0f} GFLOP/s a core" if report["peak_gflops"] else "not measured yet"
    if report["peaks"]:
        narrow = ", ".join(f"{dtype} {value:.0f}" for dtype, value in sorted(report["peaks"].items()))
        peak += f" (float32); {narrow} on all {report['threads']} threads"
    isa = ", ".join(report["isa"]) or "baseline"
    rows = [
        ("system", report["system"]),
        ("python", report["python"]),
        ("cpu", f"{report['cpu']}, {report['cores']} usable"),
        (
            "vectors",
            f"{report['vector_registers']} of {report['vector_bytes']} bytes ({isa})",
        ),
        ("caches", caches),
        ("peak", peak),
        ("target", report["target"]),
        ("cache", report["cache_dir"]),
        ("packages", ", ".join(f"{k} {v or 'MISSING'}" for k, v in report["versions"].items())),
    ]
    lines = [f"{name:9} {value}" for name, value in rows]
    for problem in report["problems"]:
        lines += ["", f"! {problem['message']} [{problem['code']}]", f"  hint: {problem['hint']}"]
    return "\n".join(lines)


def _version(names: str) -> str | None:
    for name in names.split("|"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def _problems(target: Target, here: host.Host, versions: dict[str, str | None]) -> list[dict[str, str]]:
    out: list[dict[str, str]] = []

    def add(code: str, message: str, hint: str) -> None:
        out.append({"code": code, "message": message, "hint": hint})

    for name, installed in versions.items():
        if installed is None:
            add("doctor.package", f"{name} is not installed.", f"pip install {name}")
    if missing := target.missing_here():
        add(
            "doctor.target",
            f"This machine cannot run the target's code: it lacks {', '.join(missing)}.",
            "use -mcpu=native",
        )
    if target.threads > here.threads:
        add("doctor.threads", f"The target has {target.threads} threads, this process may use {here.threads}.",
            f"--threads {here.threads}")  # fmt: skip
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > 0.5 * (os.cpu_count() or 1):
        add("doctor.load", f"The machine is busy (load {load:.1f}); measured times will scatter.",
            "stop other work, or raise --repeat")  # fmt: skip
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor.exists() and (mode := governor.read_text(encoding="utf-8").strip()) == "powersave":
        add("doctor.governor", f"The CPU frequency governor is {mode!r}; times depend on what ran before.",
            "cpupower frequency-set -g performance")  # fmt: skip
    cores = measuring_cores()
    if cores and hasattr(os, "sched_getaffinity") and os.sched_getaffinity(0) & cores:
        add("doctor.queue", "This process may run on the processors that are for measurements.",
            "start notebooks with `taskset --cpu-list`, or what the page on JupyterHub says")  # fmt: skip
    if not _writable(cache_dir()):
        add("doctor.cache", f"{cache_dir()} cannot be written; the machine's peak is measured again each time.",
            "set WORKBENCH_CACHE_DIR")  # fmt: skip
    return out


def _writable(folder: Path) -> bool:
    """Whether `folder` can be written, or made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)
