"""Sketch rules: how a space of schedules comes from a computation alone."""

from __future__ import annotations

from .base import RULES, Draft, Note, Rule, sketches

__all__ = ["RULES", "Draft", "Note", "Rule", "sketches"]
