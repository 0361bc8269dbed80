"""The workbench as a backend of ``torch.compile``, for inference.

>>> fast = torch.compile(model, backend="workbench", options={"log": "net.tunelog.jsonl"})  # doctest: +SKIP
>>> with torch.no_grad():  # doctest: +SKIP
...     y = fast(x)

torch finds the name by the entry point ``torch_dynamo_backends``; nothing has to be imported. `workbench` is the
function behind it. `aten` has the operators, `conversion` makes graphs of FX graphs, `backend` cuts, compiles and runs.
Nothing else in the workbench imports this package, which imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from workbench.arguments import known_options
from workbench.errors import UsageError

__all__ = ["workbench"]


def workbench(
    module: Any, examples: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: str | None = None
) -> Callable[..., Any]:
    """Compile an FX graph of torch's for inference.

    Operators that the workbench does not know stay in torch, and a warning says which. Weights are part of what is
    compiled: when torch changes one in place, or another takes its place, the next run compiles anew. What goes past
    torch, through ``.data`` or NumPy, it does not see.

    Parameters
    ----------
    module : torch.fx.GraphModule
        As Dynamo traces it.
    examples : sequence of tensor or int
        The first arguments.
    options : mapping, optional
        ``log``, ``trials``, ``target``, ``threads``, ``precision``, ``fallback``: see `backend.Options`.
    mode : str, optional
        There are no modes.

    Returns
    -------
    callable
        Takes what `module` takes.

    Raises
    ------
    UsageError
        "usage.torch" (torch is missing), "torch.mode", "torch.log", "usage.option".
    ModelError
        "torch.left" where operators would stay in torch and ``fallback`` is false.
    LogError, BuildError
        As for `workbench.compile`.
    """
    if find_spec("torch") is None:
        raise UsageError("usage.torch", "The package torch is not installed", (), "pip install torch")
    from workbench.torch_backend.backend import Options, compile_fx

    if mode is not None:
        raise UsageError("torch.mode", f"There is no mode {mode!r}", ("mode",), 'choose with options={"trials": 200}')
    given = dict(options or {})
    known_options(given, [f.name for f in fields(Options)], "torch.compile")
    return compile_fx(module, examples, Options(**given))
