"""The README's Python examples, as they stand there, one after the other."""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.runtime.export.linker import find_linker

README = Path(__file__).resolve().parents[1] / "README.md"


def _has_linker():
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):  # nowhere else is there an export yet
        return False
    try:
        find_linker()
    except WorkbenchError:
        return False
    return True


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    found = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == 5
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "readme"}
    if not _has_linker():
        found = [text.replace("net.export", "# net.export") for text in found]
    for text in found:
        exec(compile(text, "README.md", "exec"), names)
    assert "layout" in str(names["report"])
    assert {"share", "gflops"} <= set(names["profile"].columns)
    assert (tmp_path / "run.json").exists()
    assert names["outputs"].keys() == {s.name for s in names["net"].outputs}
    assert [str(step) for step in names["w"].schedule.trace] == ["unroll('c')"]
    names["w"].close()
    shown = capsys.readouterr().out
    assert len(re.findall(r"[\d.]+ GFLOP/s|at least [\d.]+ ms, [\d.]+ ms seen", shown)) == 2  # of a busy machine
    assert "vectorize j.1 in 32" in shown
    assert "fmla" in names["arm"].asm
    assert "static void" in shown
    assert (tmp_path / "width.tunelog.jsonl").exists()
