"""Weights for models that come without: seeded values by role, calibrated so that the network's results mean
something.

The models that the onnx package ships have constant weights; whatever a kernel computes with them, the result is
the same. Here every constant stub is replaced: convolution and product weights are drawn He-normal, biases from
N(0, 0.1), scales from U(0.5, 1.5). The statistics of batch normalisation come from one run with every batch
normalisation replaced by an instance normalisation (the same for a batch of one), so that activations neither
vanish nor explode; and the last layer before a softmax is scaled until the logits have a standard deviation of 2,
so that the result is neither flat nor one-hot.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from workbench.errors import ModelError
from workbench.graph.graph import Array, Graph
from workbench.graph.onnx import load_onnx, read_model
from workbench.graph.opdef import OpDef, registry
from workbench.graph.reference import run_reference

if TYPE_CHECKING:
    import onnx

Execute: TypeAlias = Callable[[Graph, Mapping[str, Array], Sequence[str]], Mapping[str, Array]]

#: Standard deviation that the input of the last softmax is scaled to. Chosen: a few classes stand out, as in a trained
#: network.
LOGIT_STD = 2.0
_ROLES = ("weight", "bias", "scale", "mean", "var")
_BLANK = OpDef()


def fill_weights(
    model_path: str | os.PathLike[str] | onnx.ModelProto,
    seed: int,
    execute: Execute | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> onnx.ModelProto:
    """Replace the float weights of a model by seeded ones.

    Parameters
    ----------
    model_path : path or ModelProto
    seed : int
        Equal seeds give equal weights (up to rounding in `execute`).
    execute : callable, optional
        ``execute(graph, feeds, outputs) -> dict`` computes the named outputs of a graph, which has exactly these
        outputs; `run_reference` by default.
    shapes : mapping, optional
        Shapes of inputs with open dimensions, as for `load_onnx`.

    Returns
    -------
    ModelProto
        A complete model without stubs; weights are no inputs any more. Write it with `onnx.model_proto_file.save_onnx`.

    Raises
    ------
    ModelError
        What `load_onnx` raises, and "model.fill_role" for a weight whose role is not known.
    """
    source, _, _ = read_model(model_path)
    work = _Fill(source, seed, shapes or {}, execute or run_reference)
    work.draw()
    work.calibrate_norms()
    work.scale_logits()
    return work.model()


class _Fill:
    def __init__(
        self, source: onnx.ModelProto, seed: int, shapes: Mapping[str, Sequence[int]], execute: Execute
    ) -> None:
        from onnx import ModelProto, numpy_helper

        self.proto = ModelProto()
        self.proto.CopyFrom(source)
        self.rng, self.shapes, self.execute = np.random.default_rng(seed), shapes, execute
        graph = self.proto.graph
        self.others: dict[str, Array] = {}
        self.shape: dict[str, tuple[int, ...]] = {}
        self.values: dict[str, Array] = {}
        for t in graph.initializer:
            if t.data_type == t.FLOAT:
                self.shape[t.name] = tuple(t.dims)
            else:
                self.others[t.name] = np.array(numpy_helper.to_array(t))
        self._drop_stubs()
        weights = set(self.shape)
        kept = [v for v in graph.input if v.name not in weights and v.name not in self.others]
        del graph.input[:]
        graph.input.extend(kept)
        self.proto.ir_version = max(self.proto.ir_version, 4)

    def _drop_stubs(self) -> None:
        """Nodes that only repeat one float become weights to draw."""
        graph = self.proto.graph
        nodes = []
        for n in graph.node:
            if n.op_type == "ConstantOfShape" and n.input[0] in self.others and _fills_float(n):
                self.shape[n.output[0]] = tuple(int(d) for d in self.others[n.input[0]])
            else:
                nodes.append(n)
        del graph.node[:]
        graph.node.extend(nodes)

    # ---- drawing ----

    def draw(self) -> None:
        """Give every weight that is used its values."""
        for name, role in self._roles().items():
            shape = self.shape[name]
            if role == "weight":
                fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]
                value = self.rng.standard_normal(shape) * np.sqrt(2.0 / fan_in)
            elif role in ("bias", "mean"):
                value = self.rng.standard_normal(shape) * 0.1
            else:
                value = self.rng.uniform(0.5, 1.5, shape)
            self.values[name] = value.astype(np.float32)

    def _roles(self) -> dict[str, str]:
        """Weight -> role in the first node that uses it (through reshapes), in the order of use."""
        alias: dict[str, str] = {}
        roles: dict[str, str] = {}
        declared = registry()
        ops = {n.op_type: declared.get(n.op_type, _BLANK) for n in self.proto.graph.node}
        views = {name for name, op in ops.items() if op.view or op.rearranges}
        for n in self.proto.graph.node:
            if n.op_type in views and n.input[0] in self.shape | alias:
                alias[n.output[0]] = alias.get(n.input[0], n.input[0])
        self.alias = alias
        for n in self.proto.graph.node:
            if n.op_type in views:
                continue
            for k, i in enumerate(n.input):
                name = alias.get(i, i)
                if name not in self.shape or name in roles:
                    continue
                role = next((x.role for x in ops[n.op_type].inputs[k : k + 1]), "")
                if role not in _ROLES:
                    raise ModelError(
                        "model.fill_role",
                        f"It is not known how to make up {name!r}, input {k} of a {n.op_type}.",
                        (name, n.name or n.op_type),
                        "run the model with the weights that it has",
                    )
                roles[name] = role
        return roles

    # ---- calibration ----

    def calibrate_norms(self) -> None:
        """Set mean and variance of every batch normalisation to what it sees in one run."""
        import onnx

        norms = [n for n in self.proto.graph.node if n.op_type == "BatchNormalization" and n.input[3] in self.shape]
        if not norms:
            return
        trial = self.model()
        for n in trial.graph.node:
            if n.op_type == "BatchNormalization":
                n.op_type = "InstanceNormalization"
                del n.input[3:], n.output[1:]
                eps = [a for a in n.attribute if a.name == "epsilon"]
                del n.attribute[:]
                n.attribute.extend(eps or [onnx.helper.make_attribute("epsilon", 1e-5)])
        seen = self._run(trial, [n.input[0] for n in norms])
        for n in norms:
            a = np.asarray(seen[n.input[0]], np.float64)
            axes = (0, *range(2, a.ndim))
            self.values[n.input[3]] = a.mean(axis=axes).astype(np.float32)
            self.values[n.input[4]] = (a.var(axis=axes) * self.rng.uniform(0.8, 1.25, a.shape[1]) + 1e-3).astype(
                np.float32
            )

    def scale_logits(self) -> None:
        """Scale the last layer until the input of the last softmax has the standard deviation `LOGIT_STD`."""
        graph = self.proto.graph
        last = next((n for n in reversed(graph.node) if n.op_type == "Softmax"), None)
        if last is None:
            return
        maker = {o: n for n in graph.node for o in n.output}
        node = maker.get(last.input[0])
        while node is not None and node.op_type not in ("Conv", "Gemm", "MatMul"):
            node = maker.get(node.input[0])
        names = [] if node is None else [self.alias.get(i, i) for i in node.input[1:]]
        if not any(n in self.values for n in names):
            return
        factor = np.float32(LOGIT_STD / (float(np.std(self._run(self.model(), [last.input[0]])[last.input[0]])) + 1e-9))
        for n in names:
            if n in self.values:
                self.values[n] = np.asarray(self.values[n] * factor)

    def _run(self, model: onnx.ModelProto, tensors: list[str]) -> Mapping[str, Array]:
        wanted = list(dict.fromkeys(tensors))
        graph = load_onnx(model, self.shapes).with_outputs(wanted)
        rng = np.random.default_rng(123)
        feeds = {n: rng.standard_normal(t.shape).astype(t.dtype) for n, t in graph.input_types().items()}
        return self.execute(graph, feeds, wanted)

    def model(self) -> onnx.ModelProto:
        """Model with the values as they are now."""
        from onnx import ModelProto, numpy_helper

        out = ModelProto()
        out.CopyFrom(self.proto)
        del out.graph.initializer[:]
        used = {i for n in out.graph.node for i in n.input}
        for name, value in {**self.values, **self.others}.items():
            if name in used:
                out.graph.initializer.append(
                    numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name)
                )
        return out


def _fills_float(node: onnx.NodeProto) -> bool:
    value = next((a.t for a in node.attribute if a.name == "value"), None)
    return value is None or value.data_type == value.FLOAT
