"""TVM's names over the workbench: what was written for TVM runs with ``import workbench.tvm as tvm``.

Tutorials that define a computation, tune it or a network, and run the result need no other change than their imports.
Arrays are NumPy's. Behind every name stands what the rest of the workbench has: a module of relay is a `Graph`
(``mod.graph``), a function that was built a `Kernel`, a log one of ours. What cannot be done says what to write.

`relay`, `auto_scheduler`, `autotvm` and `contrib.graph_executor` are modules here; `te` is `workbench.te`. After
`install_as_tvm()` the names ``tvm``, ``tvm.relay``, … are these modules.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from workbench import te
from workbench.errors import UsageError
from workbench.tvm import nd, target, testing, tir, transform
from workbench.tvm.as_tvm import install_as_tvm
from workbench.tvm.functions import Function, build, lower
from workbench.tvm.target import Device, cpu, device

__all__ = [
    "Device", "Function", "build", "cpu", "device", "install_as_tvm", "lower", "nd", "target", "te", "testing", "tir",
    "transform",
]  # fmt: skip

sys.modules[f"{__name__}.te"] = te


def __getattr__(name: str) -> NoReturn:
    """Say what stands in the place of what is not here.

    Raises
    ------
    UsageError
        "tvm.name".
    """
    if name.startswith("__") or name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise UsageError("tvm.name", f"tvm.{name} is not here", (name,), _ELSEWHERE[name])


#: What TVM has and this module has not -> what to write.
_ELSEWHERE = {
    "topi": "write te.compute(...), or take a ready-made computation: wb.workloads.conv2d_nhwc(...), softmax, ...",
    "meta_schedule": "wb.tune(func, trials=..., log=...)",
    "rpc": "wb.LocalRunner(board), wb.DaskRunner(...)",
    "micro": "wb.compile(graph).export(path) writes a shared library with a C header",
    "driver": "workbench tune, run and tasks on the command line",
}
