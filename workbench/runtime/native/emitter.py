"""LLVM functions written as Python functions.

    @native
    def total(f: Emitter, data: Words, count: I64) -> I64:
        out = f.local(0)
        with f.range(count) as i:
            out.store(out.load() + data[i].load())
        return out.load()

The body runs once, when a module that needs the function is made; parameters and result have the LLVM types of their
annotations. Calling ``total(f, data, 3)`` in another body emits a call and adds the function to the module. Locals are
stack slots that LLVM's pass ``sroa`` turns into registers, so no phi node is written by hand.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

from workbench.runtime.native.call_types import passed, returned
from workbench.runtime.native.structs import BYTES, Pointee, Pointer, Struct

#: Vectors are aligned as their elements, of so many bytes.
_FLOAT_BYTES = 4


def _binary(text: str, type_: str = "") -> Callable[[Value, Value | int], Value]:
    def emit(self: Value, other: Value | int) -> Value:
        return self.emitter.value(f"{text} {self.type} {self.text}, {operand(other, self.type)}", type_ or self.type)

    return emit


class Value:
    """An operand of a function: LLVM type and text, and for a pointer what lies there."""

    __slots__ = ("emitter", "text", "to", "type")

    def __init__(self, emitter: Emitter, text: str, type_: str | Pointer) -> None:
        self.emitter, self.text = emitter, text
        self.type = "ptr" if isinstance(type_, Pointer) else type_
        self.to: Pointee = type_.to if isinstance(type_, Pointer) else None

    # ---- arithmetic; integers have no sign unless the name says so ----

    __add__, __sub__, __mul__ = _binary("add"), _binary("sub"), _binary("mul")
    __floordiv__, __mod__ = _binary("udiv"), _binary("urem")
    __and__, __or__ = _binary("and"), _binary("or")
    __lshift__, __rshift__ = _binary("shl"), _binary("lshr")
    fadd, fmul = _binary("fadd"), _binary("fmul")
    eq, ne = _binary("icmp eq", "i1"), _binary("icmp ne", "i1")
    ult, ugt, uge = _binary("icmp ult", "i1"), _binary("icmp ugt", "i1"), _binary("icmp uge", "i1")
    slt, sgt, sge = _binary("icmp slt", "i1"), _binary("icmp sgt", "i1"), _binary("icmp sge", "i1")

    def select(self, yes: Value | int, no: Value | int, type_: str = "i64") -> Value:
        """`yes` where this bit is set; the type counts where both are numbers."""
        kind = next((v.type for v in (yes, no) if isinstance(v, Value)), type_)
        text = f"select i1 {self.text}, {kind} {operand(yes, kind)}, {kind} {operand(no, kind)}"
        return self.emitter.value(text, kind)

    def cast(self, how: str, type_: str) -> Value:
        """``zext``, ``sext``, ``trunc`` or ``ptrtoint``."""
        return self.emitter.value(f"{how} {self.type} {self.text} to {type_}", type_)

    def null(self) -> Value:
        """Whether this pointer is null."""
        return self.eq(0)

    # ---- memory ----

    def as_(self, to: Pointee) -> Value:
        """The same address of something else."""
        return Value(self.emitter, self.text, Pointer(to))

    def offset(self, nbytes: Value | int) -> Value:
        """The address so many bytes on."""
        return self.as_("i8")[nbytes]

    def __getitem__(self, which: str | int | Value) -> Value:
        """The address of a field of this structure, or of the element `which` of this array."""
        if isinstance(which, str):
            assert isinstance(self.to, Struct)
            at, to = self.to.fields[which]
            return self.offset(at).as_(to)
        assert self.to is not None
        each = self.to if isinstance(self.to, str) else f"[{self.to.size} x i8]"
        text = f"getelementptr inbounds {each}, ptr {self.text}, i64 {operand(which, 'i64')}"
        return self.emitter.value(text, Pointer(self.to))

    def load(self, order: str = "") -> Value:
        """What lies here; with an `order`, atomically."""
        kind = self._kind()
        head, tail = ("load atomic", f" {order}") if order else ("load", "")
        return self.emitter.value(f"{head} {kind}, ptr {self.text}{tail}, align {_alignment(kind)}", kind)

    def store(self, value: Value | int, order: str = "") -> None:
        """Write a value here; with an `order`, atomically."""
        kind = self._kind()
        head, tail = ("store atomic", f" {order}") if order else ("store", "")
        text = f"{head} {kind} {operand(value, kind)}, ptr {self.text}{tail}, align {_alignment(kind)}"
        self.emitter.effect(text)

    def increase(self, by: Value | int) -> None:
        """Add to what lies here; no other thread may look."""
        self.store(self.load() + by)

    def fetch(self, operation: str, value: Value | int, order: str) -> Value:
        """``add`` or ``sub`` atomically; returns what was here before."""
        kind = self._kind()
        text = f"atomicrmw {operation} ptr {self.text}, {kind} {operand(value, kind)} {order}"
        return self.emitter.value(text, kind)

    def exchange(self, old: Value | int, new: Value | int, orders: str) -> tuple[Value, Value]:
        """Write `new` where `old` is; returns what was here before, and whether it was `old`."""
        kind, f = self._kind(), self.emitter
        text = f"cmpxchg ptr {self.text}, {kind} {operand(old, kind)}, {kind} {operand(new, kind)} {orders}"
        pair = f.value(text, f"{{ {kind}, i1 }}")
        return pair.part(0, kind), pair.part(1, "i1")

    def part(self, k: int, type_: str) -> Value:
        """Element `k` of several results."""
        return self.emitter.value(f"extractvalue {self.type} {self.text}, {k}", type_)

    def __call__(self, *args: Value) -> None:
        """Call the function at this address, which returns nothing."""
        self.emitter.effect(f"call void {self.text}({', '.join(f'{a.type} {a.text}' for a in args)})")

    def _kind(self) -> str:
        assert isinstance(self.to, str), "the address of a scalar"
        return self.to


def _alignment(kind: str) -> int:
    return BYTES.get(kind, _FLOAT_BYTES)


def operand(value: Value | int, type_: str) -> str:
    """A value, or a number as a constant of a type."""
    if isinstance(value, Value):
        assert value.type == type_, f"{value.type} where {type_} is needed"
        return value.text
    zero = "null" if type_ == "ptr" else "zeroinitializer" if type_.startswith("<") else "0"
    return zero if value == 0 else str(value)


I32 = Annotated[Value, "i32"]
I64 = Annotated[Value, "i64"]
Ptr = Annotated[Value, Pointer()]
Words = Annotated[Value, Pointer("i64")]
Pointers = Annotated[Value, Pointer("ptr")]


class Block:
    """A region of code that can be left."""

    def __init__(self, emitter: Emitter, end: str) -> None:
        self._emitter, self.end, self.left = emitter, end, False

    def leave(self, where: Value | None = None) -> None:
        """Go to the end of the region, where a condition holds or anyway."""
        f, self.left = self._emitter, True
        if where is None:
            f.jump(self.end)
        else:
            f.branch(where, self.end, f.fresh("on"))


class Emitter:
    """Writes one function of a module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._lines: list[str] = []
        self._slots: list[str] = []
        self._count = 0
        self._ended = False  # whether the line before jumps or returns

    def fresh(self, prefix: str) -> str:
        """A name that no other value or label of this function has."""
        self._count += 1
        return f"{prefix}{self._count}"

    def effect(self, text: str) -> None:
        """Emit an instruction without a result."""
        assert not self._ended, f"never reached: {text}"
        self._lines.append(f"  {text}")

    def value(self, text: str, type_: str | Pointer) -> Value:
        """Emit an instruction with a result."""
        name = self.fresh("%v")
        self.effect(f"{name} = {text}")
        return Value(self, name, type_)

    def const(self, number: int, type_: str = "i64") -> Value:
        """A number."""
        return Value(self, operand(number, type_), type_)

    def null(self) -> Value:
        """The null pointer."""
        return self.const(0, "ptr")

    def room(self, type_: str, to: Pointee = None, align: int = 16) -> Value:
        """Memory on the stack for the whole function."""
        name = self.fresh("%slot")
        self._slots.append(f"  {name} = alloca {type_}, align {align}")
        return Value(self, name, Pointer(to))

    def local(self, value: Value | int, type_: str = "i64") -> Value:
        """A variable that begins with a value: the address of a slot."""
        kind = value.type if isinstance(value, Value) else type_
        slot = self.room(kind, kind, _alignment(kind))
        slot.store(value)
        return slot

    def extern(self, name: str, to: Pointee = None) -> Value:
        """The address of a global of this module."""
        return Value(self, f"@{name}", Pointer(to))

    def variable(self, name: str, type_: str) -> Value:
        """The address of a variable of this module, which is 0 at first."""
        self.module.declare(f"@{name} = internal global {type_} {operand(0, type_)}")
        return self.extern(name, type_)

    def address(self, function: Native) -> Value:
        """The address of a function."""
        return Value(self, f"@{self.module.need(function)}", Pointer())

    def function(self, name: str, function: Native) -> str:
        """Return the definition of a function."""
        value = function.body(self, *(Value(self, f"%{n}", type_) for n, type_ in function.types))
        if not self._ended:
            self.ret(value)
        head = f"define {'internal ' * function.internal}{returned(_llvm(function.result), self.module.riscv)} @{name}"
        params = ", ".join(f"{passed(_llvm(type_), self.module.riscv)} %{n}" for n, type_ in function.types)
        return "\n".join([f"{head}({params}) nounwind {{", "entry:", *self._slots, *self._lines, "}"])

    # ---- control ----

    def label(self, name: str) -> None:
        """Begin a basic block."""
        if not self._ended:
            self._lines.append(f"  br label %{name}")
        self._lines.append(f"{name}:")
        self._ended = False

    def jump(self, label: str) -> None:
        """Go to a label."""
        self.effect(f"br label %{label}")
        self._ended = True

    def branch(self, where: Value, yes: str, no: str) -> None:
        """Go to `yes` where a condition holds; go on at `no`, a new label, elsewhere."""
        self.effect(f"br i1 {where.text}, label %{yes}, label %{no}")
        self._ended = True
        self.label(no)

    def ret(self, value: Value | None = None) -> None:
        """Return from the function."""
        self.effect("ret void" if value is None else f"ret {value.type} {value.text}")
        self._ended = True

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Code for where a condition holds."""
        yes, end = self.fresh("when"), self.fresh("end")
        self.effect(f"br i1 {condition.text}, label %{yes}, label %{end}")
        self._ended = True
        self.label(yes)
        yield
        self.label(end)

    @contextmanager
    def block(self) -> Iterator[Block]:
        """Code that can be left."""
        block = Block(self, self.fresh("end"))
        yield block
        if block.left or not self._ended:
            self.label(block.end)

    @contextmanager
    def forever(self) -> Iterator[Block]:
        """A loop that ends where it is left."""
        with self.block() as block:
            head = self.fresh("loop")
            self.label(head)
            yield block
            if not self._ended:
                self.jump(head)

    @contextmanager
    def range(self, stop: Value | int, start: int = 0, step: int = 1, once: bool = False) -> Iterator[Value]:
        """Count up to below `stop`; `once` says that `start` is below it, so that the test is at the end alone."""
        kind = stop.type if isinstance(stop, Value) else "i64"
        at = self.local(start, kind)
        with self.forever() as loop:
            now = at.load()
            if not once:
                loop.leave(now.uge(stop))
            yield now
            if not self._ended:
                following = now + step
                at.store(following)
                if once:
                    loop.leave(following.uge(stop))


class Native:
    """A function of the runtime; calling it emits a call."""

    def __init__(self, body: Callable[..., Value | None], symbol: str, internal: bool) -> None:
        hints = typing.get_type_hints(body, include_extras=True)
        result = hints.pop("return")
        self.types = [(name, hint.__metadata__[0]) for name, hint in hints.items() if name != "f"]
        self.result: str | Pointer = "void" if result is type(None) else result.__metadata__[0]
        self.body, self.symbol, self.internal = body, symbol, internal

    def __call__(self, f: Emitter, *args: Value | int) -> Value:
        return call(f, self.result, f"@{f.module.need(self)}", [_llvm(t) for _, t in self.types], args)


class External:
    """A function of the C library or of LLVM; ``...`` as the last type takes any more arguments."""

    def __init__(self, result: str, symbol: str, *types: str) -> None:
        self.result, self.symbol, self.types = result, symbol, types

    def __call__(self, f: Emitter, *args: Value | int) -> Value:
        types = ", ".join(passed(type_, f.module.riscv) for type_ in self.types)
        f.module.declare(f"declare {returned(self.result, f.module.riscv)} @{self.symbol}({types})")
        if self.types[-1:] != ("...",):
            return call(f, self.result, f"@{self.symbol}", self.types, args)
        more = (a.type if isinstance(a, Value) else "i64" for a in args[len(self.types) - 1 :])
        return call(f, self.result, f"({types}) @{self.symbol}", [*self.types[:-1], *more], args)


def call(f: Emitter, result: str | Pointer, callee: str, types: Sequence[str], args: Sequence[Value | int]) -> Value:
    """Emit a call of a function; `callee` is its name, or for inline assembly its text."""
    given = ", ".join(f"{passed(t, f.module.riscv)} {operand(arg, t)}" for t, arg in zip(types, args, strict=True))
    text = f"call {returned(_llvm(result), f.module.riscv)} {callee}({given})"
    if result != "void":
        return f.value(text, result)
    f.effect(text)
    return Value(f, "", "void")


def _llvm(type_: str | Pointer) -> str:
    return type_ if isinstance(type_, str) else "ptr"


def native(body: Callable[..., Value | None]) -> Native:
    """Declare a function that only its module sees."""
    return Native(body, body.__name__, True)


def exported(body: Callable[..., Value | None]) -> Native:
    """Declare a function that can be looked up by its name."""
    return Native(body, body.__name__, False)


class Module:
    """LLVM text of some functions and of all that they call.

    Parameters
    ----------
    system, machine : str
        The operating system (`sys.platform`) and the machine (`platform.machine()`) that run it.
    prefix : str
        Begins the name of functions whose symbol begins with an underscore.
    features : container of str
        What the processor has besides, in LLVM's names.
    """

    def __init__(self, system: str, machine: str, prefix: str = "", features: Container[str] = ()) -> None:
        self.system, self.machine, self.features, self._prefix = system, machine, features, prefix
        self.x86 = machine.lower() in ("x86_64", "amd64", "i686")
        self.arm = machine.lower() in ("aarch64", "arm64")
        self.riscv = machine.lower() == "riscv64"
        self._symbols: set[str] = set()
        self._head: dict[str, None] = {}
        self._functions: list[str] = []

    def declare(self, line: str) -> None:
        """Add a line outside of functions, once."""
        self._head[line] = None

    def need(self, function: Native) -> str:
        """Add a function with all that it calls, once; returns its name."""
        name = f"{self._prefix}{function.symbol}" if function.symbol.startswith("_") else function.symbol
        if name not in self._symbols:
            self._symbols.add(name)
            self._functions.append(Emitter(self).function(name, function))
        return name

    def text(self, *functions: Native) -> str:
        """Return the module with these functions."""
        for function in functions:
            self.need(function)
        return "\n".join([*self._head, *self._functions]) + "\n"
