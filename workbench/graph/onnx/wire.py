"""Telling a damaged ONNX file from something else, by the outermost layer of its protobuf encoding."""

from __future__ import annotations

from typing import Literal

#: Wire type of the fields of ModelProto: ir_version, producer, version, domain, model version, doc, graph, opsets, ...
_FIELDS = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}


def diagnose(data: bytes) -> Literal["whole", "truncated", "other"]:
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


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return value, at
        shift += 7
    return None, at
