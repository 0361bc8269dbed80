"""Runs of numbers that are counted: what a TfIdfVectorizer of numbers is."""

from __future__ import annotations

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array
from workbench.graph.kernels.grams import counted_grams
from workbench.graph.node_steps import OWN
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call


@operator("CountedGrams", "opaque", domain=OWN, result="float32")
class CountedGrams(OpDef):
    """How often each of some runs of numbers occurs in each row; the runs are ``[length, place, column]``."""

    def shape(self, c: Call) -> tuple[int, ...]:
        if len(c.shape(0)) not in (1, 2) or c.type(0).dtype not in ("int32", "int64"):
            raise c.error("shape_mismatch", f"counts runs in rows of whole numbers, not in {c.type(0)}")
        return (*c.shape(0)[:-1], c.shape(3)[0])

    def _settings(self, c: Call) -> tuple[int, int, str]:
        longest, skips = c.get_int("max_gram_length", 1), c.get_int("max_skip_count", 0)
        return longest, skips, c.get_str("mode", "TF")

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(counted_grams, self._settings(c))

    def reference(self, c: Call, x: Array, numbers: Array, runs: Array, weights: Array) -> Array:
        _, skips, mode = self._settings(c)
        rows = x.reshape(-1, x.shape[-1])
        y = np.zeros((len(rows), len(weights)), np.float32)
        for size, place, column in runs:
            run = numbers[place : place + size]
            for step in range(1, 2 if size == 1 else skips + 2):
                reach = (size - 1) * step + 1
                if reach <= x.shape[-1]:
                    seen = np.lib.stride_tricks.sliding_window_view(rows, reach, 1)[..., ::step]
                    y[:, column] += (seen == run).all(-1).sum(1)
        found = {"TF": y, "IDF": (y > 0) * weights, "TFIDF": y * weights}[mode]
        return np.asarray(found, np.float32).reshape(*x.shape[:-1], len(weights))
