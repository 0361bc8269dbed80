"""The heavy dependencies stay where they belong. That imports go one way: `test_static`."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(workbench.__file__).parent
#: External package -> the modules that may import it, anywhere in their text.
ALLOWED = {
    "llvmlite": {"codegen.llvm.llvmlite_binding"},
    "onnx": {"graph.onnx", "model_files", "graph.seeded_weights", "onnx_backend", "zoo"},
    "torch": {"torch_backend"},
    "xgboost": {"cost_model"},
    "anywidget": {"widgets"},
    "ipywidgets": {"widgets"},
    "plotly": {
        "widgets",
        "analysis",
        "logs.analysis",
        "logs.replays.explaining",
        "logs.replays.both_times",
        "logs.simulation",
    },
}

#: Speaks over private pipes with processes that it started itself; nothing that comes from a file.
MAY_PICKLE = {"runtime.workers.pipe"}


PICKLING = ("pickle", "marshal", "shelve", "dill")
#: Without one of these words in its text, a module does nothing that is asked about here.
WORDS = re.compile("|".join([*ALLOWED, *PICKLING, r"\beval\b"]))


@functools.cache
def modules():
    """Modules that have one of the words: their names, and the nodes of their texts; read once."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        if not WORDS.search(text):
            continue
        nodes = ast.walk(ast.parse(text))
        found.append((name, [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom | ast.Call)]))
    return found


def imported(nodes: list[ast.AST]):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node, node.module or ""


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_heavy_dependency_is_imported_in_few_places(package):
    users = {name for name, nodes in modules() for _, target in imported(nodes) if target.partition(".")[0] == package}
    outside = {u for u in users if not any(u == a or u.startswith(a + ".") for a in ALLOWED[package])}
    assert not outside


def test_nothing_is_evaluated_or_unpickled():
    found = []
    for name, nodes in modules():
        if name not in MAY_PICKLE:
            found += [(name, t) for _, t in imported(nodes) if t in PICKLING]
        found += [
            (name, node.func.id)
            for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "eval"
        ]
    assert not found
