"""The pages of `docs/` that can be followed in a few seconds, as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def test_tuning(tmp_path, monkeypatch, capsys):
    found = blocks("tuning.md")
    assert len(found) == 7
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "tuning"}
    for code in found:
        exec(compile(code, "tuning.md", "exec"), names)
    shown = capsys.readouterr().out
    assert names["session"].state == "done"
    assert names["best"].is_concrete
    assert "tile" in shown, "the space explains itself"
    assert len(names["narrow"].records) == 12
    assert any(r.origin in ("seed", "transfer", "manual") for r in names["again"].records)
    assert {c.name for c in names["session"].steered if c.accepted} >= {"epsilon", "budget", "add", "forbid", "release"}
    assert len(names["decisions"]) > 0
    merged = (tmp_path / "both.tunelog.jsonl").read_text().count('"kind":"trial"')
    assert merged == len(names["trials"]) + 32


def test_links():
    for page in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_workbench(tmp_path, monkeypatch, capsys):
    found = blocks("workbench.md")
    assert len(found) == 5
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "workbench"}
    for code in found:
        exec(compile(code, "workbench.md", "exec"), names)
    shown = capsys.readouterr().out
    assert "rows in parallel" in shown
    assert "parallel i" in shown, "the difference of two variants"
    assert "patch ['" in shown
    assert shown.splitlines()[-1] == "v1"
    assert names["script"].startswith("# matmul")
    assert names["drawing"].startswith("<svg")
    assert names["page"].name == "matmul.html"
    assert names["w"].session.closed


def test_the_page_about_the_workbench_names_all_there_is():
    from workbench.session.registry import COMMANDS, PANELS, QUESTIONS, SLICES

    text = (DOCS / "workbench.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (slices|commands|questions) \| (.*) \|$", text, re.MULTILINE))
    for kind, declared in (("slices", SLICES), ("commands", COMMANDS), ("questions", QUESTIONS)):
        assert re.findall(r"`(\w+)`", rows[kind]) == sorted(declared), kind
    assert set(re.findall(r"^\| `(\w+)` \| ", text, re.MULTILINE)) >= set(PANELS)
