"""The description of features and cost models, made from declarations (``python -m workbench.cost_model.docs``)."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable

from workbench.cost_model import MODELS
from workbench.machine_model.constants import CONSTANTS, HALVES
from workbench.machine_model.features import COLUMNS, VERSION, Column
from workbench.registry import summary

_HEAD = f"""# Features and cost models

<!-- Made by `python -m workbench.cost_model.docs`; change the declarations, not this text. -->

A cost model sees a candidate as one row of {len(COLUMNS)} numbers (float32), the same for every computation. This is
version {VERSION} of the columns; a model's file says for which version it was trained.

Counts and bytes are stored as log2(1 + x), so that differences are ratios; ratios and flags are stored as they are. The
*main block* is the one that does the most work per point: the reduction, if there is one. Its *body* is the
straight-line code inside the innermost serial loop, its *register tile* what stays in vector registers while the
reduction runs. A *cycle* is one in which a core issues two vector multiply-adds. Loops that run once never matter.

```python
import numpy as np
from workbench import workloads
from workbench.machine_model.features import INDEX
from workbench.space.space import make_space

variant = make_space(workloads.matmul(512, 512, 512, constant_b=True)).variants[0]
x = variant.features(variant.sampler.draw(100, np.random.default_rng(0)))  # [100, {len(COLUMNS)}]
registers = x[:, INDEX["main.registers"]]
```
"""

_MODELS = """## Cost models

Scores are log2 of operations per cycle, as far as the model knows: higher is faster, and a difference of 1 is a factor
of 2. `make_model(name)` makes one, `load(path)` reads one that `save` has written, `make_model(path)` makes one that
starts from what that one has measured, on this machine or another. `contributions(x)` says what each column adds to a
score (they and `bias` sum to it), and `HeldOut` how well predictions agreed with the measurements that followed. Seeds
and candidates by hand do not count there. Nor do programs that another run has measured in the numbers of a session; in
`HeldOut.of_records(log)` they do, because a log does not say which these are. A class of one's own becomes a model by
`@cost_model("name")`.

A file is JSON with a checksum, of at most 64 MiB. Nothing in it is executed, and the library of trees sees nothing of
it but trees whose every number was looked at; what is wrong with a file is told as `cost_model.damaged`,
`cost_model.version`, `cost_model.features` or `cost_model.kind`.
"""

_CONSTANTS = """## Constants of the estimate

A body takes what is longest of its loads and arithmetic (`ports`), its instructions (`issue`), its stores, its loop
(`turn`) and the wait of sums for those before. Sums in registers wait for each other, but those of the next register
tile go ahead as far as `window` reaches; sums in memory wait for their last update only (`forward`), so a sum outside
of a long independent loop waits for nothing. A cache delivers what comes in order at its rate; a line at the end of a
long step (down the columns of a matrix) costs `walk`, `far` or `memory` besides, and up to `crowded` where steps are a
power of two and all lines fall into few sets. What the last cache holds is not fetched from memory again.

Fitted twice: for cores with two multiply-adds of 512 bits per tick, and for cores that execute such vectors in
two halves (recognised by a first level of 32 KiB beside bfloat16 instructions). What a single store, turn, chain or
walk costs was measured alone on the second kind only; on the first it is what is documented. What comes from the second
and third level is scaled by their reading rates where these were measured on this machine (`measure_pace(target)` in
`workbench.machine_model.machine_parameters` measures them once and keeps them); the model's version, which is in every
record, ends with "fitted" or with the scales, and with "halves" on the second kind of core.
"""


def documentation() -> str:
    """Return ``docs/features.md``."""
    parts = [_HEAD]
    groups = (
        ("The whole function", [c for c in COLUMNS if "." not in c.name]),
        ("The main block", [c for c in COLUMNS if c.name.count(".") == 1 and c.name.startswith("main.")]),
        ("Accesses of the main block", [c for c in COLUMNS if c.name.count(".") == 2]),
        ("Blocks before the main one, all together", [c for c in COLUMNS if c.name.startswith("before.")]),
        ("Blocks after the main one, all together", [c for c in COLUMNS if c.name.startswith("after.")]),
    )
    for title, columns in groups:
        parts.append(f"## {title}\n\n{_table(columns)}")
    rows = [f"| `{name}` | {summary(model)} |" for name, model in MODELS.items()]
    parts.append(_MODELS + "\n| name | what it is |\n|---|---|\n" + "\n".join(rows) + "\n")
    names = [f.name for f in dataclasses.fields(CONSTANTS)]
    values = [f"| `{name}` | {getattr(CONSTANTS, name):g} | {getattr(HALVES, name):g} |" for name in names]
    parts.append(_CONSTANTS + "\n| constant | two | halves |\n|---|---|---|\n" + "\n".join(values) + "\n")
    return "\n".join(parts)


def _table(columns: Iterable[Column]) -> str:
    rows = [f"| `{c.name}` | {'log2(1 + x)' if c.log else 'as it is'} | {c.doc} |" for c in columns]
    return "| column | stored | what it says |\n|---|---|---|\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(documentation())
