"""Structures in memory that machine code and Python both know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Bytes of the scalar types.
BYTES = {"i8": 1, "i32": 4, "i64": 8, "ptr": 8}


@dataclass(frozen=True, slots=True)
class Struct:
    """A structure in memory: byte offset and LLVM type of each field, and the bytes from one to the next."""

    fields: Mapping[str, tuple[int, str]]
    size: int

    @classmethod
    def of(cls, **types: str) -> Struct:
        """Fields one after the other, aligned as C does it."""
        at, fields = 0, {}
        for name, type_ in types.items():
            at += -at % BYTES[type_]
            fields[name] = (at, type_)
            at += BYTES[type_]
        return cls(fields, at + -at % max(BYTES[t] for t in types.values()))

    def offset(self, name: str) -> int:
        """Byte offset of a field."""
        return self.fields[name][0]

    @property
    def type(self) -> str:
        """LLVM's type of a structure made with `of`."""
        return f"{{ {', '.join(type_ for _, type_ in self.fields.values())} }}"


Pointee = str | Struct | None


@dataclass(frozen=True, slots=True)
class Pointer:
    """The type of an address: what lies there, None where that does not matter."""

    to: Pointee = None
