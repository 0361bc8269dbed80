"""Pages that follow from declarations are those of the declarations, and leave nothing out."""

from __future__ import annotations

import html.parser
import inspect
import re
import types
from pathlib import Path

import pytest

import workbench
from workbench import errors, labs
from workbench.cli.parser import parsers
from workbench.documentation import performance
from workbench.documentation.docstrings import to_markdown
from workbench.documentation.error_codes import error_codes
from workbench.documentation.examples import EXAMPLES
from workbench.documentation.pages import made_pages
from workbench.errors import WorkbenchError
from workbench.graph.opdef import registry as operators
from workbench.graph.passes.base import passes
from workbench.schedule.primitive import registry as primitives

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return made_pages()


def test_they_are_current(pages):
    written = {p.relative_to(DOCS).as_posix() for p in (DOCS / "reference").rglob("*.*")}
    other = {n for n in pages if not (DOCS / n).exists() or (DOCS / n).read_text(encoding="utf-8") != pages[n]}
    assert not other | (written - pages.keys()), "run python -m workbench.documentation"


def public(module: types.ModuleType, name: str) -> dict[str, types.ModuleType]:
    """Modules that are reached from one through ``__all__``."""
    found = {name: module}
    for attribute in getattr(module, "__all__", ()):
        value = getattr(module, attribute)
        if isinstance(value, types.ModuleType):
            found |= public(value, f"{name}.{attribute}")
    return found


MODULES = {**public(workbench, "workbench"), **public(labs, "workbench.labs")}


def test_the_usual_modules_are_public():
    assert {"te", "workloads", "analysis", "logs", "logs.analysis", "advice", "labs"} <= {m[10:] for m in MODULES}


@pytest.mark.parametrize("full", MODULES)
def test_every_public_name_has_an_entry(pages, full):
    found = MODULES[full]
    page = pages[f"reference/api/{full}.md"]
    names = getattr(found, "__all__", ())
    for name in names:
        assert f"\n## {name}\n" in page, name
        value = getattr(found, name)
        if isinstance(value, types.ModuleType):
            assert f"reference/api/{full}.{name}.md" in pages
        else:
            assert re.search(rf"^`+{{py:\w+}} {name}(\(|$)", page, re.M), name
    for name, cls in inspect.getmembers(found, inspect.isclass):
        if name in names:
            for method in (n for n, v in vars(cls).items() if n[0] != "_" and inspect.isfunction(v) and v.__doc__):
                assert f"}} {name}.{method}(" in page


def test_every_declaration_has_an_entry(pages):
    text = pages["reference/primitives.md"]
    for one in primitives:
        assert f"\n### {one.name}\n" in text
        assert all(f"| `{code}` |" in text for code in one.codes)
    assert all(f"`{name}` |" in pages["reference/operators.md"] for name in operators())
    assert all(f"`{name}` |" in pages["reference/passes.md"] for name in passes())
    _, commands = parsers([])
    assert all(f"\n## workbench {name}\n" in pages["reference/command-line.md"] for name in commands)
    assert "`-o, --output OUT`" in pages["reference/command-line.md"]


def test_examples_show_a_change(pages):
    for name, example in EXAMPLES.items():
        before, after = example.schedules()
        assert after.trace[-1].name == name
        assert after.trace[:-1] == before.trace
        drawn = pages[f"reference/drawings/{name}.html"]
        well_formed(drawn)
        assert drawn.count("<svg") == 2
        assert "--wb-soft" in drawn, "what changed is marked"
        assert len(drawn) < 40_000


def well_formed(text: str) -> None:
    """Every tag is closed where it should be."""
    stack: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            stack.append(tag)

        def handle_endtag(self, tag):
            assert stack.pop() == tag

        def handle_startendtag(self, tag, attrs):
            pass

    Reader().feed(text)
    assert not stack


def test_a_docstring_becomes_markdown():
    text = inspect.cleandoc(
        """Say it of `known` and `other`, a*b <c> in ``code``::

            x  <  y

            z

        - one
        - two

        Parameters
        ----------
        a, b : str or None
            First.

            Second.
        c
            Third with `known`.

        Examples
        --------
        >>> 1 + 1
        2
        """
    )
    made = to_markdown(text, lambda name: f"full.{name}" if name == "known" else "")
    assert "{py:obj}`known <full.known>` and `other`, a\\*b \\<c\\> in ``code``:" in made
    assert "```text\nx  <  y\n\nz\n```" in made
    assert "`a, b` – str or None\n: First.\n\n  Second.\n\n`c`\n: Third with {py:obj}`known <full.known>`." in made
    assert "```pycon\n>>> 1 + 1\n2\n```" in made


def test_measured_figures_say_where_and_when_they_were_taken(monkeypatch):
    monkeypatch.setattr(performance.Target, "peak_gflops", lambda self, remeasure=False: 100.0)
    shape = r"## Figures of 20\d\d-\d\d-\d\d\n\n.+ cores, L1 \d+ KiB.*;\npeak of one core \d+ GFLOP/s \(measured\);\n"
    made = performance.page([("One table", [performance.Figure("this", "2 ms", "that")])])
    for text in (made, (DOCS / "performance.md").read_text(encoding="utf-8")):
        assert re.search(shape, text)
    assert made.endswith("### One table\n\n| What | Figure | |\n|---|---|---|\n| this | 2 ms | that |\n")
    (build,) = [f for f in performance.tools() if f.what.startswith("machine code")]
    assert build.value.endswith("ms")


def test_every_code_that_a_test_has_met_is_on_the_page_of_codes(pages):
    page, met = pages["reference/error-codes.md"], set()
    for path in Path(__file__).parents[1].rglob("test_*.py"):
        met |= set(re.findall(r'code == "([a-z_]+\.[a-z_0-9]+)"', path.read_text(encoding="utf-8")))
    assert len(met) > 200
    assert not {code for code in met - {"test.order"} if f'<span id="{code}"></span>' not in page}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: labs.open("no such lab"),
        lambda: labs.open("tiling").traffic.hint(99),
        lambda: labs.open("tiling").traffic.predict(naive="3 apples"),
        lambda: workbench.Target("llvm -threads=0"),
        lambda: workbench.load_onnx("no such file.onnx"),
        lambda: workbench.workloads.matmul(0, 1, 1),
    ],
)
def test_what_is_raised_is_what_the_page_says(wrong):
    with pytest.raises(WorkbenchError) as caught:
        wrong()
    error = caught.value
    said = error_codes()[error.code]
    assert any(isinstance(error, getattr(errors, name)) for name in said.errors)
    assert any(re.fullmatch(".*".join(map(re.escape, text.split("…"))), error.message, re.S) for text in said.messages)


def test_texts_of_a_code_begin_with_its_own_and_have_no_argument_that_was_not_given():
    assert error_codes()["usage.pass"].messages[0] == "There is no pass number …"
    assert not [code for code, one in error_codes().items() if any("at least None" in text for text in one.messages)]
