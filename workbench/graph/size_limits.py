"""How large a tensor may be: nothing below asks for memory that cannot be there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.errors import ModelError
from workbench.host import memory_bytes
from workbench.ir.size_limits import MOST_DIMENSIONS

if TYPE_CHECKING:
    from workbench.graph.graph import Graph, TensorType
    from workbench.graph.operator_call import Call

#: No machine addresses more; whatever has as many bytes is a mistake in the model.
MAX_BYTES = 1 << 47
#: Constants that are computed ahead of time have so many bytes in all, and so many times what the model's own have:
#: a file of a hundred bytes must not ask for gigabytes.
FOLD_BYTES, FOLD_GROWTH = 1 << 27, 8


def check_types(c: Call, types: Sequence[TensorType]) -> None:
    """Refuse results of a node that no machine can hold.

    Raises
    ------
    ModelError
        "model.invalid_graph" for a dimension below 0, "model.too_large".
    """
    for t in types:
        if t.rank > MOST_DIMENSIONS:
            raise c.error(
                "too_large", f"would give a tensor of {t.rank} dimensions; there are at most {MOST_DIMENSIONS}"
            )
        if any(d < 0 for d in t.shape):
            raise c.error("invalid_graph", f"would give a dimension below 0: {_dims(t)}", "look at its attributes")
        if t.nbytes >= MAX_BYTES:
            raise c.error("too_large", f"would give a tensor of {_dims(t)}, more than any machine can hold")


def check_memory(graph: Graph) -> None:
    """Refuse a network one of whose tensors does not fit the memory of this machine.

    Raises
    ------
    ModelError
        "model.too_large".
    """
    limit = memory_bytes()
    for name, t in graph.types.items():
        if t.nbytes > limit and name not in graph.constants:
            made = graph.producers().get(name)
            who = f"Node {made.name!r} ({made.op}) gives {name!r}" if made else f"The input {name!r} is"
            raise _too_large(f"{who} {_dims(t)}, which takes", t.nbytes, made.name if made else name)


def check_total(name: str, nbytes: int) -> None:
    """Refuse a network whose tensors do not fit this machine's memory together; raises as `check_memory` does."""
    if nbytes > memory_bytes():
        raise _too_large(f"The network {name!r} takes", nbytes, name)


def _too_large(what: str, nbytes: int, where: str) -> ModelError:
    room = f"{memory_bytes() / 2**30:.1f} GiB"
    text = f"{what} {nbytes / 2**30:,.1f} GiB; this process may have {room}."
    return ModelError("model.too_large", text, (where,), "give smaller shapes")


def _dims(t: TensorType) -> str:
    shown = "x".join(map(str, t.shape[:8])) + ("…" if t.rank > 8 else "")
    return f"{t.dtype}[{shown}]"
