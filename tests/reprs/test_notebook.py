"""A notebook that was run, saved and turned into a page: all is readable, without a kernel and without widgets."""

from __future__ import annotations

import html
import re

import pytest

CELLS = [
    "import workbench as wb\nfrom workbench.log.reader import to_frame\nfrom workbench.log.record import Record\n"
    "s = wb.Schedule(wb.workloads.matmul(64, 64, 64))",
    "s.split('j', [None, 16])\ns.parallel('i')",
    "wb.Task.of_schedule(s)",
    "wb.Workbench(s, auto_measure=False)",
    "to_frame([Record(task_key='k', task='task k', trial=0, status='timeout', target='llvm', error='too slow')])",
    "s.split('k', [None, 7])",
]


@pytest.fixture(scope="module")
def notebook():
    nbclient, nbformat = map(pytest.importorskip, ("nbclient", "nbformat"))
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbclient.NotebookClient(book, timeout=120, allow_errors=True, store_widget_state=False).execute()
    return book


def outputs(notebook, number):
    return notebook.cells[number].outputs


def test_every_object_has_a_plain_text_too(notebook):
    for number in (1, 2, 3, 4):
        (data,) = (o.data for o in outputs(notebook, number) if o.output_type == "execute_result")
        assert data["text/plain"].strip()
        assert data["text/html"].startswith("<div")
        assert "object at 0x" not in data["text/plain"]


def test_an_error_is_a_few_lines(notebook):
    (error,) = outputs(notebook, 5)
    assert error.ename == "ScheduleError" or error.ename.endswith("Refusal")
    assert len(error.traceback) <= 6
    assert "7 does not divide" in "\n".join(error.traceback)
    assert not any("site-packages" in line or "schedule.py" in line for line in error.traceback)


def test_the_converted_page_shows_all_of_it(notebook):
    nbconvert = pytest.importorskip("nbconvert")
    page, _ = nbconvert.HTMLExporter(template_name="lab", embed_images=False).from_notebook_node(notebook)
    text = html.unescape(re.sub(r"<[^>]*>", "", page.partition("<body")[2]))
    for wanted in (
        "Schedule matmul", "split('j', [None, 16])", "j.1", "Task matmul", "Workbench", "Loop nest", "Tuning log",
        "timeout: too slow", "7 does not divide",
    ):  # fmt: skip
        assert wanted in text, wanted
    assert "application/vnd.jupyter.widget-view+json" not in page
