"""Object files of ELF systems: names changed, code made fit for a shared library, large data written.

Every kernel is called ``kernel``: an entry of the symbol table gets another name. Those for this machine are compiled
for being loaded by this process, so that on x86-64 addresses are 64-bit immediates, which no shared library should have
in its code. That is put right in the object file, so that nothing has to be compiled again:

    mov r, imm64          (10 bytes, the address filled in by the loader)

becomes ``lea r, [rip + offset]``, or for symbols of other libraries ``mov r, [rip + entry of the offset table]`` (7
bytes each) and a nop of 3 bytes. Nothing moves.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from workbench.errors import BuildError
from workbench.runtime.buffers import ALIGNMENT, Array

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
_MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
#: Numbers of architectures, in LLVM's spelling.
MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243}
_SYMTAB, _STRTAB, _RELATIONS, _PROGBITS = 2, 3, 4, 1
_WRITE, _ALLOC, _EXEC, _MERGE, _LARGE = 1, 2, 4, 0x30, 0x1000_0000
_ABS64, _PC32, _GOTPCREL = 1, 2, 9
#: Sections of the large code model -> the ordinary ones, which every linker knows how to place.
_ORDINARY = {b".ltext": b".text", b".lrodata": b".rodata", b".ldata": b".data", b".lbss": b".bss"}
#: Constants beyond this size lie behind everything else: code reaches what it needs within two gigabytes.
#: Bytes: half of what offsets of 32 bits reach.
_FAR = 1 << 30


def for_library(code: bytes, entry: tuple[str, str] | None = None) -> bytes:
    """Return the object file with its code independent of its address.

    Parameters
    ----------
    code : bytes
        A relocatable object file.
    entry : (str, str), optional
        A symbol and its new name; all other symbols that others could see get names that begin with the new one.

    Raises
    ------
    BuildError
        ``build.link`` for what is no such file, lacks a symbol, or has an address where none can be replaced.
    """
    try:
        file = _Object(code)
        if entry is not None:
            file.rename(*entry)
        file.free_of_addresses()
        return file.finished()
    except (struct.error, IndexError, ValueError) as error:
        raise BuildError("build.link", f"the machine code is damaged: {error}") from error


class _Object:
    """A relocatable object file that is being changed."""

    def __init__(self, code: bytes) -> None:
        self._data = bytearray(code)
        head = _HEADER.unpack_from(code)
        if code[: len(_MAGIC)] != _MAGIC or head[1] != 1 or head[2] not in MACHINES.values():
            raise BuildError("build.link", "the machine code is no object file of a machine that is known")
        self._x86 = head[2] == MACHINES["x86_64"]
        self._table, count, names = head[6], head[12], head[13]
        self._sections = [list(_SECTION.unpack_from(code, self._table + _SECTION.size * i)) for i in range(count)]
        self._section_names = names
        self._new_strings: dict[int, bytearray] = {}

    # ---- strings ----

    def _strings(self, table: int) -> bytearray:
        if table not in self._new_strings:
            at, size = self._sections[table][4:6]
            self._new_strings[table] = bytearray(self._data[at : at + size])
        return self._new_strings[table]

    def _string(self, table: int, at: int) -> bytes:
        text = self._strings(table)
        return bytes(text[at : text.index(0, at)])

    def _added(self, table: int, text: bytes) -> int:
        strings = self._strings(table)
        strings += text + b"\0"
        return len(strings) - len(text) - 1

    # ---- symbols ----

    def _symbols(self) -> Iterator[tuple[int, int]]:
        """Yield (position in the file, string table) of every symbol."""
        for section in self._sections:
            if section[1] == _SYMTAB:
                for at in range(section[4], section[4] + section[5], _SYMBOL.size):
                    yield at, section[6]

    def rename(self, old: str, new: str) -> None:
        found = False
        for at, strings in self._symbols():
            label, info, _, section, *_ = _SYMBOL.unpack_from(self._data, at)
            if section == 0 or info >> 4 == 0:  # not defined here, or seen only here
                continue
            name = self._string(strings, label)
            found = found or name == old.encode()
            text = new.encode() if name == old.encode() else new.encode() + b"." + name
            struct.pack_into("<I", self._data, at, self._added(strings, text))
        if not found:
            raise BuildError("build.link", f"the machine code does not define {old}", (old,))

    # ---- addresses ----

    def free_of_addresses(self) -> None:
        if not self._x86:  # compiled for others to link
            return
        for section in self._sections:
            if section[1] != _RELATIONS:
                continue
            target = self._sections[section[7]]
            for at in range(section[4], section[4] + section[5], _RELA.size):
                if target[2] & _EXEC:
                    self._relative(at, target[4], section[6])
                elif struct.unpack_from("<I", self._data, at + 8)[0] == _ABS64 and target[2] & _ALLOC:
                    # Data with addresses: the loader fills them in once and then takes the right to write away.
                    target[2] |= _WRITE
                    target[0] = self._added(self._section_names, b".data.rel.ro")
        for section in self._sections:
            # Where equal constants are merged, a linker takes the 4 bytes between an offset and the end of its
            # instruction for part of the constant's place.
            section[2] &= ~(_LARGE | _MERGE)
            name = self._string(self._section_names, section[0])
            for large, ordinary in _ORDINARY.items():
                if name == large or name.startswith(large + b"."):
                    section[0] = self._added(self._section_names, ordinary + name[len(large) :])

    def _relative(self, entry: int, base: int, symbols: int) -> None:
        """Make one address in the code relative to the instruction."""
        offset, info, addend = _RELA.unpack_from(self._data, entry)
        if info & 0xFFFFFFFF != _ABS64:
            return
        at = base + offset - 2
        prefix, code = self._data[at], self._data[at + 1]
        symbol = _SYMBOL.unpack_from(self._data, self._sections[symbols][4] + _SYMBOL.size * (info >> 32))
        foreign = symbol[3] == 0
        if prefix not in (0x48, 0x49) or not 0xB8 <= code <= 0xBF or (foreign and addend):
            raise BuildError(
                "build.link",
                "the machine code has an address that a shared library cannot have",
                hint="this is a defect of the workbench; please report the network",
            )
        rex = 0x48 | (prefix & 1) << 2  # the register's fourth bit goes from B to R
        self._data[at : at + 10] = bytes((rex, 0x8B if foreign else 0x8D, (code & 7) << 3 | 5, 0, 0, 0, 0, 15, 31, 0))
        kind = _GOTPCREL if foreign else _PC32
        _RELA.pack_into(self._data, entry, offset + 1, info >> 32 << 32 | kind, addend - 4)

    # ---- the result ----

    def finished(self) -> bytes:
        for table, strings in self._new_strings.items():
            self._sections[table][4:6] = len(self._data), len(strings)
            self._data += strings
        for i, section in enumerate(self._sections):
            _SECTION.pack_into(self._data, self._table + _SECTION.size * i, *section)
        return bytes(self._data)


def constants_layout(arrays: Sequence[Array]) -> tuple[list[int], int]:
    """Return the offset of each array among the constants, and the size of all."""
    offsets, size = [], 0
    for array in arrays:
        offsets.append(size)
        size += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    return offsets, size


def write_constants(file: BinaryIO, arrays: Sequence[Array], symbol: str, like: bytes) -> None:
    """Write an object file that defines `symbol` as the arrays, one after the other as `constants_layout` says.

    Parameters
    ----------
    file : binary file
        Opened for writing; takes the arrays as they are, no copy is made.
    arrays : sequence of array
        C-contiguous.
    symbol : str
        What the data is called.
    like : bytes
        An object file for the same machine.
    """
    _, size = constants_layout(arrays)
    machine, calls = (_HEADER.unpack_from(like)[k] for k in (2, 7))  # how functions are called matters to RISC-V
    far = size > _FAR and machine == MACHINES["x86_64"]
    labels = [b"", b".lrodata" if far else b".rodata", b".symtab", b".strtab", b".note.GNU-stack", symbol.encode()]
    strings, at = b"\0", [0]
    for label in labels[1:]:
        at.append(len(strings))
        strings += label + b"\0"
    start = 4096
    table = start + size
    text = table + 2 * _SYMBOL.size
    headers = text + len(strings) + -len(strings) % 8
    ident = _MAGIC.ljust(16, b"\0")
    file.write(_HEADER.pack(ident, 1, machine, 1, 0, 0, headers, calls, _HEADER.size, 0, 0, _SECTION.size, 5, 3))
    file.write(bytes(start - _HEADER.size))
    for array in arrays:
        file.write(array.reshape(-1).view("uint8").data)
        file.write(bytes(-array.nbytes % ALIGNMENT))
    file.write(bytes(_SYMBOL.size) + _SYMBOL.pack(at[5], 0x11, 0, 1, 0, size) + strings + bytes(-len(strings) % 8))
    flags = _ALLOC | (_LARGE if far else 0)
    for row in (
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (at[1], _PROGBITS, flags, 0, start, size, 0, 0, 4096, 0),
        (at[2], _SYMTAB, 0, 0, table, 2 * _SYMBOL.size, 3, 1, 8, _SYMBOL.size),
        (at[3], _STRTAB, 0, 0, text, len(strings), 0, 0, 1, 0),
        (at[4], _PROGBITS, 0, 0, text, 0, 0, 0, 1, 0),
    ):
        file.write(_SECTION.pack(*row))
