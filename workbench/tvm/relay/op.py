"""Operators by their names."""

from __future__ import annotations


def get(name: str) -> str:
    """An operator for `autotvm.task.extract_from_program`: ``"nn.conv2d"``, ``"nn.dense"``."""
    return name
