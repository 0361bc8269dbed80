"""Processors: code through LLVM, and portable C."""

from __future__ import annotations

from workbench.target_kinds.declaration import TargetKind, target_kinds

target_kinds.add(TargetKind("llvm", "A processor, through LLVM.", processor=True))
target_kinds.add(TargetKind("c", "A processor, as portable C for the system's compiler.", processor=True))
