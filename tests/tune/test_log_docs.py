"""The description of the log format is that of the format."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

from workbench.log import Header, load_log
from workbench.log.docs import documentation
from workbench.log.lines import KINDS

FILE = Path(__file__).parents[2] / "docs" / "log-format.md"


def test_the_file_is_current():
    assert FILE.read_text(encoding="utf-8") == documentation(), "run python -m workbench.log.docs > docs/log-format.md"


def test_every_field_of_every_kind_is_described():
    sections = dict(re.findall(r"## `(\w+)`\n(.*?)(?=\n## |\Z)", documentation(), re.DOTALL))
    assert set(sections) == {*KINDS, "header"}
    for kind, cls in {**KINDS, "header": Header}.items():
        for item in dataclasses.fields(cls):
            if item.name != "extra":
                assert re.search(rf"^\| `{item.name}` \| [^|]+ \| [^|]{{4,}} \|$", sections[kind], re.M), item.name


def test_the_examples_are_a_log(tmp_path):
    lines = re.findall(r"```json\n(.*)\n```", documentation())
    (tmp_path / "a.tunelog.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    log = load_log(tmp_path / "a.tunelog.jsonl")
    assert log.header is not None
    assert [line.kind for line in log.lines] == list(KINDS)
    for line, text in zip(log.lines, lines[1:], strict=True):
        assert json.loads(text).items() <= line.to_json().items()
