"""What opens somebody's own model or view: a model's inputs with proposals, and the notebook that shows it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench import host
from workbench.graph.model import Declared, Dim, Program
from workbench.graph.onnx import load_onnx
from workbench.graph.onnx.reader import read_program
from workbench.session.core.protocol import error_json
from workbench.session.export.saved_view import read_view, tasks_of

BATCH, LENGTH = (1, "1 is a batch of one"), (128, "128 stands for any length")
CHANNELS, SIDE = (3, "3 are the channels of an image"), (224, "224 is a usual side of an image")
UNKNOWN = (1, "of others nothing is known")

USUAL = ((r"batch|^n$|^b$", BATCH), (r"seq|len|tok|time|word", LENGTH), (r"chan|^c$", CHANNELS),
         (r"height|width|size|^h$|^w$", SIDE))  # fmt: skip
"""What open dimensions are proposed to be, by what their names contain, and why."""

IMAGE = (BATCH, CHANNELS, SIDE, SIDE)

LOOKED_AT = 4096
"""So many elements of a weight are looked at to see whether they are all the same."""


def describe(path: str) -> str:
    """Return the inputs of a model as JSON, or ``{"error": ...}`` that says in words why it cannot be read.

    Each input has ``name``, ``dtype``, ``dims`` (sizes, names of open ones, None for what is not known; None without
    any shape), ``shape``, which is what is proposed, and ``guess``, why that. ``empty`` says that all weights
    are stubs.
    """
    return _told(lambda: _described(read_program(_file(path))))


def notebook(path: str, shapes: Mapping[str, Sequence[int]], threads: int, fill: bool = False) -> str:
    """Return the cells of a notebook that opens a model with these shapes, as JSON, or what is wrong with them."""

    def make() -> dict[str, Any]:
        graph = load_onnx(_file(path), shapes).typed()
        return {"title": graph.name, "cells": _cells(path, shapes, threads, fill)}

    return _told(make)


def view_notebook(path: str) -> str:
    """Return the cells of a notebook that opens a view, as JSON, or what is wrong with its file."""

    def make() -> dict[str, Any]:
        view = read_view(path)
        tasks_of(view)
        name = os.path.basename(path)
        code = f"import workbench as wb\n\nw = wb.Workbench(view={name!r})\nw"
        return {"title": str(view["title"]), "cells": _noted(name, "Made by the Schedule Workbench.", code)}

    return _told(make)


def _told(make: Callable[[], dict[str, Any]]) -> str:
    try:
        return json.dumps(make())
    except Exception as error:
        return json.dumps({"error": error_json(error)})


def _file(path: str) -> Path:
    """A path, never the name of a model that the onnx package ships."""
    return Path(path)


def _described(program: Program) -> dict[str, Any]:
    inputs = [
        {"name": i.name, "dtype": i.dtype, "dims": None if i.dims is None else list(i.dims), "shape": proposed(i),
         "guess": why_proposed(i)}
        for i in program.inputs
    ]  # fmt: skip
    return {"inputs": inputs, "threads": host.detect().threads, "empty": _empty(program)}


def proposed(declared: Declared) -> list[int]:
    """Return a shape for an input: known sizes, and usual ones for those that are open, by their name and place."""
    return [d if isinstance(d, int) else size for d, (size, _) in _guesses(declared)]


def why_proposed(declared: Declared) -> str:
    """Say of the sizes of an input that are open why these are proposed; empty where none is."""
    told = dict.fromkeys(why for d, (_, why) in _guesses(declared) if not isinstance(d, int))
    return ", ".join(told)


def _guesses(declared: Declared) -> list[tuple[Dim, tuple[int, str]]]:
    dims = declared.dims or ()
    image = len(dims) == len(IMAGE) and declared.dtype.startswith("float")
    return [(d, _usual(d, k, image)) for k, d in enumerate(dims)]


def _usual(name: Dim, place: int, image: bool) -> tuple[int, str]:
    for pattern, guess in USUAL if isinstance(name, str) else ():
        if re.search(pattern, str(name), re.IGNORECASE):
            return guess
    return IMAGE[place] if image else BATCH if place == 0 else LENGTH if place == 1 else UNKNOWN


def _empty(program: Program) -> bool:
    """Whether all weights of some size are constant: such models are shipped to be filled."""
    heavy = [a for a in program.constants.values() if a.size >= LOOKED_AT and a.dtype.kind == "f"]
    shapes = (program.constants.get(n.inputs[0]) for n in program.nodes if n.op == "ConstantOfShape")
    stubs = any(shape is not None and int(np.prod(shape)) >= LOOKED_AT for shape in shapes)
    return (stubs or bool(heavy)) and all(
        np.ptp(np.asarray(a.reshape(-1)[:LOOKED_AT], np.float32)) == 0.0 for a in heavy
    )


def _cells(path: str, shapes: Mapping[str, Sequence[int]], threads: int, fill: bool) -> list[dict[str, str]]:
    name = os.path.basename(path)
    given = "{" + ", ".join(f"{k!r}: {tuple(int(d) for d in v)!r}" for k, v in shapes.items()) + "}"
    model = f"fill_weights({name!r}, seed=0, shapes=shapes)" if fill else repr(name)
    log = f"{Path(name).stem}.tunelog.jsonl"
    code = [
        "import workbench as wb",
        *(["from workbench.graph.seeded_weights import fill_weights"] if fill else []),
        "",
        f"shapes = {given}",
        f"model = wb.load_onnx({model}, shapes)",
        f"w = wb.Workbench(model, target=wb.Target.host(threads={int(threads)}), log={log!r})",
        "w",
    ]
    words = "Made by the Schedule Workbench. Change the shapes or the threads below and run the cell again."
    return _noted(name, words, "\n".join(code))


def _noted(name: str, words: str, code: str) -> list[dict[str, str]]:
    return [{"cell_type": "markdown", "source": f"# {name}\n\n{words}"}, {"cell_type": "code", "source": code}]
