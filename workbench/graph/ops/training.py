"""Operators as training uses them, which keep their meaning in a model that is run.

Dropout that drops, and normalisation by the statistics of the batch. The reader gives them these names, so that no pass
takes them for what inference makes of them.
"""

from __future__ import annotations

import numpy as np

from workbench.graph.graph import Array, TensorType
from workbench.graph.node_steps import OWN, Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call


@operator("TrainingDropout", "opaque", domain=OWN, random=True)
class TrainingDropout(OpDef):
    """Dropout that may train: some elements become 0, with a seed the same ones each time, and the others grow."""

    multi = True

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        found = c.type(0), TensorType(c.shape(0), "bool")
        return found[: len(c.node.outputs)]

    def chances(self, c: Call) -> Array:
        """A number from 0 to 1 for each element, which stays where it is not below the ratio."""
        seed = c.get_int("seed", 0) if "seed" in c.node.attrs else None
        return np.random.RandomState(seed).uniform(0, 1.0, c.shape(0))

    def obstacle(self, c: Call) -> str:
        return "other random numbers each time"

    def reference(self, c: Call, x: Array, ratio: Array | None, training: Array) -> tuple[Array, ...]:
        part = 0.5 if ratio is None else float(ratio.reshape(-1)[0])
        if not training.reshape(-1)[0]:
            part = 0.0
        mask = self.chances(c) >= part
        return np.asarray(mask * x * (1 / (1 - part))).astype(x.dtype), mask

    def decompose(self, c: Call, steps: Steps) -> bool:
        """A comparison with constant chances, and two products; the input itself where nothing is dropped."""
        x, dtype = steps.name(0), c.type(0).dtype
        if c.scalar(2) == 0:
            for source, out in zip(
                (x, steps.constant("mask", np.ones(c.shape(0), bool))), c.node.outputs, strict=False
            ):
                if out:
                    steps.add("Identity", (source,), "copy")
                    steps.finish(out)
            return True
        if "seed" not in c.node.attrs or dtype not in ("float32", "float64", "float16") or not c.type(0).size:
            return False
        half = steps.constant("half", np.array(0.5))
        wide = steps.add("Cast", (steps.name(1),), "wide", {"to": 11}) if c.has(1) else half
        zero, one = steps.constant("zero", np.array(0.0)), steps.constant("one", np.array(1.0))
        training = steps.reshape(steps.name(2), ())
        part = steps.add("Where", (training, steps.reshape(wide, ()), zero), "part")
        mask = steps.add("GreaterOrEqual", (steps.constant("chances", self.chances(c)), part), "mask")
        if any(c.node.outputs[1:]):
            steps.add("Identity", (mask,), "copy")
            steps.finish(c.node.outputs[1])
        if c.node.outputs[0]:
            code = {"float32": 1, "float64": 11, "float16": 10}[dtype]
            kept = steps.add("Mul", (x, steps.add("Cast", (mask,), "kept", {"to": code})), "some")
            scale = steps.add("Div", (one, steps.add("Sub", (one, part), "rest")), "scale")
            steps.add("Mul", (kept, steps.add("Cast", (scale,), "narrow", {"to": code})), "scaled")
            steps.finish(c.node.outputs[0])
        return True


@operator("BatchStatisticsNormalization", "opaque", domain=OWN)
class BatchStatisticsNormalization(OpDef):
    """BatchNormalization in training mode: by mean and variance of the batch, which also move the running ones."""

    multi = True

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        rank = len(c.shape(0))
        if rank < 2 or any(c.shape(i) != c.shape(0)[1:2] for i in range(1, 5)):
            raise c.error("shape_mismatch", f"has parameters that are no vectors of the channels of {list(c.shape(0))}")
        return (c.type(0), c.type(3), c.type(4))[: len(c.node.outputs)]

    def reference(self, c: Call, x: Array, *vectors: Array) -> tuple[Array, ...]:
        axes = tuple(d for d in range(x.ndim) if d != 1)
        scale, bias, mean, var = vectors
        now, spread = x.mean(axes), x.var(axes)
        at = (-1, *(1,) * (x.ndim - 2))
        k = scale.reshape(at) / np.sqrt(spread.reshape(at) + np.float32(c.get_float("epsilon", 1e-5)))
        y = (x - now.reshape(at)) * k + bias.reshape(at)
        old, new = self._shares(c)
        running = mean * old + now * new, var * old + spread * new
        return y.astype(x.dtype), running[0].astype(mean.dtype), running[1].astype(var.dtype)

    def _shares(self, c: Call) -> tuple[np.float32, np.float32]:
        old = np.float32(c.get_float("momentum", 0.9))
        return old, np.float32(1) - old

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Two means over all axes but that of the channels, and what is made of them."""
        shape, dtype = c.shape(0), c.type(0).dtype
        if any(c.type(i).dtype != dtype for i in range(5)) or dtype not in ("float32", "float64") or not c.type(0).size:
            return False
        axes = tuple(d for d in range(len(shape)) if d != 1)
        wide = (1, shape[1], *(1,) * (len(shape) - 2))
        x = steps.name(0)

        def number(what: str, v: np.float32) -> str:
            return steps.constant(what, np.array(v, dtype))

        mean = steps.add("ReduceMean", (x,), "mean", {"axes": axes, "keepdims": 1}, version=13)
        moved = steps.add("Sub", (x, mean), "moved")
        var = steps.add(
            "ReduceMean",
            (steps.add("Mul", (moved, moved), "squares"),),
            "var",
            {"axes": axes, "keepdims": 1},
            version=13,
        )
        scale, bias = (steps.reshape(steps.name(i), wide) for i in (1, 2))
        eps = number("epsilon", np.float32(c.get_float("epsilon", 1e-5)))
        root = steps.add("Sqrt", (steps.add("Add", (var, eps), "positive"),), "root")
        k = steps.add("Div", (scale, root), "scale")
        if c.node.outputs[0]:
            steps.add("Add", (steps.add("Mul", (moved, k), "scaled"), bias), "normal")
            steps.finish(c.node.outputs[0])
        for i, (out, now) in enumerate(zip(c.node.outputs[1:], (mean, var), strict=False)):
            if out:
                old, new = (number(f"share{n}", v) for n, v in enumerate(self._shares(c)))
                kept = steps.add("Mul", (steps.name(3 + i), old), "kept")
                steps.add("Add", (kept, steps.add("Mul", (steps.reshape(now, shape[1:2]), new), "new")), "running")
                steps.finish(out)
        return True
