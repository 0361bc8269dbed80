"""The pages of `docs/` that can be followed in a few seconds, as they stand there."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROOT = DOCS.parent
#: Pages that name modules and files; the changelog also tells of former names.
PAGES = [*sorted(DOCS.rglob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING"))]
#: Rooms whose names the examples give to objects: `session.pin` is a method of a run.
OBJECTS = {"graph", "registry", "schedule", "session", "space", "target"}


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
    merged = (tmp_path / "both.tunelog.jsonl").read_text().count('"n":')
    assert merged == len(names["trials"]) + 32


@functools.cache
def anchors(page: Path) -> set[str]:
    """Headings as MyST names them, names of the API, and what is named in HTML."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = (re.sub(r"[^\w\- ]", "", h.lower()).strip() for h in re.findall(r"^#+ (.*)", text, re.MULTILINE))
    return {h.replace(" ", "-") for h in headings} | set(re.findall(r'id="([\w-]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    text = re.sub(r"^(```+).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), f"{page.name} links to {target}"
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), f"{page.name} links to {target}#{anchor}"


def test_every_page_is_in_a_table_of_contents():
    pages = {p.relative_to(DOCS).with_suffix("") for p in DOCS.rglob("*.md") if p.parts[-2] not in ("design", "notes")}
    listed = {Path("index")}
    for page in DOCS.rglob("index.md"):
        for tree in re.findall(r"```{toctree}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            entries = [line for line in tree.splitlines() if line and line[0] != ":"]
            listed |= {p.relative_to(DOCS).with_suffix("") for e in entries for p in page.parent.glob(f"{e}.md")}
    assert pages == listed, "name it in docs/index.md, or in the index.md of its folder"


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
    assert shown[shown.rindex("v1\nslices") :].split()[2] == "accesses"
    assert names["script"].startswith("# matmul")
    assert names["drawing"].startswith("<svg")
    assert names["page"].name == "matmul.html"
    assert names["w"].session.closed


def test_the_page_about_the_workbench_names_panels_that_exist():
    from workbench.session.registry import PANELS

    text = (DOCS / "workbench.md").read_text(encoding="utf-8")
    table = text[text.index("| panel |") :].partition("\n\n")[0]
    assert PANELS.keys() >= set(re.findall(r"^\| `(\w+)` \| ", table, re.MULTILINE)) >= {"nest", "palette", "tuning"}


@functools.cache
def source() -> tuple[frozenset[str], str]:
    """The packages in the package, and all of its text."""
    package = ROOT / "workbench"
    rooms = frozenset(path.name for path in package.iterdir() if (path / "__init__.py").exists())
    return rooms, "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))


def exists(name: str) -> bool:
    """Whether a dotted name is a module of the package, or a name in one."""
    module, _, attribute = name.rpartition(".")
    if not module:
        return False
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        try:
            return hasattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError:
            return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page: Path) -> None:
    text, package, (rooms, sources) = page.read_text(encoding="utf-8"), ROOT / "workbench", source()
    for path in re.findall(r"(?<![\w./-])((?:workbench|tests|docs|notebooks|extensions)/[\w./*-]+)", text):
        found = any(ROOT.glob(path.rstrip("."))) or "NAME" in path or "workbench-notebooks" in path
        assert found, f"there is no {path}"
    for path in re.findall(rf"`((?:{'|'.join(rooms)})/[\w/]+\.py)`", text):
        assert (package / path).exists(), f"there is no workbench/{path}"
    for name in re.findall(r"`(?:workbench\.)?([a-z_]+(?:\.\w+)+)", text):
        if page.name == "error-codes.md":
            break  # errors speak of the objects of whoever reads them
        room, part, *_ = name.split(".")
        object_of_an_example = room in OBJECTS and not (package / room / part).is_dir()
        code = f'"{name}"' in sources or f"``{name}``" in sources  # of an error
        if room in rooms and not object_of_an_example and not code and not name.endswith((".md", ".py", ".json")):
            assert exists(f"workbench.{name}"), f"there is no workbench.{name}"


def test_hand_ins(tmp_path, monkeypatch, capsys):
    (code,) = blocks("teaching/hand-ins.md")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "hand-ins.md", "exec"), {})
    assert re.fullmatch(r"2(\.0)? of \d+ genuine: True\n", capsys.readouterr().out)
