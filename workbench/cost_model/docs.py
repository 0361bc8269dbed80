"""The description of features and cost models, made from declarations: ``docs/features.md``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from workbench.cost_model import MODELS
from workbench.machine_model.constants import CONSTANTS, HALVES
from workbench.machine_model.features import COLUMNS, VERSION, Column
from workbench.registry import summary

_HEAD = f"""# Features and cost models

<!-- Made by `python -m workbench.documentation`; change the declarations, not this text. -->

A cost model sees a candidate as one row of {len(COLUMNS)} numbers (float32), the same for every computation. This is
version {VERSION} of the columns. The file of a model says for which version it was trained.

- Counts and bytes are stored as log2(1 + x), so that differences are ratios. Ratios and flags are stored as they are.
- The *main block* does the most work per point: the reduction, if there is one.
- Its *body* is the straight-line code inside the innermost serial loop.
- Its *register tile* is what stays in vector registers while the reduction runs.
- In a *cycle*, a core issues two vector multiply-adds.
- Loops that run once never matter.

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

Scores are log2 of operations per cycle, as far as the model knows. Higher is faster, and a difference of 1 is a factor
of 2.

- `make_model(name)` makes a model. `load(path)` reads a model that `save` has written. `make_model(path)` makes a model
  that starts from the measurements of another model, of this machine or of another machine.
- `contributions(x)` says what each column adds to a score. Together with `bias` they sum to it.
- `HeldOut` says how well predictions agreed with the measurements that followed. Seeds and candidates by hand do not
  count there. In the numbers of a session, programs that another run has measured do not count either. In
  `HeldOut.of_records(log)` they count, because a log does not say which these are.
- A class becomes a model by `@cost_model("name")`.

A file is JSON with a checksum, of at most 64 MiB. Nothing in it is executed. The library of trees sees only trees whose
every number was checked. What is wrong with a file is told as `cost_model.damaged`, `cost_model.version`,
`cost_model.features` or `cost_model.kind`.
"""

_CONSTANTS = """## Constants of the estimate

A body takes the longest of five times: its loads and arithmetic (`ports`), its instructions (`issue`), its stores, its
loop (`turn`), and the wait of sums for earlier sums.

- Sums in registers wait for each other. Those of the next register tile go ahead as far as `window` reaches.
- Sums in memory wait for their last update only (`forward`). So a sum outside of a long independent loop waits for
  nothing.
- A cache delivers what comes in order at its rate. A line at the end of a long step (down the columns of a matrix)
  costs `walk`, `far` or `memory` besides, and up to `crowded` where steps are a power of two and all lines fall into
  few sets.
- What the last cache holds is not fetched from memory again.

The constants were fitted twice. The first kind of core issues two multiply-adds of 512 bits per tick. The second kind
executes such vectors in two halves; it is recognised by a first level of 32 KiB beside bfloat16 instructions. The cost
of a single store, turn, chain or walk was measured alone on the second kind only; on the first kind it is what is
documented.

Rates of the second and third level are scaled by their reading rates where these were measured on this machine
(`measure_pace(target)` in `workbench.machine_model.machine_parameters` measures them once and keeps them). The model's
version is in every record. It ends with "fitted" or with the scales, and with "halves" on the second kind of core.
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
        ("Launches of a GPU", [c for c in COLUMNS if c.name.startswith("gpu.")]),
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
