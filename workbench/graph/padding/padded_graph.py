"""A network for a range of sizes: the graph of the largest one, where padding holds what each operator needs.

How much of an axis counts is an input of the graph, as is whatever else is computed from open lengths as data. So one
graph, and its kernels, serve every size of the range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from workbench.errors import ModelError
from workbench.graph.evaluation import infer
from workbench.graph.graph import Array, Graph, Node, TensorType
from workbench.graph.model import Program, within_bounds
from workbench.graph.opdef import opdef
from workbench.graph.open_sizes import Bucket, OpenSizes
from workbench.graph.operator_call import Call
from workbench.graph.ops.arrays.movement import CODES
from workbench.graph.ops.counted import counted
from workbench.graph.ops.math.reduce import Reduce
from workbench.graph.padding.places import Index, moves_of
from workbench.graph.padding.rules import LENGTHS, Use, rule_of
from workbench.graph.padding.sources import shared_source
from workbench.graph.type_inference import follow
from workbench.ir.dtypes import is_float, itemsize

#: What keeps a network from having kernels for a range of sizes.
PER_SHAPE = ("model.padding", "model.dynamic_value", "model.dynamic_shape")


@dataclass(slots=True)
class _Typed:
    """Types, and the values that shapes are computed from, of a network of one size; by node, what was inferred."""

    types: dict[str, TensorType]
    values: dict[str, Array]
    calls: list[tuple[Call, tuple[TensorType, ...], tuple[Array, ...]]] = field(default_factory=list)

    @classmethod
    def of(cls, program: Program) -> _Typed:
        given = program.types({})
        constants = {n: TensorType(a.shape, a.dtype.name) for n, a in program.constants.items()}
        found = cls({**given, **constants}, dict(program.constants))
        for node in program.nodes:
            call = Call.of(node, found.types, found.values)
            outs = infer(call)
            known = follow(call, outs)
            found.types.update({o: t for o, t in zip(node.outputs, outs, strict=False) if o})
            found.values.update({o: v for o, v in zip(node.outputs, known, strict=False) if o})
            found.calls.append((call, outs, known))
        return found


@dataclass(frozen=True, slots=True)
class Numbers:
    """What one size adds to the inputs of a padded graph, and the shapes of its outputs."""

    feeds: Mapping[str, Array]
    outputs: Mapping[str, tuple[int, ...]]

    @property
    def nbytes(self) -> int:
        """Bytes of what is added to the inputs."""
        return sum(a.nbytes for a in self.feeds.values())


class PaddedGraph:
    """The graph of a bucket of sizes.

    Parameters
    ----------
    sizes : OpenSizes
    bucket : Bucket

    Attributes
    ----------
    graph : Graph
        Its inputs are the program's, of the largest shapes and with zeros behind what counts, and those that `numbers`
        gives.

    Raises
    ------
    ModelError
        "model.padding" with the node that depends on what padding holds, and what inference finds.
    """

    def __init__(self, sizes: OpenSizes, bucket: Bucket) -> None:
        self._sizes, self._outputs = sizes, sizes.program.outputs
        self._bounded = _bounded(sizes, bucket)
        self._program = self._at(bucket.most)
        self._large = _Typed.of(self._program)
        small = self._large if bucket.least == bucket.most else _Typed.of(self._at(bucket.least))
        self._walk = _Walk(self._program, self._large, small)
        self._walk.all()
        self.graph = replace(self._walk.graph(), cuts=self._bounded.cuts if self._bounded else {})

    def _at(self, values: Sequence[int]) -> Program:
        """The program of a size; where data decide lengths, with the largest that they can have."""
        program, bounded = self._sizes.at(values), self._bounded
        return replace(program, nodes=bounded.nodes, outputs=bounded.outputs) if bounded else program

    def numbers(self, values: Sequence[int]) -> Numbers:
        """What a size of the bucket gives to the graph.

        Raises
        ------
        ModelError
            "model.padding" where the network is another one for this size.
        """
        here = _Typed.of(self._at(values))
        walk = _Walk(self._program, self._large, here)
        walk.all()
        if other := walk.steps - self._walk.steps:
            raise self._other(values, min(other)[0])
        feeds: dict[str, Array] = {}
        for (tensor, axis), name in self._walk.lengths.items():
            length = here.types[tensor].shape[axis]
            if feeds.setdefault(name, np.array([length], np.int64))[0] != length:
                raise self._other(values, tensor)
        for name, count in self._walk.counts.items():
            dims = [here.types[count.tensor].shape[axis] for axis in count.axes]
            feeds[name] = np.asarray(1 / np.prod(dims), self.graph.types[name].dtype).reshape(1)
        for tensor, name in self._walk.given.items():
            feeds[name] = np.ascontiguousarray(here.values[tensor]).reshape(self.graph.types[name].shape)
        for name, (k, index) in self._walk.places.items():
            feeds[name] = index(walk.use(k))
        return Numbers(feeds, {o: here.types[o].shape for o in self._outputs})

    def _other(self, values: Sequence[int], at: str) -> ModelError:
        size = ", ".join(f"{n}={v}" for n, v in zip(self._sizes.ranges, values, strict=True))
        text = f"The network {self.graph.name!r} is another one for {size}, at {at!r}."
        return ModelError("model.padding", text, (at, size))


def _bounded(sizes: OpenSizes, bucket: Bucket) -> Graph | None:
    """The network of a bucket with the largest lengths of what data decide; None where they decide nothing."""
    program = sizes.at(bucket.most)
    if not any(counted(node) for node in program.nodes):
        return None
    found = within_bounds(program, {})
    if found.tail is None:
        return found
    first = found.tail.nodes[0]
    hint = "cut the model there: load_onnx(path).with_outputs(names)"
    raise ModelError(
        "model.padding", f"Data decide the length of what {first.op} {first.name!r} reads.", (first.name,), hint
    )


def graph_of_bucket(sizes: OpenSizes, bucket: Bucket) -> Graph:
    """Graph whose kernels run a bucket of sizes; that of the largest alone where they cannot share kernels."""
    try:
        return PaddedGraph(sizes, bucket).graph
    except ModelError as e:
        if e.code not in PER_SHAPE:
            raise
        return within_bounds(sizes.at(bucket.most), {})


@dataclass(frozen=True, slots=True)
class _Count:
    """Axes of a tensor over which a mean is taken."""

    tensor: str
    axes: tuple[int, ...]


class _Walk:
    """The nodes in order, for the largest size and a smaller one.

    `steps` is all that was done for padding, so that it can be compared with that for another size.
    """

    def __init__(self, program: Program, large: _Typed, small: _Typed) -> None:
        self._program, self._large, self._small = program, large, small
        self._nodes: list[Node] = []
        self._constants: dict[str, Array] = {}
        self._inputs: dict[str, TensorType] = {}
        self._sized: set[str] = set()
        #: What padding holds: zeros behind the inputs, and what was asked for.
        self._filled = {(v.name, d, 0.0): v.name for v in program.inputs for d in range(len(v.dims or ()))}
        self._named: dict[tuple[int, int], str] = {}
        self.steps: set[tuple[str, str, int, float]] = set()
        #: Axes -> the input that says how much of them counts.
        self.lengths: dict[tuple[str, int], str] = {}
        #: Inputs by which sums are multiplied.
        self.counts: dict[str, _Count] = {}
        #: Tensors that are computed from lengths -> the input that they are instead.
        self.given: dict[str, str] = {}
        #: Inputs that say where elements come from: the node's position, and what works them out.
        self.places: dict[str, tuple[int, Index]] = {}

    def all(self) -> None:
        """Take every node."""
        for k in range(len(self._program.nodes)):
            self._take(k)

    def ragged(self, tensor: str) -> frozenset[int]:
        """Axes of a tensor along which the smaller size has less."""
        a, b = (t.types[tensor].shape for t in (self._large, self._small))
        return frozenset(d for d, (m, n) in enumerate(zip(a, b, strict=True)) if m != n)

    def use(self, k: int) -> Use:
        """The node at a position, for both sizes."""
        (large, outs, _), (small, less, _) = self._large.calls[k], self._small.calls[k]
        return Use(large, small, outs, less, tuple(self.ragged(i) if i else frozenset() for i in large.node.inputs))

    def _take(self, k: int) -> None:
        node, use = self._program.nodes[k], self.use(k)
        known, also = self._large.calls[k][2], self._small.calls[k][2]
        if any(a.rank != b.rank or a.dtype != b.dtype for a, b in zip(use.outs, use.less, strict=True)):
            raise use.refuse("gives tensors of another kind for another length")
        if known and also:
            self._sized.update(o for o, a, b in zip(node.outputs, known, also, strict=False) if o and not _begins(a, b))
            self._nodes.append(node)
            return
        inputs = [self._as_data(use, i, name) for i, name in enumerate(node.inputs)]
        open_ = any(use.ragged) or not self._sized.isdisjoint(inputs)
        if not open_ and inputs == list(node.inputs) and self._sized.isdisjoint(node.inputs):
            if any(a.shape != b.shape for a, b in zip(use.outs, use.less, strict=True)):
                raise use.refuse("makes a tensor of open length")
        elif open_:
            if self._mean(use, node, inputs):
                return
            try:
                self._fills(use, node, inputs)
            except ModelError:
                if not self._moved(k, use, node, inputs):
                    raise
                return
        self._nodes.append(replace(node, inputs=tuple(inputs)))

    def _fills(self, u: Use, node: Node, inputs: list[str]) -> None:
        """Have padding hold what the rule of an operator asks for."""
        rule = rule_of(u.large)
        if rule is None:
            raise u.refuse("has an axis of open length, for which there is no rule")
        for (i, axis), fill in sorted(rule(u).items()):
            if node.op == "MatMul" and i == 1 and self._at_the_source(node.inputs[1], axis):
                continue  # what it is multiplied by is 0 there
            inputs[i] = self._fill(node, inputs[i], node.inputs[i], axis, fill)
            if node.op == "Softmax":  # there is nothing left of the lowest numbers
                self._filled[node.outputs[0], axis, 0.0] = node.outputs[0]

    def _moved(self, k: int, u: Use, node: Node, inputs: Sequence[str]) -> bool:
        """Write a node that only moves elements as picks from places that the size gives."""
        moves = moves_of(u)
        if moves is None:
            return self._counted_from_the_end(u, node, inputs)
        out, x = node.outputs[0], inputs[0]
        if moves.itself:
            x = f"{out}:parts"
            self._nodes.append(replace(node, name=x, inputs=tuple(inputs), outputs=(x,)))
        if moves.shape is not None:
            x = self._add("Reshape", f"{out}:joined", (x, self._constant(np.array(moves.shape, np.int64))))
        for n, pick in enumerate(moves.picks):
            name = f"{out}:places{n}"
            self.steps.add((node.name, "places", pick.axis, float(n)))
            self.places[name] = k, pick.index
            self._inputs[name] = TensorType(pick.index(u).shape, "int64")
            x = self._add("Gather", f"{out}:picked{n}", (x, name), {"axis": pick.axis})
        shape = self._constant(np.array(u.outs[0].shape, np.int64))
        self._nodes.append(Node(node.name, "Reshape", (x, shape), (out,)))
        return True

    def _counted_from_the_end(self, u: Use, node: Node, inputs: Sequence[str]) -> bool:
        """Write a Gather along an axis of open length, whose negative numbers count from the end of what counts."""
        if node.op != "Gather" or node.domain:
            return False
        out, kind = node.outputs[0], self._large.types[node.inputs[1]].dtype
        length, zero = self._length(node.inputs[0], u.large.named_axis(0)), self._constant(np.zeros((), kind))
        self.steps.add((node.name, "length", u.large.named_axis(0), 0.0))
        if kind != "int64":
            length = self._add("Cast", f"{out}:length", (length,), {"to": CODES[kind]})
        if not self._large.types[node.inputs[1]].rank:  # a length is a vector
            length = self._add("Squeeze", f"{out}:one", (length,))
        below = self._add("Less", f"{out}:below", (inputs[1], zero))
        ahead = self._add("Add", f"{out}:ahead", (inputs[1], length))
        index = self._add("Where", f"{out}:index", (below, ahead, inputs[1]))
        self._nodes.append(replace(node, inputs=(inputs[0], index)))
        return True

    def _as_data(self, u: Use, k: int, tensor: str) -> str:
        """The input that a tensor is instead where it is computed from lengths and read as data."""
        if tensor not in self._sized or k in LENGTHS.get(u.large.node.op, ()):
            return tensor
        kind = self._large.types[tensor]
        if kind != self._small.types[tensor] or k in opdef(u.large.node).parameters:
            raise u.refuse(f"is another operator for another value of {tensor!r}")
        self.steps.add((u.large.node.name, "given", k, 0.0))
        self.given[tensor] = name = f"{tensor}:given"
        self._inputs[name] = kind
        return name

    def _mean(self, u: Use, node: Node, inputs: Sequence[str]) -> bool:
        """Write a mean over an axis of open length as a sum, and a product with a number that the size gives."""
        op, c = opdef(node), u.large
        rank, keep = len(c.shape(0)) if c.types and c.types[0] else 0, c.get_int("keepdims", 1)
        if isinstance(op, Reduce) and op.mean:
            axes = op.axes(c)
        elif node.op == "GlobalAveragePool":
            axes = tuple(range(2, rank))
        else:
            return False
        if u.ragged[0].isdisjoint(axes):
            return False
        x, out, kind = inputs[0], node.outputs[0], u.outs[0].dtype
        if not is_float(kind):
            raise u.refuse("averages integers along an axis of open length")
        for axis in sorted(u.ragged[0].intersection(axes)):
            x = self._fill(node, x, node.inputs[0], axis, 0.0)
        narrow = itemsize(kind) == 2  # the sum may be larger than its largest number
        if narrow:
            x = self._add("Cast", f"{out}:wide", (x,), {"to": CODES["float32"]})
        self._inputs[f"{out}:share"] = TensorType((1,), "float32" if narrow else kind)
        self.counts[f"{out}:share"] = _Count(node.inputs[0], axes)
        at = self._constant(np.array(axes, np.int64))
        total = self._add("ReduceSum", f"{out}:sum", (x, at), {"keepdims": keep})
        if narrow:
            total = self._add("Mul", f"{out}:mean", (total, f"{out}:share"))
            self._nodes.append(Node(node.name, "Cast", (total,), (out,), {"to": CODES[kind]}))
        else:
            self._nodes.append(Node(node.name, "Mul", (total, f"{out}:share"), (out,)))
        return True

    def _at_the_source(self, tensor: str, axis: int) -> bool:
        """Have zeros stand in what this product and others are made of, where its own padding is finite then."""
        found = shared_source(self._program, self.use, tensor, axis)
        if found is None or found[1] not in self.ragged(found[0]):
            return False
        x, axis = found
        if self._filled.get((x, axis, 0.0)) != x:  # it may be a copy, which others read
            k = next(k for k, n in enumerate(self._nodes) if x in n.outputs)
            last, bare = self._nodes[k], f"{x}:{axis}:open"
            self._nodes[k] = replace(last, outputs=tuple(bare if o == x else o for o in last.outputs))
            maker = next(n for n in self._program.nodes if x in n.outputs)  # `last` may fill another axis
            self._fill(maker, bare, x, axis, 0.0)  # it stands behind those that read it: `Graph.make` sorts them
            self._nodes[-1] = replace(self._nodes[-1], outputs=(x,))
            self._filled[x, axis, 0.0] = x
        return True

    def _fill(self, node: Node, x: str, tensor: str, axis: int, fill: float) -> str:
        """A tensor with a number in its padding along an axis."""
        self.steps.add((node.name, tensor, axis, fill))
        kind = self._large.types[tensor]
        name = self._filled.get((x, axis, fill))
        if name is None:
            whole = np.dtype(kind.dtype).kind in "iu"
            number = min(max(fill, np.iinfo(kind.dtype).min), np.iinfo(kind.dtype).max) if whole else fill
            counts = self._counts(tensor, axis)
            value = self._constant(np.asarray(number, kind.dtype))
            name = self._add("Where", f"{x}:{axis}:{fill}", (counts, x, value))
            self._filled[x, axis, fill] = name
        return name

    def _counts(self, tensor: str, axis: int) -> str:
        """Which elements along an axis count, in the shape that broadcasts to the tensor."""
        most, name = self._large.types[tensor].shape[axis], self._length(tensor, axis)
        after = self._large.types[tensor].rank - axis - 1
        marks = f"{name}:{after}"
        if not any(n.outputs == (marks,) for n in self._nodes):
            places = self._constant(np.arange(most, dtype=np.int64).reshape(-1, *(1,) * after))
            self._add("Less", marks, (places, name))
        return marks

    def _length(self, tensor: str, axis: int) -> str:
        """The input that says how much of an axis counts."""
        most, least = (t.types[tensor].shape[axis] for t in (self._large, self._small))
        name = self._named.setdefault((most, least), f"{tensor}:{axis}:length")
        self.lengths[tensor, axis] = name
        self._inputs[name] = TensorType((1,), "int64")
        return name

    def _add(self, op: str, name: str, inputs: Sequence[str], attrs: Mapping[str, int] | None = None) -> str:
        self._nodes.append(Node(name, op, tuple(inputs), (name,), dict(attrs or {})))
        return name

    def _constant(self, array: Array) -> str:
        ends = (*array.ravel()[:8], *array.ravel()[-1:])
        name = f"padding:{array.dtype}:{'x'.join(map(str, array.shape))}:{','.join(map(str, ends))}"
        self._constants.setdefault(name, array)
        return name

    def graph(self) -> Graph:
        """The graph of the largest size."""
        program = self._program
        own = {v.name: self._large.types[v.name] for v in program.inputs}
        constants = {**program.constants, **self._constants}
        return Graph.make(program.name, self._nodes, {**own, **self._inputs}, program.outputs, constants)


def _begins(large: Array, small: Array) -> bool:
    """Whether one array is the beginning of another along each axis."""
    return np.array_equal(large[tuple(slice(n) for n in small.shape)], small)
