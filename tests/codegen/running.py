"""Marking loops and running compiled code, for the tests of the code generator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.codegen.backend import build_func
from workbench.ir import For, Func
from workbench.ir.interpreter import interp
from workbench.ir.stmt import rewrite
from workbench.runtime.kernel import Kernel
from workbench.target import Target

TARGET = Target.host(threads=2)


def marked(func: Func, **kinds: str) -> Func:
    """Set loop kinds by name, without asking whether that is legal."""

    def fn(s):
        return (replace(s, kind=kinds[s.name]),) if isinstance(s, For) and s.name in kinds else None

    return replace(func, body=rewrite(func.body, fn))


def compiled(func: Func, *arrays: np.ndarray, **named: np.ndarray) -> np.ndarray:
    return Kernel(func, build_func(func, TARGET, poison=True), TARGET, poison=True)(*arrays, **named)


def check(func: Func, inputs: dict[str, np.ndarray] | None = None, rtol: float = 1e-6) -> None:
    inputs = interp.random_inputs(func) if inputs is None else inputs
    want = interp.run(func, inputs)
    got = compiled(func, **inputs)
    for b, y in zip(func.outputs, got if isinstance(got, tuple) else (got,), strict=True):
        np.testing.assert_allclose(y, want[b.name], rtol=rtol, atol=1e-6, err_msg=b.name)
