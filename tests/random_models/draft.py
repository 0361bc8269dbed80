"""A model that grows node by node; onnxruntime computes each node as it is added, so that all values are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from random_models import oracle, values
from random_models.values import Value

#: Times that a model is computed with disturbed numbers, to see how far rounding may move a result.
TRIALS = 3
#: Units in the last place by which numbers are disturbed at most, and half of it at least; in two more models all are,
#: from 0 and towards it, so that what lies at the edge of a function's domain is beyond it in one of them. In a last
#: one, what has a different sign in two of these is 0.
UNITS = 2
IR_VERSION = 10
#: Operators whose result is one of the operands, or decided by them without rounding.
EXACT = frozenset(
    """
    Abs And ArgMax ArgMin BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil CenterCropPad
    Clip Compress Concat ConcatFromSequence Constant ConstantOfShape DepthToSpace Dropout Equal Expand EyeLike
    Flatten Floor Gather GatherElements GatherND GlobalMaxPool Greater GreaterOrEqual Hardmax Identity IsInf
    IsNaN Less LessOrEqual Max MaxPool MaxRoiPool MaxUnpool Min Neg NonMaxSuppression NonZero Not OneHot
    Optional OptionalGetElement OptionalHasElement Or Pad QuantizeLinear ReduceMax ReduceMin Relu Reshape
    ReverseSequence Round Scatter ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty
    SequenceErase SequenceInsert SequenceLength Shape Sign Size Slice SpaceToDepth Split SplitToSequence Squeeze
    StringConcat StringNormalizer StringSplit TensorScatter Tile TopK Transpose Trilu Unique Unsqueeze Where Xor
