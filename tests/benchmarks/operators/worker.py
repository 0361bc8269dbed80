"""One library in a process of its own that stays: ``python -m operators.worker LIBRARY THREADS``.

It reads one JSON object a line: ``{"model": FILE, "inputs": FILE, "outputs": FILE, "log": FILE}`` makes a model ready
and runs it once, ``{"seconds": S}`` times it. It answers each with a line: facts or figures, or ``{"error": TEXT}``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from suite.timing import timed

from operators.libraries import LIBRARIES, MODULES, Ready


def aligned(array: np.ndarray) -> np.ndarray:
    """The same numbers at a multiple of 64 bytes."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    at = -memory.ctypes.data % 64
    place = memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place


def prepare(library: str, threads: int, order: dict[str, Any]) -> Ready:
    """Make a model ready, run it and write its outputs."""
    with np.load(order["inputs"]) as stored:
        feeds = {n: aligned(stored[n]) for n in stored.files}
    ready = LIBRARIES[library](Path(order["model"]), feeds, threads, order.get("log", ""))
    ready.run()
    np.savez(order["outputs"], **ready.results())
    return ready


def main() -> None:
    """Answer until the orders end."""
    library, threads = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    found = importlib.util.find_spec(MODULES.get(library, library)) is not None
    print(json.dumps({"found": found}), file=answers, flush=True)
    ready: Ready | None = None
    for line in sys.stdin:
        order = json.loads(line)
        answer: dict[str, Any]
        try:
            if "model" in order:
                ready = None
                ready = prepare(library, threads, order)
                answer = ready.facts
            else:
                assert ready is not None
                answer = timed(ready.run, order["seconds"])
        except Exception as e:
            answer = {"error": f"{type(e).__name__}: {e}"[:400]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
