"""Examples of operators: control."""

from __future__ import annotations

import numpy as np
from graph.examples.case import Case, cases

from workbench.graph.graph import AttrValue, Node
from workbench.graph.model import Declared, Program
from workbench.graph.ops.control import If, Loop, Scan

_TWICE = Node("twice", "Add", ("v", "v"), ("w",))


@cases.register
def _if(op: If) -> list[Case]:
    branch = Program("outer", (Node("half", "Identity", ("outer",), ("w",)),), (), ("w",), {}, ("outer",))
    other = Program("negated", (Node("neg", "Neg", ("outer",), ("w",)),), (), ("w",), {}, ("outer",))
    attrs: dict[str, AttrValue] = {"then_branch": branch, "else_branch": other, "captures": ("outer",)}
    x = np.arange(6, dtype=np.float32)
    return [
        Case(label, (np.array(cond), x), attrs, names=("cond", "outer"))
        for label, cond in (("then", True), ("else", False))
    ]


@cases.register
def _loop(op: Loop) -> list[Case]:
    ins = (Declared("i", "int64", ()), Declared("c", "bool", ()), Declared("v", "float32", None))
    nodes = (_TWICE, Node("copy", "Identity", ("w",), ("s",)), Node("on", "Identity", ("c",), ("d",)))
    body = Program("body", nodes, ins, ("d", "w", "s"))
    return [Case("three times", (np.array(3), np.array(True), np.ones(2, np.float32)), {"body": body}, outputs=2)]


@cases.register
def _scan(op: Scan) -> list[Case]:
    ins = (Declared("a", "float32", None), Declared("b", "float32", None))
    nodes = (Node("sum", "Add", ("a", "b"), ("s",)), Node("out", "Identity", ("s",), ("t",)))
    body = Program("body", nodes, ins, ("s", "t"))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    return [Case("sums", (np.zeros(2, np.float32), x), {"body": body, "num_scan_inputs": 1}, outputs=2)]