""".split()  # noqa: SIM905 - a hundred lines otherwise
)
#: Operators whose small results have the errors of large ones, of terms that cancel: rounding moves all alike, by so
#: many units of the largest (onnxruntime's spectra are off by seven), which is of some size inside at least.
SUMS = {
    **dict.fromkeys(("DFT", "STFT"), (8.0, 0.0)),
    **dict.fromkeys(
        ("BlackmanWindow", "Celu", "Elu", "Gelu", "HammingWindow", "HannWindow", "Selu", "Sigmoid", "SwiGLU", "Swish"),
        (2.0, 1.0),
    ),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), (2.0, 1.0)),
    **dict.fromkeys(("Attention", "CausalConvWithState", "GridSample", "LinearAttention", "Resize"), (2.0, 0.0)),
}


class Unfit(Exception):
    """A node that cannot be added: onnxruntime refuses it, or nothing fits."""


@dataclass(frozen=True)
class Step:
    """A node, what it reads (bodies included) and what it makes."""

    proto: onnx.NodeProto
    reads: tuple[str, ...]
    makes: tuple[str, ...]


@dataclass
class Draft:
    """Nodes so far, and the value of every tensor: as it is, and disturbed by rounding."""

    rng: np.random.Generator
    opset: int
    steps: list[Step] = field(default_factory=list)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    initializers: dict[str, np.ndarray] = field(default_factory=dict)
    literals: dict[str, np.ndarray] = field(default_factory=dict)
    known: dict[str, Value] = field(default_factory=dict)
    moved: list[dict[str, Value]] = field(default_factory=lambda: [{} for _ in range(TRIALS + 3)])
    rounded: set[str] = field(default_factory=set)  # what operators that round have to do with

    # ---- chance ----

    def flip(self, p: float = 0.5) -> bool:
        return bool(self.rng.random() < p)

    def choice(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def whole(self, low: int, high: int) -> int:
        """Integer between two bounds, both included."""
        return int(self.rng.integers(low, high + 1))

    def maybe(self, **attrs: Any) -> dict[str, Any]:
        """Some of the attributes; the others keep their defaults."""
        return {k: v for k, v in attrs.items() if self.flip(0.6)}

    def axis(self, rank: int) -> int:
        """An axis, counted from either end."""
        if rank == 0:
            raise Unfit("no axis")
        return self.whole(-rank, rank - 1) if self.opset >= 11 else self.whole(0, rank - 1)

    def axes(self, rank: int, least: int = 1) -> list[int]:
        """Some different axes, in any order."""
        count = self.whole(min(least, rank), rank)
        picked = [int(a) for a in self.rng.permutation(rank)[:count]]
        return [a - rank if self.opset >= 11 and self.flip(0.3) else a for a in picked]

    # ---- operands ----

    def types(self, op: str, i: int = 0, among: Sequence[str] = values.PLAIN) -> list[str]:
        """Element types that the standard allows for operand `i` of an operator, of those named; floats first."""
        schema = onnx.defs.get_schema(op, self.opset, "")
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        allowed = {str(t)[7:-1].replace("float", "float32") if t == "tensor(float)" else _numpy_name(str(t))
                   for t in formal.types}  # fmt: skip
        return [t for t in among if t in allowed]

    def dtype(self, op: str, i: int = 0, among: Sequence[str] = values.PLAIN) -> str:
        """One of `types`: every other time float32."""
        allowed = self.types(op, i, among)
        if not allowed:
            raise Unfit(f"{op} has no such type")
        return "float32" if "float32" in allowed and self.flip(0.45) else str(self.choice(*allowed))

    def fresh(self, value: np.ndarray, static: bool = False) -> str:
        """A new operand: a run-time input, an initializer or a Constant node. `static`: seldom a run-time input."""
        value = np.asarray(value)
        name = f"v{len(self.known)}"
        draw = self.rng.random()
        if draw < (0.12 if static else 0.6):
            self.inputs[name] = value
        elif draw < (0.7 if static else 0.85) or (value.dtype == object and self.opset < 13):
            self.initializers[name] = value
        else:
            self.literals[name] = value
        self.known[name] = value
        for world in self.moved:
            world[name] = value
        return name

    def ints(self, numbers: Iterable[int] | int, dtype: str = "int64") -> str:
        """Integers that say a shape, axes or the like."""
        return self.fresh(np.array(numbers if isinstance(numbers, int) else list(numbers), dtype), static=True)

    def tensor(
        self,
        dtypes: Sequence[str] | str = "float32",
        rank: int | Sequence[int] = (0, 1, 2, 2, 3, 3, 4, 4, 5),
        shape: Sequence[int] | None = None,
        kind: str = "usual",
        fits: Callable[[np.ndarray], bool] = lambda x: True,
        empty: float = 0.02,
    ) -> str:
        """An operand of a type and rank (or shape): often a result of an earlier node, else a new one."""
        dtypes = (dtypes,) if isinstance(dtypes, str) else dtypes
        ranks = (rank,) if isinstance(rank, int) else rank
        if kind not in ("positive",) and self.flip(0.75):
            made = [n for s in self.steps for n in s.makes if isinstance(self.known[n], np.ndarray)]
            found = [n for n in made if _like(self.value(n), dtypes, ranks, shape) and fits(self.value(n))]
            if found:
                return str(found[-1] if self.flip(0.7) else self.choice(*found))
        for _ in range(20):
            dims = values.shape(self.rng, int(self.choice(*ranks)), empty) if shape is None else tuple(shape)
            value = values.array(self.rng, str(self.choice(*dtypes)), dims, kind)
            if fits(value):
                return self.fresh(value)
        raise Unfit("no tensor fits")

    def value(self, name: str) -> np.ndarray:
        value = self.known[name]
        assert isinstance(value, np.ndarray)
        return value

    def shape(self, name: str) -> tuple[int, ...]:
        return self.value(name).shape

    def dtype_of(self, name: str) -> str:
        """Element type of a tensor."""
        return "string" if self.value(name).dtype == object else self.value(name).dtype.name

    # ---- nodes ----

    def add(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: int = 1,
        reads: Sequence[str] = (),
        domain: str = "",
        **attrs: Any,
    ) -> list[str]:
        """Append a node and compute it; `reads` names what its bodies capture. `Unfit` where onnxruntime refuses."""
        names = [f"t{len(self.steps)}_{k}" for k in range(outputs)]
        attrs = {k: v for k, v in attrs.items() if v != []}  # of a scalar's axes; nothing says of which type it is
        proto = helper.make_node(op, list(inputs), names, name=f"{op}_{len(self.steps)}", **attrs)
        step = Step(proto, tuple(dict.fromkeys(n for n in (*inputs, *reads) if n)), tuple(names))
        run = self._runner(step)
        self.known.update(zip(names, run(self.known), strict=True))
        rounds = op not in EXACT or attrs.get("reduction") in ("add", "mul")
        selects = op in ("Where", "Min", "Max") and any(_negative_zero(self.value(n)) for n in step.reads)
        signs = selects or (op.endswith("Loss") and any(_negative_zero(self.value(n)) for n in names))
        tiny = any(map(_below_normal, map(self.known.get, names)))
        if rounds or signs or tiny or not self.rounded.isdisjoint(step.reads):
            self.rounded.update(names)
        *worlds, level = self.moved
        for k, world in enumerate(worlds):
            found = run({n: self._disturbed(world[n], k) if rounds else world[n] for n in step.reads})
            found = [self._disturbed(v, k, SUMS.get(op)) for v in found] if rounds else found
            if (
                signs and k == TRIALS
            ):  # onnxruntime adds 0 to what it selects; which zero is least, or what a sum of none is, is open
                found = [np.asarray(np.where(v == 0, -v, v)) for v in found]
            if tiny and k == TRIALS + 1:  # inside a network there are no numbers below the least normal one
                found = [np.copysign(np.where(_tiny(v), 0, v), v) if _below_normal(v) else v for v in found]
            world.update(zip(names, found, strict=True))
        same = all(level[n] is self.known[n] for n in step.reads)
        found = [self.known[n] for n in names] if same else run(level)
        level.update((n, _levelled(v, [w[n] for w in worlds])) for n, v in zip(names, found, strict=True))
        self.steps.append(step)
        return names

    def _runner(self, step: Step) -> Callable[[dict[str, Value]], list[Value]]:
        """Function that computes a node alone, its operands all given at run time where onnxruntime can do that."""
        fixed = {n: v for n in step.reads if n not in self.inputs and isinstance(v := self.known[n], np.ndarray)
                 and n in {**self.initializers, **self.literals}}  # fmt: skip
        for constants in ({}, fixed):
            given = [n for n in step.reads if n not in constants]
            try:
                session = oracle.session(self._alone(step, constants))
                oracle.run(session, {n: self.known[n] for n in given})
            except oracle.Refused as e:
                why = str(e)
                continue
            return lambda world, session=session, given=given: oracle.run(session, {n: world[n] for n in given})
        raise Unfit(why)

    def _alone(self, step: Step, constants: dict[str, np.ndarray]) -> onnx.ModelProto:
        return model_of_step(step, {n: self.known[n] for n in step.reads}, constants, self.opset)

    def alone(self, step: Step) -> tuple[onnx.ModelProto, dict[str, Value]]:
        """A model of one node with its constants, and the values of its inputs."""
        fixed = {n: self.value(n) for n in step.reads if n in self.initializers or n in self.literals}
        given = [n for n in step.reads if n not in fixed]
        return self._alone(step, fixed), {n: self.known[n] for n in given}

    def _disturbed(self, value: Value, k: int, alike: tuple[float, float] | None = None) -> Value:
        """Floats as rounding may move them in model `k`: each by its own units, or all by as many of the largest."""
        if isinstance(value, list):
            return [np.asarray(self._disturbed(v, k, alike)) for v in value]
        if value.dtype.kind != "f":
            return value
        units = self.rng.uniform(-UNITS, UNITS, value.shape) if k < TRIALS else (UNITS, -UNITS)[k - TRIALS]
        units = (units + np.copysign(UNITS, units)) / 2
        eps = np.finfo(value.dtype).eps
        with np.errstate(all="ignore"):
            if alike is None:
                return np.asarray(value * (1 + units * eps), value.dtype)
            most, least = alike
            largest = np.abs(value).max(initial=least, where=np.isfinite(value))
            sign = units / UNITS if k > 1 else 1.0 - 2.0 * k  # what is a sign has both, what are equal numbers differ
            return np.asarray(value + largest * most * eps * sign, value.dtype)

    # ---- the whole ----

    def model(self) -> onnx.ModelProto:
        """The model: every result that nobody reads is an output, and some that are read."""
        read = {n for s in self.steps for n in s.reads}
        made = [n for s in self.steps for n in s.makes]
        outputs = [n for n in made if n not in read or (self.flip(0.2) and isinstance(self.known[n], np.ndarray))]
        used = {n for n in self.known if n in read}
        literals = [
            helper.make_node("Constant", [], [n], name=f"C_{n}", value=_tensor(a, n))
            for n, a in self.literals.items() if n in used
        ]  # fmt: skip
        infos = [_info(n, a, open_dims=self.flip(0.1)) for n, a in self.inputs.items() if n in used]
        tensors = [_tensor(a, n) for n, a in self.initializers.items() if n in used]
        return _model([*literals, *(s.proto for s in self.steps)], infos, outputs, tensors, self.opset)


def model_of_step(
    step: Step, values: Mapping[str, Value], constants: Mapping[str, np.ndarray], opset: int
) -> onnx.ModelProto:
    """A model of one node; what it reads is given at run time, or constant."""
    infos = [_info(n, values[n]) for n in step.reads if n not in constants]
    return _model([step.proto], infos, step.makes, [_tensor(a, n) for n, a in constants.items()], opset)


def _model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Iterable[str],
    tensors: Sequence[TensorProto],
    opset: int,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "random", inputs, [onnx.ValueInfoProto(name=o) for o in outputs], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)


def _levelled(value: Value, worlds: Sequence[Value]) -> Value:
    """A result, with 0 where rounding gives it either sign: no function of it is known that leaps there."""
    if isinstance(value, list) or value.dtype.kind != "f" or any(np.shape(w) != value.shape for w in worlds):
        return value
    either = (np.fmin.reduce([value, *worlds]) < 0) & (np.fmax.reduce([value, *worlds]) > 0)
    either &= np.isfinite(value)
    return np.asarray(np.where(either, 0, value), value.dtype) if either.any() else value


def _tiny(x: np.ndarray) -> np.ndarray:
    return (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny)


def _below_normal(x: Value | None) -> bool:
    return isinstance(x, np.ndarray) and x.dtype in (np.float32, np.float64) and bool(_tiny(x).any())


def _negative_zero(x: np.ndarray) -> bool:
    return x.dtype.kind == "f" and bool((np.signbit(x) & (x == 0)).any())


def _like(x: np.ndarray, dtypes: Sequence[str], ranks: Sequence[int], shape: Sequence[int] | None) -> bool:
    name = "string" if x.dtype == object else x.dtype.name
    return name in dtypes and (x.ndim in ranks if shape is None else x.shape == tuple(shape)) and x.size <= 2000


def _numpy_name(kind: str) -> str:
    name = kind.removeprefix("tensor(").removesuffix(")")
    return {"double": "float64"}.get(name, name)


def _tensor(a: np.ndarray, name: str) -> TensorProto:
    if a.dtype == object:
        return helper.make_tensor(name, TensorProto.STRING, a.shape, [str(s).encode() for s in a.reshape(-1)])
    return numpy_helper.from_array(a, name)


def _code(a: np.ndarray) -> int:
    return int(TensorProto.STRING if a.dtype == object else helper.np_dtype_to_tensor_dtype(a.dtype))


def _info(name: str, value: Value, open_dims: bool = False) -> onnx.ValueInfoProto:
    if isinstance(value, list):
        kind = helper.make_tensor_type_proto(_code(value[0]) if value else TensorProto.FLOAT, None)
        return helper.make_value_info(name, helper.make_sequence_type_proto(kind))
    dims = [f"{name}_{k}" if open_dims else n for k, n in enumerate(value.shape)]
    return helper.make_tensor_value_info(name, _code(value), dims)
