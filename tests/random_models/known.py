"""Differences that are not ours: what onnxruntime gets wrong, or what the standard leaves open.

An entry names an operator and says when it applies, and why. Everything else that differs is a fault of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onnx import helper

from random_models.draft import Draft, Step


@dataclass(frozen=True)
class Entry:
    """Operators, a condition on the node, and the reason."""

    operators: str
    applies: Callable[[Draft, Step, dict[str, Any]], bool]
    reason: str


TABLE: tuple[Entry, ...] = ()


def excuse(draft: Draft, step: Step, culprit: str) -> str:
    """Why a difference that a node makes is not ours; "" where it is."""
    op = step.proto.op_type
    if culprit not in (op, "together"):
        return ""
    attrs = {a.name: helper.get_attribute_value(a) for a in step.proto.attribute}
    found = (e for e in TABLE if op in e.operators.split() and e.applies(draft, step, attrs))
    entry = next(found, None)
    return f"{op}: {entry.reason}" if entry else ""
