"""The README's Python example, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    found = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    monkeypatch.chdir(tmp_path)
    exec(compile(found.group(1), "README.md", "exec"), {"__name__": "readme"})
    shown = capsys.readouterr().out
    assert shown.count("GFLOP/s") == 2
    assert "vectorize j.1 in 32" in shown
    assert (tmp_path / "width.tunelog.jsonl").exists()
