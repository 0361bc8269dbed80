"""The page on importing lists the codes that there are, all of them and no others."""

from __future__ import annotations

import re
from pathlib import Path

import workbench

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "importing.md").read_text(encoding="utf-8")
SOURCES = list(Path(workbench.__file__).parent.joinpath("graph").rglob("*.py"))
#: Told about calls, files to write, quantising and made-up weights; not about a model that comes in.
ELSEWHERE = {
    "model.unknown_tensor", "model.unknown_node", "model.unwritable", "model.not_writable", "model.already_quantised",
    "model.optimised",
}  # fmt: skip


def raised():
    """Codes in the sources: written whole, or as the end that `Call.error` completes."""
    text = "\n".join(p.read_text(encoding="utf-8") for p in SOURCES)
    whole = re.findall(r'"(model\.[a-z_]+)"', text)
    return {*whole, *(f"model.{end}" for end in re.findall(r'error\(\s*"([a-z_]+)"', text))}


def test_every_code_is_on_the_page_and_none_that_is_not_there():
    listed = set(re.findall(r"`(model\.[a-z_]+)`", PAGE))
    found = {code for code in raised() if not code.startswith("model.fill")}
    assert listed - found == set()
    assert found - listed - ELSEWHERE == set()


def test_links_and_python_on_the_page():
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        compile(code, "importing.md", "exec")
