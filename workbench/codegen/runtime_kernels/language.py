"""What bodies of runtime kernels are written in: numbers, arrays, variables, loops and branches.

Numbers follow `codegen.llvm.arithmetic`: integers wrap, nothing traps, a quotient is cut towards zero. They may be
vectors; a scalar beside a vector stands in each of its lanes. A number that is made inside of a loop or branch is not
known outside of it; what has to be is kept in a `Variable`. Loads and stores stay where they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from workbench.codegen.llvm.arithmetic import Arithmetic, is_unsigned
from workbench.codegen.llvm.builder import FunctionBuilder
from workbench.codegen.llvm.values import LLVM_TYPE, Value, const_of, index, literal
from workbench.ir.dtypes import itemsize
from workbench.target import Target

#: A number of the kernel, or one that is known when the kernel is compiled.
Operand: TypeAlias = "Number | float"


class Number:
    """A number, or a vector of them, while the kernel runs; operators emit instructions."""

    __slots__ = ("code", "value")

    def __init__(self, code: Code, value: Value) -> None:
        self.code, self.value = code, value

    @property
    def dtype(self) -> str:
        """Element type."""
        return self.value.dtype

    @property
    def lanes(self) -> int:
        """Elements of the vector, 1 for a scalar."""
        return self.value.lanes

    def _binary(self, op: str, other: Operand) -> Number:
        right = self.code.like(other, self)
        return Number(self.code, self.code.arithmetic.binary(op, self.value, right.value))

    def _turned(self, op: str, other: float) -> Number:
        return self.code.like(other, self)._binary(op, self)

    def __add__(self, other: Operand) -> Number:
        return self._binary("add", other)

    def __radd__(self, other: float) -> Number:
        return self._binary("add", other)

    def __sub__(self, other: Operand) -> Number:
        return self._binary("sub", other)

    def __rsub__(self, other: float) -> Number:
        return self._turned("sub", other)

    def __mul__(self, other: Operand) -> Number:
        return self._binary("mul", other)

    def __rmul__(self, other: float) -> Number:
        return self._binary("mul", other)

    def __truediv__(self, other: Operand) -> Number:
        return self._binary("div", other)

    def __floordiv__(self, other: Operand) -> Number:
        return self._binary("div", other)

    def __mod__(self, other: Operand) -> Number:
        return self._binary("mod", other)

    def __and__(self, other: Operand) -> Number:
        return self._binary("and", other)

    def __or__(self, other: Operand) -> Number:
        return self._binary("or", other)

    def __xor__(self, other: Operand) -> Number:
        return self._binary("xor", other)

    def __lshift__(self, other: Operand) -> Number:
        return self._binary("shl", other)

    def __rshift__(self, other: Operand) -> Number:
        return self._binary("lshr" if is_unsigned(self.value) else "ashr", other)

    def __lt__(self, other: Operand) -> Number:
        return self._binary("lt", other)

    def __le__(self, other: Operand) -> Number:
        return self._binary("le", other)

    def __gt__(self, other: Operand) -> Number:
        return self._binary("gt", other)

    def __ge__(self, other: Operand) -> Number:
        return self._binary("ge", other)

    def eq(self, other: Operand) -> Number:
        """Whether both are equal."""
        return self._binary("eq", other)

    def ne(self, other: Operand) -> Number:
        """Whether they differ; NaN differs from everything."""
        return self._binary("ne", other)

    def __neg__(self) -> Number:
        return self.apply("neg")

    def __invert__(self) -> Number:
        return self.apply("not") if self.dtype == "bool" else self ^ -1

    def largest(self, other: Operand) -> Number:
        """The larger one; NaN where either is."""
        return self._binary("max", other)

    def smallest(self, other: Operand) -> Number:
        """The smaller one; NaN where either is."""
        return self._binary("min", other)

    def apply(self, function: str) -> Number:
        """A unary function of the IR: "exp", "tanh", "floor", ..."""
        return Number(self.code, self.code.arithmetic.unary(function, self.value))

    def to(self, dtype: str) -> Number:
        """Convert to another type."""
        return Number(self.code, self.code.arithmetic.cast(self.value, dtype))

    def bits(self, dtype: str) -> Number:
        """The same bits as a type of the same size."""
        if LLVM_TYPE[self.dtype] == LLVM_TYPE[dtype]:
            v = self.value
            return Number(self.code, Value(v.text, dtype, v.lanes, v.depth))
        return Number(self.code, self.code.arithmetic.math.cast("bitcast", self.value, dtype))

    def select(self, yes: Operand, no: Operand) -> Number:
        """`yes` in the lanes where this truth value holds, `no` elsewhere."""
        first, second = (yes, no) if isinstance(yes, Number) else (no, yes)
        assert isinstance(first, Number)
        other = self.code.like(second, first)
        a, b = (first, other) if first is yes else (other, first)
        values = self.code.arithmetic.same_lanes(self.value, a.value, b.value)
        return Number(self.code, self.code.arithmetic.math.select(*values))

    def mask(self) -> Number:
        """The lanes of a truth value as the lowest bits of a uint64: 8, 16, 32 or 64 of them."""
        kind = {8: "uint8", 16: "uint16", 32: "uint32", 64: "uint64"}[self.lanes]
        text = f"bitcast {self.value.typed} to i{self.lanes}"
        return Number(self.code, self.code.fb.pure(text, kind, 1, (self.value,))).to("uint64")

    def lowest_bit(self) -> Number:
        """Position of the lowest bit that is set, of a uint64 that is not 0."""
        fb, name = self.code.fb, "llvm.cttz.i64"
        fb.declare(name, f"declare i64 @{name}(i64, i1)")
        return Number(self.code, fb.pure(f"call i64 @{name}({self.value.typed}, i1 true)", "int64", 1, (self.value,)))

    def ones(self) -> Number:
        """How many bits of a uint64 are set."""
        fb, name = self.code.fb, "llvm.ctpop.i64"
        fb.declare(name, f"declare i64 @{name}(i64)")
        return Number(self.code, fb.pure(f"call i64 @{name}({self.value.typed})", "int64", 1, (self.value,)))

    def lane(self, k: int) -> Number:
        """One element of a vector."""
        if self.lanes == 1:
            return self
        text = f"extractelement {self.value.typed}, i64 {k}"
        return Number(self.code, self.code.fb.pure(text, self.dtype, 1, (self.value,)))

    def shuffled(self, lanes: Sequence[int], other: Number | None = None) -> Number:
        """The vector of these lanes; numbers from `self.lanes` on are lanes of `other`."""
        beside = self.value if other is None else other.value
        which = ", ".join(f"i32 {k}" for k in lanes)
        text = f"shufflevector {self.value.typed}, {beside.typed}, <{len(lanes)} x i32> <{which}>"
        return Number(self.code, self.code.fb.pure(text, self.dtype, len(lanes), (self.value, beside)))

    def spread(self, lanes: int) -> Number:
        """A vector of equal lanes."""
        return Number(self.code, self.code.fb.broadcast(self.value, lanes))


class Array:
    """Elements in memory, in a row. A truth value is one byte there, and is read and written as such."""

    __slots__ = ("base", "code", "dtype")

    def __init__(self, code: Code, base: Value, dtype: str) -> None:
        self.code, self.base, self.dtype = code, base, "uint8" if dtype == "bool" else dtype

    def at(self, offset: Operand) -> Array:
        """The array that begins so many elements on."""
        place = self.code.fb.gep(self.base, self.code.number(offset).value, LLVM_TYPE[self.dtype])
        return Array(self.code, place, self.dtype)

    def load(self, at: Operand = 0, lanes: int = 1) -> Number:
        """The element there, or a vector that begins there."""
        kind = Value("", self.dtype, lanes).type
        text = f"load {kind}, {self.at(at).base.typed}, align {itemsize(self.dtype)}"
        return Number(self.code, self.code.fb.here(text, self.dtype, lanes))

    def gather(self, at: Number, where: Number | None = None) -> Number:
        """The elements at the numbers of a vector of int32; 0, and no access, in lanes where `where` does not hold."""
        if at.lanes == 1:
            return self.load(at.to("int64")) if where is None else self._guarded(at, where)
        fb, elem = self.code.fb, LLVM_TYPE[self.dtype]
        vec, places = Value("zeroinitializer", self.dtype, at.lanes), f"<{at.lanes} x ptr>"
        to = fb.pure(f"getelementptr {elem}, ptr {self.base.text}, {at.value.typed}", "ptr", at.lanes,
                     (self.base, at.value))  # fmt: skip
        mask = self.code.number(True, "bool").spread(at.lanes) if where is None else where
        short = elem.replace("float", "f32").replace("double", "f64").replace("half", "f16")
        name = f"llvm.masked.gather.v{at.lanes}{short}.v{at.lanes}p0"
        fb.declare(name, f"declare {vec.type} @{name}({places}, i32, {mask.value.type}, {vec.type})")
        given = f"{places} {to.text}, i32 {itemsize(self.dtype)}, {mask.value.typed}, {vec.typed}"
        return Number(self.code, fb.here(f"call {vec.type} @{name}({given})", self.dtype, at.lanes))

    def _guarded(self, at: Number, where: Number) -> Number:
        found = self.code.variable(0, self.dtype)
        with self.code.when(where):
            found.set(self.load(at.to("int64")))
        return found.now

    def store(self, at: Operand, value: Operand) -> None:
        """Write an element, or a vector, there."""
        v = (value if isinstance(value, Number) else self.code.number(value, self.dtype)).value
        assert LLVM_TYPE[v.dtype] == LLVM_TYPE[self.dtype], (v.dtype, self.dtype)
        self.code.fb.effect(f"store {v.typed}, {self.at(at).base.typed}, align {itemsize(self.dtype)}")

    def fetch(self, nbytes: int) -> None:
        """Bring bytes from its beginning on into the cache, for loads that come soon."""
        self.code.fb.declare("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for start in range(0, nbytes, self.code.target.line_bytes):
            place = self.at(start // itemsize(self.dtype)).base
            self.code.fb.hint(f"call void @llvm.prefetch.p0({place.typed}, i32 0, i32 3, i32 1)")

    def same(self, other: Array) -> Number:
        """Whether both begin at the same address."""
        text, operands = f"icmp eq ptr {self.base.text}, {other.base.text}", (self.base, other.base)
        return Number(self.code, self.code.fb.pure(text, "bool", 1, operands))

    __getitem__, __setitem__ = load, store


class Variable:
    """A number that changes; LLVM keeps it in a register."""

    __slots__ = ("_align", "_code", "_first", "_place")

    def __init__(self, code: Code, first: Number) -> None:
        self._code, self._first, self._align = code, first.value, itemsize(first.dtype)
        self._place = code.fb.alloca(first.value.type, self._align).typed
        self.set(first)

    @property
    def now(self) -> Number:
        """What it is at this place."""
        text = f"load {self._first.type}, {self._place}, align {self._align}"
        return Number(self._code, self._code.fb.here(text, self._first.dtype, self._first.lanes))

    def set(self, value: Operand) -> None:
        """Give it another value."""
        v = self._code.number(value, self._first.dtype).spread(self._first.lanes).value
        self._code.fb.effect(f"store {v.typed}, {self._place}, align {self._align}")


class Code:
    """Where the body of a kernel writes: one function of its machine code.

    Parameters
    ----------
    fb : FunctionBuilder
    target : Target
    arrays : callable
        Name of a parameter or of scratch memory -> its address and element type; None where there is none.
    """

    def __init__(
        self, fb: FunctionBuilder, target: Target, arrays: Callable[[FunctionBuilder, str], tuple[Value, str] | None]
    ) -> None:
        self.fb, self.target, self.arithmetic = fb, target, Arithmetic(fb)
        self._arrays = arrays

    def array(self, name: str) -> Array:
        """A parameter or scratch memory by its name; it has to be there."""
        found = self._arrays(self.fb, name)
        assert found is not None, name
        return Array(self, *found)

    def given(self, name: str) -> Array | None:
        """The same, and None for an input or output that the node does not have."""
        found = self._arrays(self.fb, name)
        return None if found is None else Array(self, *found)

    def lanes(self, dtype: str) -> int:
        """Elements of a vector register."""
        return max(1, self.target.vector_bytes // itemsize(dtype))

    # ---- numbers ---------------------------------------------------------------------------------------------------

    def number(self, value: Operand, dtype: str = "int64") -> Number:
        """A constant of a type; a number stays as it is."""
        if isinstance(value, Number):
            return value
        made = index(int(value)) if dtype == "int64" else literal(value, dtype)
        return Number(self, made)

    def like(self, value: Operand, other: Number) -> Number:
        """A constant of the type of another number; a number stays as it is."""
        return value if isinstance(value, Number) else Number(self, literal(value, other.dtype, other.lanes))

    def variable(self, first: Operand, dtype: str = "int64", lanes: int = 1) -> Variable:
        """A variable that begins with a value."""
        return Variable(self, self.number(first, dtype).spread(lanes) if lanes > 1 else self.number(first, dtype))

    def lane_numbers(self, lanes: int, dtype: str = "int64") -> Number:
        """0, 1, 2, ... in the lanes of a vector."""
        if lanes == 1:
            return self.number(0, dtype)
        text = ", ".join(literal(k, dtype).typed for k in range(lanes))
        return Number(self, Value(f"<{text}>", dtype, lanes))

    # ---- control ---------------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self, stop: Operand, start: Operand = 0, step: int = 1) -> Iterator[Number]:
        """Run what follows for each number from `start` to below `stop`; for none where there is none."""
        first, end = self.number(start), self.number(stop)
        a, b = const_of(first.value), const_of(end.value)
        runs = None if a is not None and b is not None and a < b else (first < end).value
        with self.fb.branching(runs), self.fb.counting(first.value, end.value, step) as at:
            yield Number(self, at)

    @contextmanager
    def when(self, condition: Number) -> Iterator[None]:
        """Run what follows where a scalar truth value holds."""
        with self.fb.branching(condition.value):
            yield

    @contextmanager
    def repeat(self, going: Callable[[], Number]) -> Iterator[None]:
        """Run what follows again and again while what `going` emits holds."""
        with self.fb.repeating(lambda: going().value):
            yield

    def along(self, count: int, dtype: str, each: Callable[[Number, int], None], vectors: int = 1) -> None:
        """Take the numbers up to below a constant in vectors, or several (1, 4, 16) of them: ``each(first, lanes)``, in
        narrower ones at the end.
        """
        done, lanes = 0, vectors * self.lanes(dtype)
        while done < count:
            upto = count - (count - done) % lanes
            if upto > done:
                with self.loop(upto, done, lanes) as at:
                    each(at, lanes)
            done, lanes = upto, max(1, lanes // 4)
