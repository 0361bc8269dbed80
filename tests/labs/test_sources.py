"""The sources of labs: what is read, what is refused and where, and that Jupytext reads the same cells."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.labs.sources import editions, percent

SOURCES = sorted((Path(__file__).resolve().parents[2] / "notebooks" / "labs").glob("*.py"))
SMALL = """\
# %% title [markdown] tags=["slide"]
# # A lab
#
# With a text.

# %% setup
x = 1

# %% try tags=["solution"]
x = 2  # done

# %% try tags=["stub"]
x = None

# %% answer [markdown] tags=["instructor"]
# It is 2.
"""

each = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)


def test_the_cells_of_a_source():
    cells = percent.read(SMALL, "small.py")
    assert [(c.name, c.code, c.line) for c in cells] == [
        ("title", False, 1), ("setup", True, 6), ("try", True, 9), ("try", True, 12), ("answer", False, 15),
    ]  # fmt: skip
    assert cells[0].text == "# A lab\n\nWith a text."
    assert cells[2].text == "x = 2  # done"
    assert cells[0].tags == {"slide"}


def test_both_editions():
    cells = percent.read(SMALL, "small.py")
    texts = [editions.as_text(editions.edition_of(cells, name, "small")) for name in ("student", "instructor")]
    student, instructor = (nbformat.reads(text, 4) for text in texts)
    assert [c.source for c in student.cells][1:] == ["x = 1", "x = None"]
    assert [c.source for c in instructor.cells][1:] == ["x = 1", "x = 2  # done", "It is 2."]
    assert student.cells[0].metadata == {"slideshow": {"slide_type": "slide"}}
    assert instructor.cells[3].metadata == {"slideshow": {"slide_type": "notes"}, "tags": ["instructor"]}
    for text in texts:
        nbformat.validate(json.loads(text))


@pytest.mark.parametrize(
    ("source", "line", "told"),
    [
        ("x = 1\n# %% a\n", 1, "before the first cell"),
        ("# %% a\nx\n# %% Large Name\n", 3, "no name"),
        ("# %% a\nx\n# %%\ny\n", 3, "no name"),
        ("# %% a [raw]\n", 1, "not understood"),
        ("# %% a slides=3\n", 1, "not understood"),
        ('# %% a tags=["solutoin"]\n', 1, "no tag 'solutoin'"),
        ("# %% a tags=[1]\n", 1, "not understood"),
        ("# %% a tags=[\n", 1, "not understood"),
        ("# %% a\nx = 1\n%time x\n", 3, "Magics"),
        ("# %% a\n# !ls\n", 2, "Magics"),
        ("# %% a [markdown]\n# text\nno text\n", 3, "does not begin with"),
        ("# %% a\nx\n\n# %% a\ny\n", 4, "two cells"),
        ('# %% a tags=["stub"]\nx\n', 1, "has no solution"),
        ('# %% a tags=["instructor"]\nx\n', 1, "Only a text"),
    ],
)
def test_what_is_no_source_is_told_with_its_line(source, line, told):
    with pytest.raises(InputError, match=told) as caught:
        percent.read(source, "some.py")
    assert caught.value.code == "lab.source"
    assert caught.value.where == (f"some.py, line {line}",)


@given(st.text(alphabet='# %[]="atgskipmrdown\n', max_size=60))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(InputError):
        cells = percent.read(text, "any.py")
        assert sum(line.startswith("# %%") for line in text.splitlines()) == len(cells) > 0


# -------------------------------------------------------------------------------------------------- those that we ship


@each
def test_jupytext_reads_the_same_cells(path):
    jupytext = pytest.importorskip("jupytext", reason="jupytext is not installed; the extra 'test' has it")
    text = path.read_text(encoding="utf-8")
    theirs = jupytext.reads(text, fmt="py:percent").cells
    assert [
        (cell.metadata["title"], cell.cell_type == "code", cell.source, {*cell.metadata.get("tags", [])})
        for cell in theirs
    ] == [(cell.name, cell.code, cell.text, cell.tags) for cell in percent.read(text, path.name)]


@each
@pytest.mark.parametrize("edition", ["student", "instructor"])
def test_editions_are_notebooks_of_small_cells(path, edition):
    made = nbformat.reads(
        editions.as_text(editions.edition_of(percent.read(path.read_text(encoding="utf-8"), path.name), edition, "x")),
        4,
    )
    nbformat.validate(made)
    assert made.cells[0].cell_type == "markdown"
    for cell in made.cells:
        lines = cell.source.split("\n")
        assert cell.source.strip(), cell.id
        assert all(len(line) <= 128 for line in lines), cell.id
        if cell.cell_type == "code":
            assert len(lines) <= 20, cell.id
            compile(cell.source, cell.id, "exec")
        assert not re.search(r"\bTODO\b", cell.source), cell.id


@each
def test_a_student_gets_no_solution(path):
    cells = percent.read(path.read_text(encoding="utf-8"), path.name)
    secret = [c.text for c in cells if c.tags & {"solution", "instructor"}]
    shown = editions.as_text(editions.edition_of(cells, "student", path.stem[3:]))
    assert secret
    assert not any(json.dumps(text, ensure_ascii=False)[1:-1] in shown for text in secret)
