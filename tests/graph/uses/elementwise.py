"""Uses of operators that work element by element."""

from __future__ import annotations

import numpy as np
from graph.uses.base import HARD, NONE, ONE, Use, f, grid, n, use, v, whole


def unary(*opsets: int, x: np.ndarray = HARD) -> list[Use]:
    return [use(a, opsets=opsets) for a in (f(2, 3, low=-1, high=1), x, ONE, NONE)]


UNARY = {
    **{op: unary(7, 22) for op in ("Acos", "Asin", "Atan", "Cos", "Sin", "Tan")},
    **{op: unary(9, 22) for op in ("Asinh", "Atanh", "Cosh", "Sinh")},
    "Acosh": [use(f(2, 3, low=1, high=9), opsets=(9, 22)), *unary(9)],
    "Sign": [*unary(9, 13), use(whole(5, dtype=np.int32), opsets=(9, 13)), use(whole(3, low=0, dtype=np.uint8))],
    "Softplus": unary(7, 22, x=HARD * 4),
    "Softsign": unary(7, 22),
    "Elu": [
        u
        for a in grid(alpha=(None, 0.5, -1.0))
        for u in (use(f(3, 4), opsets=(7, 22), **a), use(HARD, **a), use(NONE, **a))
    ],
    "Selu": [
        u
        for a in grid(alpha=(None, 0.5), gamma=(None, 2.0))
        for u in (use(f(3, 4), opsets=(7, 22), **a), use(HARD, **a))
    ],
    "Celu": [
        u
        for a in grid(alpha=(None, 0.5, 3.0))
        for u in (use(f(3, 4), opsets=(12,), **a), use(HARD, **a), use(ONE, **a))
    ],
    "Mish": unary(18, 22),
    "HardSwish": unary(14, 22),
    "Gelu": [
        u
        for a in grid(approximate=(None, "none", "tanh"))
        for u in (
            use(f(3, 4), opsets=(20,), **a),
            use(f(3, 4), opsets=(20,), const=(0,), **a),
            use(HARD, opsets=(20,), **a),
        )
    ],
    "ThresholdedRelu": [
        u for a in grid(alpha=(None, 0.5, -0.5)) for u in (use(f(3, 4), opsets=(10, 22), **a), use(HARD, **a))
    ],
    "Shrink": [
        u
        for a in grid(lambd=(None, 0.1), bias=(None, 0.5))
        for u in (use(f(3, 4), opsets=(9,), **a), use(HARD, **a), use(whole(6, dtype=np.int32), **a))
    ],
    "IsInf": [use(HARD, opsets=(10, 20), **a) for a in grid(detect_negative=(None, 0), detect_positive=(None, 0))],
    "BitwiseNot": [use(whole(4, 3, dtype=t)) for t in (np.int8, np.int32, np.int64)]
    + [use(whole(5, low=0, dtype=np.uint8))],
    "Swish": [use(f(3, 4), opsets=(24,), **a) for a in grid(alpha=(None, 0.5))],
}

BITS = [
    use(whole(2, 3, dtype=np.int32), whole(3, dtype=np.int32)),
    use(whole(2, 1, low=0, dtype=np.uint8), whole(3, low=0, dtype=np.uint8)),
]
BINARY = {
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), BITS),
    "BitShift": [
        use(whole(2, 3, low=0, high=200, dtype=t), whole(3, low=0, high=7, dtype=t), opsets=(11,), direction=d)
        for t in (np.uint8, np.uint16, np.uint32, np.uint64)
        for d in ("LEFT", "RIGHT")
    ],
    "Mod": [
        *(
            use(whole(4, 5, dtype=t), v(3, -3, 7, -2, 5, dtype=t), opsets=(10, 13), fmod=m)
            for t in (np.int8, np.int32, np.int64)
            for m in (0, 1)
        ),
        use(whole(4, low=0, dtype=np.uint8), v(3, 5, 7, 2, dtype=np.uint8), opsets=(10, 13)),
        use(f(4, 3, low=-9, high=9), f(3, low=0.5), fmod=1, opsets=(10, 13)),
        use(f(4, 3, low=-9, high=9), -f(3, low=0.5), fmod=1),
        use(HARD, n(1.5, np.float32), fmod=1),
        use(NONE, n(1.5, np.float32), fmod=1),
    ],
    "Mean": [
        use(f(2, 3), f(3), opsets=(8, 13)),
        use(f(2, 3), f(2, 3), opsets=(7, 8, 13)),
        use(f(2, 3), opsets=(8, 13)),
        use(f(2, 1), f(3), f(4, 1, 1)),
        use(HARD, HARD),
        use(ONE, ONE),
    ],
}
