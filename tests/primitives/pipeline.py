"""`pipeline`."""

from __future__ import annotations

from property.mutation import mutation

WEIGHT = (0.1, 0.5)

MUTATIONS = (
    mutation(
        "pipeline",
        "workbench.schedule.primitives.pipeline",
        "the mark is on the loops inside",
        "lambda x: (replace(x, notes=(*x.notes, (PIPELINE, 2))),)",
        "lambda x: (replace(x, body=tuple(replace(s, notes=((PIPELINE, 2),)) for s in x.body)),)",
    ),
)

ROW = (("cache_read", "C", "A"), ("compute_at", "A.copy", "j"), ("set_scope", "A.local", "shared"))


def start():
    from schedule.refusals import after, matmul

    return after(matmul, *ROW)


def refusals() -> dict:
    from schedule.refusals import after, matmul, of

    from workbench import workloads

    return {
        "pipeline.marked": (lambda: after(matmul, *ROW, ("pipeline", "j")), ("pipeline", "j")),
        "pipeline.fetch": (matmul, ("pipeline", "j")),
        "pipeline.depends": (
            lambda: after(
                of(lambda: workloads.elementwise(8, 12)),
                ("compute_at", "add", "relu_i"),
                ("compute_at", "tanh", "relu_i"),
                ("set_scope", "add", "shared"),
            ),
            ("pipeline", "relu_i"),
        ),
        "pipeline.digit": (
            lambda: after(
                matmul,
                ("fuse", "i", "j"),
                ("cache_read", "C", "A"),
                ("compute_at", "A.copy", "i.j"),
                ("set_scope", "A.local", "shared"),
            ),
            ("pipeline", "i.j"),
        ),
    }
