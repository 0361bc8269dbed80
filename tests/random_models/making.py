"""Random models: each begins with an operator that is asked for, so that all operators occur equally often."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx

from random_models import oracle
from random_models.draft import Draft, Unfit
from random_models.recipes import RECIPES

OPSETS = range(7, onnx.defs.onnx_opset_version() + 1)
#: Nodes of a model, the least and the most.
NODES = (5, 25)
#: Times that a recipe is tried for the operator that is asked for.
TRIES = 12


def has(op: str, opset: int) -> bool:
    """Whether an opset has an operator."""
    try:
        return op.startswith("workbench.") or not onnx.defs.get_schema(op, opset, "").deprecated
    except onnx.defs.SchemaError:
        return False


def random_model(seed: int, number: int, nodes: tuple[int, int] = NODES) -> Draft | None:
    """Model with that number of a series; None where onnxruntime takes none of the kind that was asked for.

    A recipe may add several nodes, so that a model may have some more than the most.
    """
    rng = np.random.default_rng([seed, number])
    names = sorted(RECIPES)
    wanted = names[number % len(names)]
    opsets = [v for v in OPSETS if has(wanted, v)]
    for opset in _opsets(rng, opsets):
        draft = Draft(rng, opset)
        if not _grow(draft, wanted):
            continue
        size = int(rng.integers(nodes[0], nodes[1] + 1))
        for _ in range(4 * size):
            if len(draft.steps) < size:
                _grow(draft, str(rng.choice(names)))
        try:
            feeds = {n: draft.known[n] for n in draft.inputs}
            model = draft.model()
            oracle.run(oracle.session(model), {v.name: feeds[v.name] for v in model.graph.input})
        except oracle.Refused:
            continue
        return draft
    return None


def _opsets(rng: np.random.Generator, opsets: list[int]) -> Iterator[int]:
    for _ in range(TRIES if opsets else 0):
        yield int(rng.choice(opsets))


def _grow(draft: Draft, op: str) -> bool:
    """Add an operator by its recipe; whether that went well. Nothing is left of what did not."""
    if not has(op, draft.opset):
        return False
    tables = (draft.inputs, draft.initializers, draft.literals, draft.known, *draft.moved)
    sizes, steps = [len(t) for t in tables], len(draft.steps)
    try:
        RECIPES[op](draft, op)
        return True
    except (Unfit, onnx.defs.SchemaError):
        del draft.steps[steps:]
        draft.rounded &= set(list(draft.known)[: sizes[3]])
        for table, size in zip(tables, sizes, strict=True):
            for name in list(table)[size:]:
                del table[name]
        return False
