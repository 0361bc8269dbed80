"""`blockize`."""

from __future__ import annotations

from property.mutation import mutation

WEIGHT = (0.1, 0.7)

MUTATIONS = (
    mutation(
        "blockize",
        "workbench.schedule.legality.invariants",
        "loops may be put into a unit",
        "if now is not None and list(_skeleton(now)) == list(_skeleton(unit)):",
        "if True:",
    ),
    mutation(
        "blockize",
        "workbench.schedule.legality.invariants",
        "what is inside may be named",
        "if s.name in wanted:",
        "if False:",
    ),
    mutation(
        "blockize",
        "workbench.schedule.primitives.blockize",
        "the mark is on the loops inside",
        "lambda x: (replace(x, notes=notes),)",
        "lambda x: (replace(x, body=tuple(replace(s, notes=notes) for s in x.body)),)",
    ),
)


def refusals() -> dict:
    from schedule.refusals import after, matmul

    return {
        "blockize.unit": (lambda: after(matmul, ("blockize", "j")), ("blockize", "j")),
        "blockize.marked": (lambda: after(matmul, ("parallel", "i")), ("blockize", "i")),
    }
