"""Pages on what is declared: primitives, operators, graph passes, commands."""

from __future__ import annotations

import inspect

from workbench.documentation.commands import command_page
from workbench.documentation.docstrings import line, to_markdown
from workbench.documentation.examples import EXAMPLES
from workbench.documentation.nest_picture import before_and_after, style_sheet
from workbench.graph import opdef
from workbench.graph.opdef import OpDef
from workbench.graph.passes.base import Pass
from workbench.graph.passes.pipeline import list_passes
from workbench.registry import summary
from workbench.schedule import Schedule
from workbench.schedule.primitive import COMMON_CODES, Primitive, registry

MADE = "<!-- Made by `python -m workbench.documentation`; change the declarations, not this text. -->"

_PRIMITIVES = f"""# Primitives

{MADE}

A primitive is one kind of step of a [schedule](../concepts/schedule.md). Each is a method of
[`Schedule`](api/workbench.md#schedule). Every step is checked: it keeps what the nest computes, or it is
[refused](../refused-steps.md) with one of the codes below.

In the drawings a frame is a loop around what runs in it; a bar at the right edge marks the lines that the step changed.
"""

_CATEGORIES = {
    "loop": "Loops",
    "annotation": "How a loop runs",
    "placement": "Where a stage is computed",
    "memory": "Temporaries",
    "layout": "Layout",
    "algorithm": "Algorithm",
}


def primitive_pages() -> dict[str, str]:
    """Return the page on primitives, its drawings and their colours, by their place in ``docs/``."""
    parts = [_PRIMITIVES]
    files = {"_static/drawing.css": style_sheet()}
    for category, title in _CATEGORIES.items():
        declared = [p for p in registry if p.category == category]
        parts.append(f"## {title}\n\n" + ", ".join(f"[`{p.name}`](#{p.name})" for p in declared))
        for one in declared:
            before, after = EXAMPLES[one.name].schedules()
            files[f"reference/drawings/{one.name}.html"] = before_and_after(before, after, one.name)
            parts.append(_primitive(one))
    codes = "\n".join(f"| `{code}` | {line(text)} |" for code, text in COMMON_CODES.items())
    parts.append(f"## Codes of any primitive\n\n| Code | When |\n|---|---|\n{codes}\n")
    return {"reference/primitives.md": "\n\n".join(parts), **files}


def _primitive(one: type[Primitive]) -> str:
    def resolve(name: str) -> str:
        return f"workbench.Schedule.{name}" if hasattr(Schedule, name) and name[0] != "_" else ""

    codes = "\n".join(f"| `{code}` | {line(text)} |" for code, text in one.codes.items())
    usage = f"{{py:meth}}`s.{one.name}({', '.join(f.name for f in one.fields())}) <workbench.Schedule.{one.name}>`"
    return "\n\n".join([
        f"### {one.name}", usage, to_markdown(inspect.getdoc(one) or "", resolve),
        f"```python\n{EXAMPLES[one.name].source()}\n```",
        f"```{{raw}} html\n:file: drawings/{one.name}.html\n```",
        f"| Refused with | When |\n|---|---|\n{codes}",
    ])  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- operators

_OPERATORS = f"""# Operators

{MADE}

Operators of ONNX that are declared here. One that is *a runtime kernel* is machine code with loops and branches of its
own; there is nothing to tune. One that is *not tunable* runs by its reference in NumPy, between two kernels, unless a
[pass](passes.md) has written it with other operators, as it does with recurrences. Any other operator of
the standard runs by the reference of the `onnx` package, and is not tunable either.
[Bringing a model in](../importing.md) says what is refused, and why.

*Fusion* says what a kernel may hold beside it: an `injective` operator joins its neighbours, a `reduction` or `complex`
one takes injective ones behind it, an `opaque` one stands alone.

| Operator | What it computes | Fusion | |
|---|---|---|---|
"""


def operator_page() -> str:
    """Return the page on operators."""

    def row(name: str, op: OpDef) -> str:
        runtime, nest = type(op).kernel is not OpDef.kernel, type(op).lower is not OpDef.lower
        facts = {
            "a runtime kernel": runtime,
            "not tunable": not runtime and not nest,
            "elementwise": op.elementwise,
            "a view": op.view,
            "random": op.random,
            "any layout": op.image,
        }
        words = ", ".join(word for word, holds in facts.items() if holds)
        inherited = inspect.getdoc(op) == inspect.getdoc(OpDef)
        doc = "" if inherited else summary(op)
        return f'| <span id="{name.lower()}"></span>`{name}` | {line(doc) or op.word} | {op.fusion} | {words} |'

    return _OPERATORS + "\n".join(row(name, op) for name, op in opdef.registry().items()) + "\n"


# -------------------------------------------------------------------------------------------------------------- passes

_PASSES = f"""# Graph passes

{MADE}

`Graph.optimize` runs these from top to bottom. Every output keeps its name, its type and its value. `Graph.explain`
says what each of them changed in a model, and why; `optimize(without="layout")` leaves one out, and with it those that
need it.

```python
import workbench as wb

graph = wb.load_onnx("light_squeezenet")
print(graph.explain())
```

| Pass | What it does | Needs |
|---|---|---|
"""


def pass_page() -> str:
    """Return the page on graph passes, in the order in which they run."""

    def row(one: Pass) -> str:
        off = "" if one.default else " Not run unless it is named."
        needs = ", ".join(f"`{name}`" for name in one.requires)
        return f'| <span id="{one.name}"></span>`{one.name}` | {line(one.doc)}{off} | {needs} |'

    return _PASSES + "\n".join(map(row, list_passes())) + "\n"


def declared_pages() -> dict[str, str]:
    """Return all of them by their place in ``docs/``."""
    return {
        **primitive_pages(),
        "reference/operators.md": operator_page(),
        "reference/passes.md": pass_page(),
        "reference/command-line.md": command_page(),
    }
