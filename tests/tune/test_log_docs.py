"""The description of the log format is that of the format."""

from __future__ import annotations

import dataclasses
import json
import re

from workbench.log import Header, load_log
from workbench.log.docs import documentation
from workbench.log.lines import KINDS
from workbench.log.rows import SHORT, SPECIAL, Shared


def test_every_field_of_every_kind_is_described():
    sections = dict(re.findall(r"## `(\w+)`\n(.*?)(?=\n## |\Z)", documentation(), re.DOTALL))
    assert set(sections) == {*KINDS, "header", "shared", "row"}
    for kind, cls in {**KINDS, "header": Header, "shared": Shared}.items():
        for item in dataclasses.fields(cls):
            if item.name != "extra":
                assert re.search(rf"^\| `{item.name}` \| [^|]+ \| [^|]{{4,}} \|$", sections[kind], re.M), item.name
    for name in {*SHORT, *SPECIAL}:
        assert re.search(rf"^\| `{name}` \| [^|]{{4,}} \|$", sections["row"], re.M), name


def test_the_examples_are_a_log(tmp_path):
    blocks = re.findall(r"```json\n(.*?)\n```", documentation(), re.DOTALL)
    (tmp_path / "a.tunelog.jsonl").write_text("\n".join(blocks) + "\n", encoding="utf-8")
    log = load_log(tmp_path / "a.tunelog.jsonl")
    assert log.header is not None
    first, row, *others = log.lines
    assert [line.kind for line in (first, *others)] == list(KINDS)
    assert row == first  # a row says what the whole line says
    whole = [text for text in blocks[1:] if '"kind"' in text]
    for line, text in zip((first, *others), whole, strict=True):
        assert json.loads(text).items() <= line.to_json().items()
