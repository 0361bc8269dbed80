"""The Python of the README and of the page on networks, as it stands there, one after the other."""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.runtime.export.linker import find_linker

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/networks.md", "docs/concepts/device.md")


def _has_linker():
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):  # nowhere else is there an export yet
        return False
    try:
        find_linker()
    except WorkbenchError:
        return False
    return True


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    found = [block for text in texts for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]
    assert len(found) == 6
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "readme"}
    if not _has_linker():
        found = [text.replace("net.export", "# net.export") for text in found]
    for text in found:
        exec(compile(text, "a page", "exec"), names)
    assert "layout" in str(names["report"])
    assert {"share", "gflops"} <= set(names["profile"].columns)
    assert (tmp_path / "run.json").exists()
    assert names["outputs"].keys() == {s.name for s in names["net"].outputs}
    assert [str(step) for step in names["w"].schedule.trace] == ["unroll('c')"]
    names["w"].close()
    shown = capsys.readouterr().out
    assert len(re.findall(r"[\d.]+ GFLOP/s|at least [\d.]+ ms, [\d.]+ ms seen", shown)) == 2  # of a busy machine
    assert "vectorize j.1 in 32" in shown
    assert "fmadd" in names["arm"].asm
    assert (tmp_path / "width.tunelog.jsonl").exists()
