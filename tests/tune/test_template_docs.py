"""The page on templates, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workbench.space.template import TEMPLATES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "templates.md"


@pytest.fixture
def forgetting():
    before = set(TEMPLATES)
    yield
    for name in set(TEMPLATES) - before:
        del TEMPLATES[name]


def test_the_page(tmp_path, monkeypatch, capsys, forgetting):
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(found) == 6
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "templates"}
    for code in found:
        exec(compile(code.replace("trials=16", "trials=5"), "templates.md", "exec"), names)
    shown = capsys.readouterr().out
    (table,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    if names["target"].lanes("float32") == 16:
        assert squeezed(table) in squeezed(shown), "the table is printed as the page shows it"
    assert "s.vectorize('j." in shown, "of the template, or what a task gets without tuning"
    assert "does not fit elementwise: it sums nothing up." in shown
    assert "['my_softmax']" in shown
    assert set(names["values"]) == {"tile_i", "tile_j", "blocks"}
    assert 0 < names["narrow"].size < names["space"].size


def squeezed(text):
    return re.sub(r" +", " ", text)
