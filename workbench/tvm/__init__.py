"""TVM's names over the workbench: what was written for TVM runs with ``import workbench.tvm as tvm``.

Tutorials that define a computation, tune it or a network, and run the result need no other change than their imports.
Arrays are NumPy's. Behind every name stands what the rest of the workbench has: a module of relay is a `Graph`
(``mod.graph``), a function that was built a `Kernel`, a log one of ours. What cannot be done says what to write.

`relay`, `auto_scheduler`, `autotvm` and `contrib.graph_executor` are modules here; `te` is `workbench.te`.
"""

from __future__ import annotations

import sys

from workbench import te
from workbench.tvm import nd, target, testing, transform
from workbench.tvm.functions import Function, build, lower
from workbench.tvm.target import Device, cpu, device

__all__ = ["Device", "Function", "build", "cpu", "device", "lower", "nd", "target", "te", "testing", "transform"]

sys.modules[f"{__name__}.te"] = te
