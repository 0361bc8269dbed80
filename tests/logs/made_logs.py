"""Tables of records for the tests of analyses, made from a few numbers."""

from __future__ import annotations

from workbench.logs.evaluation import Evaluation
from workbench.logs.opening import records_frame


def records(params, values, run="run", **more):
    """Records with these parameters; None for a failure. Other fields hold for all, or are a list."""
    rows = []
    for k, (one, value) in enumerate(zip(params, values, strict=True)):
        each = {key: item[k] if isinstance(item, list) else item for key, item in more.items()}
        each = {"unit": "ms", "status": "ok" if value is not None else "run", **each}
        rows.append(Evaluation(params=one, value=value, **each))
    return records_frame(rows, run)


def grid(**values):
    """All combinations of the parameters' values."""
    out = [{}]
    for name, some in values.items():
        out = [{**one, name: value} for one in out for value in some]
    return out
