"""Which computation a record is about: what the caller gave, or a workload that TVM's documentation names."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from workbench import te
from workbench.errors import LogError, UsageError
from workbench.ir import Func
from workbench.logs.replays.ansor.program import stage_order
from workbench.logs.replays.compute_dag import Compute, Dag, computation, parse_dag, parse_dags
from workbench.logs.replays.compute_dag.grammar import Call, Read, numbers_of_key
from workbench.logs.replays.compute_dag.reshape import reshaped
from workbench.logs.replays.compute_dag.winograd import text_of_shapes
from workbench.logs.replays.result import CannotReplay

LARGEST = 8 << 20
"""Bytes of a file with compute DAGs that is read. Chosen: a network's is 20 KB."""

KNOWN: Mapping[str, str] = {
    "matmul_add": (
        "A = PLACEHOLDER [{0}, {1}]\nB = PLACEHOLDER [{1}, {2}]\nmatmul(i, j) += (A[i, k]*B[k, j])\n"
        "C = PLACEHOLDER [{0}, {2}]\nout(i, j) = (matmul[i, j] + C[i, j])\n"
    ),
}
"""Workloads of TVM's documentation that records name by a function: the compute DAG over the numbers of the key."""

WINOGRAD = (
    "The computation follows from the shapes, and the steps agree with it: a Winograd convolution of 3x3, weights "
    "transformed ahead of time; a residual is added, two inputs for each channel are a factor and a term, one is a "
    "term, and a ReLU follows them."
)
"""What is said of a convolution whose shapes alone are known."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The computation of a record, the order in which its stages are counted, and what was assumed, in a sentence."""

    func: Func
    order: tuple[str, ...]
    note: str = ""


def workload(key: str, task: Any) -> Workload:
    """Find the computation of a record.

    Parameters
    ----------
    key : str
        The workload's key, as the record has it: a hash or a name, and shapes.
    task : Func, Task, Tensor, str, path or None
        What the caller gave; see `workbench.logs.replay`.

    Raises
    ------
    CannotReplay
        Where nothing is known of it.
    UsageError
        ``replay.task`` where `task` is none of these.
    LogError
        ``replay.dag``, ``log.missing``, ``log.unreadable``.
    """
    if task is None:
        known = _known(key) or _winograd(key)
        return known or _refuse("the log says its computation by a hash only: replay(…, task=…) has to give it")
    if isinstance(task, te.Tensor) or (isinstance(task, list | tuple) and task and isinstance(task[-1], te.Tensor)):
        task = te.func(task if isinstance(task, te.Tensor) else task[-1])
    func = getattr(task, "func", task)
    if isinstance(func, Func):
        return Workload(func, tuple(stage_order(func)))
    if isinstance(task, str | os.PathLike):
        return _listed(key, _text(task))
    hint = "a Func, a Task, a tensor of te, the text of compute DAGs, or a file of them"
    raise UsageError("replay.task", f"A {type(task).__name__} says no computation", ("task",), hint)


def _text(task: str | os.PathLike[str]) -> str:
    if isinstance(task, str) and "\n" in task:
        return task
    path = Path(task)
    try:
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            return file.read(LARGEST)
    except FileNotFoundError as error:
        raise LogError("log.missing", "There is no such file", (str(path),), "check the path") from error
    except (OSError, ValueError) as error:
        raise LogError("log.unreadable", f"The file cannot be read: {error}", (str(path),), "") from error


def _refuse(reason: str) -> NoReturn:
    raise CannotReplay(reason)


def _known(key: str) -> Workload | None:
    names = [name for name in KNOWN if key.startswith(f'["{name}",')]
    numbers = numbers_of_key(key)
    if not names or not numbers or len(numbers) < 3:
        return None
    return _built(parse_dag(KNOWN[names[0]].format(*numbers)), numbers)


def _winograd(key: str) -> Workload | None:
    """A Winograd convolution, where the shapes of the record are those of one; its hash says nothing."""
    shapes = json.loads(key)[1:] if _hash(key) else []
    text = text_of_shapes(shapes) if all(map(_shape, shapes)) else None
    if text is None:
        return None
    dag = parse_dag(text)
    return replace(_built(dag, numbers_of_key(key) or ()), note=WINOGRAD)


def _shape(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(n, int) and 0 < n < 1 << 31 for n in value)


def _listed(key: str, text: str) -> Workload:
    """The computation of a text whose inputs and output have the shapes of the record."""
    numbers = numbers_of_key(key)
    if numbers is None:
        raise CannotReplay("the key of the workload is no JSON list")
    fitting = [dag for dag in parse_dags(text) if _fits(dag, numbers)]
    same = list(dict.fromkeys(Dag(dag.stages) for dag in fitting))
    if not same:
        return _of_other_shapes(key, numbers, text)
    if len(same) > 1:
        raise CannotReplay(f"{len(same)} computations of the text have inputs of the record's shapes")
    return _built(same[0], numbers)


def _of_other_shapes(key: str, numbers: Sequence[int], text: str) -> Workload:
    """The computation with the same hash, whose inputs have other shapes: TVM's hash leaves sizes and paddings out."""
    wanted = _hash(key)
    for dag in parse_dags(text):
        if wanted and _hash(dag.key) == wanted:
            changed = reshaped(dag, numbers)
            if changed is not None:
                note = "The text has other sizes; paddings are taken to be as wide behind as in front."
                return replace(_built(changed, numbers), note=note)
    return _winograd(key) or _refuse("no computation of the text has the record's hash, or inputs of its shapes")


def _hash(key: str) -> str:
    """The hash that a workload's key begins with; empty where it begins with something else."""
    found = re.match(r'\["([0-9a-f]{32})"', key)
    return found[1] if found else ""


def _inputs(dag: Dag) -> tuple[int, ...]:
    return tuple(n for p in dag.placeholders for n in p.shape)


def _fits(dag: Dag, numbers: Sequence[int]) -> bool:
    """Whether the numbers of a key are the inputs' shapes and a shape of the output; names of TVM's functions have
    other numbers, and a text of one computation is believed.
    """
    last = dag.stages[-1]
    have = _inputs(dag)
    if not isinstance(last, Compute) or tuple(numbers[: len(have)]) != have:
        return False
    if len(numbers) != len(have) + len(last.axes):
        return False
    return not dag.key or numbers_of_key(dag.key) == tuple(numbers)


def _built(dag: Dag, numbers: Sequence[int]) -> Workload:
    last = dag.stages[-1]
    assert isinstance(last, Compute)
    rank = len(last.axes)
    output = numbers[-rank:] if len(numbers) == len(_inputs(dag)) + rank else None
    found = computation(dag, output, weights(dag))
    return Workload(found.func, found.stages)


def weights(dag: Dag) -> tuple[str, ...]:
    """Inputs that a product reads as its second factor: TVM takes their layout for free where it may be rewritten."""
    inputs = {p.name for p in dag.placeholders}
    found = []
    for stage in dag.stages:
        if isinstance(stage, Compute) and stage.reduces == "+":
            match stage.value:
                case Call("*", (Read(), Read(name, _))) if name in inputs:
                    found.append(name)
    return tuple(found)
