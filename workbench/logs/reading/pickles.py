"""Pickles of plain values, read by a whitelist of opcodes: nothing is imported, nothing is called."""

from __future__ import annotations

import pickletools
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

LARGEST = 1 << 20
"""Bytes of a pickle, unpacked. Chosen: a configuration has some hundred."""

MOST_STEPS = 200_000
"""Opcodes of a pickle. Chosen."""

_CONSTANTS = {
    "NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": (),
}  # fmt: skip
_ARGUMENTS = {
    "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE", "BINUNICODE",
    "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING",
}  # fmt: skip
_NOTHING = {"PROTO", "FRAME"}
_PUT = {"PUT", "BINPUT", "LONG_BINPUT"}
_GET = {"GET", "BINGET", "LONG_BINGET"}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass
class Inert:
    """What a pickle would call or make: its name, arguments and state, as data."""

    name: str
    arguments: tuple[Any, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)


class _Reader:
    """A stack of values, on which a pickle's opcodes work."""

    def __init__(self, objects: bool) -> None:
        self.objects = objects
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        if name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _ARGUMENTS:
            self.stack.append(argument)
        elif name in _TUPLES:
            self.stack.append(tuple(self._pop() for _ in range(_TUPLES[name]))[::-1])
        elif name in _GET:
            self._get(int(argument))
        elif name in _PUT or name == "MEMOIZE":
            self.memo[len(self.memo) if name == "MEMOIZE" else int(argument)] = self.stack[-1]
        elif name not in _NOTHING:
            self._build(name, argument)

    def _pop(self) -> Any:
        return self.stack.pop()

    def _since_mark(self) -> list[Any]:
        at = self.marks.pop()
        values, self.stack[at:] = self.stack[at:], []
        return values

    def _get(self, key: int) -> None:
        value = self.memo[key]
        if isinstance(value, list | dict) or (isinstance(value, tuple) and value):
            raise ValueError("a value that contains another one twice")  # shared lists can grow without bound
        self.stack.append(value)

    def _build(self, name: str, argument: Any) -> None:
        made: dict[str, Callable[[], Any]] = {
            "EMPTY_DICT": dict,
            "EMPTY_LIST": list,
            "LIST": self._since_mark,
            "TUPLE": lambda: tuple(self._since_mark()),
            "DICT": lambda: _pairs(self._since_mark()),
        }
        if name == "MARK":
            self.marks.append(len(self.stack))
        elif name in made:
            self.stack.append(made[name]())
        elif name in ("APPEND", "APPENDS"):
            values = [self._pop()] if name == "APPEND" else self._since_mark()
            self._last(list).extend(values)
        elif name in ("SETITEM", "SETITEMS"):
            pair = [self._pop(), self._pop()][::-1] if name == "SETITEM" else self._since_mark()
            self._last(dict).update(_pairs(pair))
        elif self.objects:
            self._object(name, argument)
        else:
            raise ValueError(f"the pickle does more than to hold values ({name})")

    def _object(self, name: str, argument: Any) -> None:
        """Keep as data what a pickle would import, call or make."""
        if name == "GLOBAL":
            self.stack.append(Inert(str(argument).replace(" ", ".")))
        elif name == "STACK_GLOBAL":
            words = [self._pop(), self._pop()][::-1]
            self.stack.append(Inert(".".join(map(str, words))))
        elif name in ("REDUCE", "NEWOBJ"):
            arguments = self._pop()
            self.stack.append(Inert(self._last_popped().name, tuple(arguments)))
        elif name == "BUILD":
            state = self._pop()
            self._last(Inert).state.update(state)
        else:
            raise ValueError(f"the pickle does more than to hold values ({name})")

    def _last(self, kind: type[Any]) -> Any:
        if not isinstance(self.stack[-1], kind):
            raise ValueError("the pickle fills something that it has not made")
        return self.stack[-1]

    def _last_popped(self) -> Inert:
        made = self._last(Inert)
        self.stack.pop()
        assert isinstance(made, Inert)
        return made


def _pairs(flat: list[Any]) -> dict[Any, Any]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def plain_pickle(data: bytes, objects: bool = False) -> Any:
    """Return what a pickle holds, zlib unpacked: None, bool, int, float, str, list, tuple and dict.

    Parameters
    ----------
    data : bytes
        The pickle.
    objects : bool
        Whether what it would import or call is kept as `Inert` data; without it, such a pickle is refused.

    Raises
    ------
    ValueError
        Where it does more than to hold values, is damaged, or too large.
    """
    if data[:1] == b"x":
        unpack = zlib.decompressobj()
        try:
            data = unpack.decompress(data, LARGEST)
        except zlib.error as error:
            raise ValueError(f"damaged zlib data ({error})") from None
        if unpack.unconsumed_tail:
            raise ValueError(f"a pickle of more than {LARGEST} bytes")
    if len(data) > LARGEST:
        raise ValueError(f"a pickle of more than {LARGEST} bytes")
    reader = _Reader(objects)
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if opcode.name == "STOP":
                return reader.stack[-1]
            if count > MOST_STEPS:
                raise ValueError("a pickle of too many steps")
            reader.step(opcode.name, argument)
    except (LookupError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"a damaged pickle ({type(error).__name__})") from None
    raise ValueError("a pickle without an end")
