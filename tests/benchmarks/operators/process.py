"""A worker, seen from the process that compares."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
#: Seconds after which a worker hangs.
LIMIT = 90.0


class Worker:
    """One library in a process that is started again when it ends or hangs.

    Parameters
    ----------
    library : str
    threads : int
    python : str
        Interpreter that has the library.
    """

    def __init__(self, library: str, threads: int, python: str = sys.executable) -> None:
        self.library, self._command = library, [python, "-m", "operators.worker", library, str(threads)]
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        paths = [str(HERE), str(HERE.parents[1])]
        self._environment = {**os.environ, **{n: str(threads) for n in names}, "PYTHONPATH": os.pathsep.join(paths)}
        self.found = self._start()

    def _start(self) -> bool:
        self._process = subprocess.Popen(
            self._command, cwd=HERE, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        return bool(self._answer().get("found"))

    def ask(self, **order: Any) -> dict[str, Any]:
        """The answer to an order; ``error`` in it where there is none."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            answer = self._answer()
        except BrokenPipeError:
            answer = {"gone": "the process ended"}
        if "gone" in answer:
            self.end()
            self._start()
            return {"error": answer["gone"]}
        return answer

    def _answer(self) -> dict[str, Any]:
        out = self._process.stdout
        assert out is not None
        if not select.select([out], [], [], LIMIT)[0]:
            return {"gone": f"no answer in {LIMIT:.0f} s"}
        line = out.readline()
        return json.loads(line) if line else {"gone": f"the process ended with {self._process.wait()}"}

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
