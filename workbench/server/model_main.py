"""The process that looks into a model, ``python -m workbench.server.model_main MEMORY SECONDS IDLE``.

It loads what it needs, says with an empty line that it is ready, and waits for its one question, a line of JSON on
standard input with ``path``, ``expanded`` (frames of the drawing that are open), ``most`` (nodes that are drawn) and
``statistics`` (whether those of the weights are wanted). It says ``taken`` in a line, so that nobody blames the
model for what happened before, answers in lines of JSON and ends; without a question it ends after IDLE seconds.
"""

from __future__ import annotations

import gc
import json
import math
import os
import select
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.errors import ModelError
from workbench.markup import clean
from workbench.model_files.contents import ModelFile, prepare
from workbench.model_files.drawing import model_file
from workbench.server.process_limits import limit

MOST_NODES = 20_000
"""Nodes of a model that is drawn, where the question names no number. One of 2,000 is drawn within a second."""

BATCH_S = 0.15
"""Seconds between two lines with statistics."""


def answer(question: Mapping[str, Any], say: Callable[[Mapping[str, Any]], None]) -> None:
    """Say what is in the model: ``graph`` first, then ``weights`` as they are read."""
    path = Path(question["path"])
    if not path.is_file():  # a pipe would let it wait for a writer
        raise ModelError("model.missing_file", f"{path.name} is no regular file", (path.name,), "give an .onnx file")
    file = ModelFile(question["path"])
    found = file.contents()
    most = question.get("most") or MOST_NODES
    if len(found.nodes) > most:
        text = f"The model has {len(found.nodes):,} nodes; up to {most:,} are drawn"
        hint = "Tune reads it all the same; the settings of the Schedule Workbench may let larger ones be drawn"
        raise ModelError("model.too_large", text, (file.name,), hint)
    nodes = {
        n.name: {
            "op": f"{n.domain}.{n.op}".lstrip("."), "attributes": n.attributes, "inputs": n.inputs, "outputs": n.outputs
        }
        for n in found.nodes
    }  # fmt: skip
    drawing = model_file(found, question.get("expanded", ())).columns()
    about = {key: clean(value) for key, value in found.about.items()}
    say({"t": "graph", "drawing": drawing, "nodes": nodes, "types": found.types, "about": about,
         "weights": found.weights, "inputs": found.inputs, "outputs": found.outputs})  # fmt: skip
    if not question.get("statistics", True):
        return
    rows: dict[str, Any] = {}
    since = time.monotonic()
    for name, row in file.statistics():
        rows[name] = {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in row.items()}
        if time.monotonic() - since > BATCH_S:
            say({"t": "weights", "rows": rows})
            rows, since = {}, time.monotonic()
    say({"t": "weights", "rows": rows})


def main(memory_bytes: int, seconds: int, idle_seconds: int) -> None:
    """Wait for the question and answer it."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing that prints disturbs the answer
    limit(memory_bytes, seconds)
    prepare()
    gc.disable()  # one answer leaves no garbage worth the time
    out.write("\n")
    out.flush()
    if os.name == "posix" and not select.select([0], [], [], idle_seconds)[0]:
        return
    line = sys.stdin.buffer.readline()
    if not line:
        return
    question = json.loads(line)
    out.write("taken\n")
    out.flush()

    def say(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    try:
        answer(question, say)
    except MemoryError:
        hint = "c.ScheduleWorkbench.memory_mib in the server's configuration"
        text = "The model needs more memory than the server gives"
        say({"t": "error", "error": ModelError("model.too_large", text, (), hint).to_json()})
    except Exception as error:  # whatever it is, the page is told
        from workbench.session.core.protocol import error_json  # half a second, which only this needs

        told = error_json(error)
        name = Path(question["path"]).name
        told["where"] = [name if one == question["path"] else one for one in told["where"]]
        told["message"] = told["message"].replace(question["path"], name)
        say({"t": "error", "error": told})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
