"""The description of the features is that of the columns."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.cost_model import MODELS
from workbench.cost_model.docs import documentation
from workbench.machine_model.features import COLUMNS
from workbench.registry import summary

FILE = Path(__file__).parents[2] / "docs" / "features.md"


def test_every_column_is_described_once():
    found = re.findall(r"^\| `([\w.]+)` \| (as it is|log2\(1 \+ x\)) \| (.{5,}) \|$", documentation(), re.M)
    assert sorted(found) == sorted((c.name, "log2(1 + x)" if c.log else "as it is", c.doc) for c in COLUMNS)
    for name, kind in MODELS.items():
        assert f"| `{name}` | {summary(kind)} |" in documentation()


def test_the_example_runs():
    (text,) = re.findall(r"```python\n(.*?)```", documentation(), re.S)
    names: dict[str, object] = {}
    exec(compile(text, str(FILE), "exec"), names)
    assert names["x"].shape == (100, len(COLUMNS))
    assert 0 < names["registers"].min() <= names["registers"].max() <= 4
