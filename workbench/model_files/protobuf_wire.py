"""The protobuf encoding of an ONNX file, as far as it helps to know it.

A damaged file is told from something else by its outermost layer. Weights are left out of what the protobuf library
parses, which would copy them twice: they are read from where they stand in the file.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Literal, TypeAlias

Data: TypeAlias = bytes | mmap.mmap

#: Wire type of the fields of ModelProto: ir_version, producer, version, domain, model version, doc, graph, opsets, ...
_FIELDS = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}


#: Where the model's own file stands for the place of a weight; no path has this name.
OWN = "\0"
#: Bytes below which a weight stays in the message. Chosen: a page of memory.
_HEAVY = 4096
_GRAPH, _INITIALIZER, _SPARSE = (7, 2), (5, 2), (15, 2)
#: The two tensors of a sparse one: values and indices.
_PARTS = ((1, 2), (2, 2))
_DATA_TYPE, _RAW_DATA = (2, 0), (9, 2)
#: Element types whose elements have whole bytes.
_WHOLE_BYTES = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13}


def diagnose(data: Data) -> Literal["whole", "truncated", "other"]:
    """Say whether the bytes can be a whole model, the beginning of one, or neither."""
    if not data:
        return "truncated"
    at, fields = 0, 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag is None:
            return "truncated" if fields else "other"
        if _FIELDS.get(tag >> 3) != tag & 7:
            return "other"
        value, at = _varint(data, at)
        if value is None:
            return "truncated" if fields else "other"
        if tag & 7 == 2:
            at += value
        fields += 1
    return "truncated" if at > len(data) else "whole"


def _varint(data: Data, at: int) -> tuple[int | None, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return value, at
        shift += 7
    return None, at


def without_weights(data: Data) -> bytes:
    """The model with its heavy weights as external data whose place is `OWN`; offsets count from the file's start.

    Raises
    ------
    ValueError
        If the bytes are no message.
    """
    out = bytearray()
    for kind, start, value, end in _fields(data, 0, len(data)):
        if kind != _GRAPH:
            out += data[start:end]
            continue
        graph = bytearray()
        for inner, first, at, last in _fields(data, value, end):
            if last - at > _HEAVY and inner == _INITIALIZER:
                graph += _length_delimited(5, _reference(data, at, last))
            elif last - at > _HEAVY and inner == _SPARSE:
                graph += _length_delimited(15, _sparse_reference(data, at, last))
            else:
                graph += data[first:last]
        out += _length_delimited(7, graph)
    return bytes(out)


def _reference(data: Data, start: int, end: int) -> bytes | bytearray:
    """A tensor that says where its elements are in place of them; as it is where they are not simply bytes."""
    out, place, dtype = bytearray(), None, 0
    for kind, first, value, last in _fields(data, start, end):
        if kind == _RAW_DATA and place is None:
            place = value, last - value
            continue
        if kind == _DATA_TYPE:
            dtype = _varint(data, value)[0] or 0
        out += data[first:last]
    if place is None or dtype not in _WHOLE_BYTES:
        return data[start:end]
    for key, text in (("location", OWN), ("offset", str(place[0])), ("length", str(place[1]))):
        out += _length_delimited(13, _length_delimited(1, key.encode()) + _length_delimited(2, text.encode()))
    return out + bytes((14 << 3, 1))  # data_location = EXTERNAL


def _sparse_reference(data: Data, start: int, end: int) -> bytearray:
    """A sparse tensor whose heavy parts say where their elements are in place of them."""
    out = bytearray()
    for kind, first, value, last in _fields(data, start, end):
        heavy = kind in _PARTS and last - value > _HEAVY
        out += _length_delimited(kind[0], _reference(data, value, last)) if heavy else data[first:last]
    return out


def _fields(data: Data, at: int, end: int) -> Iterator[tuple[tuple[int, int], int, int, int]]:
    """Fields of a message: (number, wire type), beginning, beginning of the value, end."""
    while at < end:
        start = at
        tag, at = _varint(data, at)
        kind = (0, 0) if tag is None else (tag >> 3, tag & 7)
        value = at
        if kind[1] == 0:
            number, at = _varint(data, at)
            tag = tag if number is not None else None
        elif kind[1] == 2:
            size, value = _varint(data, at)
            at = value + (end if size is None else size)
        elif kind[1] in (1, 5):
            at += 8 if kind[1] == 1 else 4
        else:
            raise ValueError("a wire type that is not in use")
        if tag is None or at > end:
            raise ValueError("a field reaches beyond its message")
        yield kind, start, value, at


def _length_delimited(number: int, content: bytes | bytearray) -> bytes:
    return _encoded(number << 3 | 2) + _encoded(len(content)) + bytes(content)


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))
