"""Uses of operators that work along axes."""

from __future__ import annotations

import numpy as np
from graph.uses.base import HARD, NONE, ONE, f, grid, n, use, v, whole

X = f(2, 3, 4)
LOGS = [
    u
    for a in grid(axes=(None, (1,), (-1, 0)), keepdims=(None, 0))
    for u in (use(X, opsets=(7, 11, 13), **a), use(X * 60, opsets=(13,), **a))
]
LOGS += [
    use(X, *axes, opsets=(18,), const=(1,), **a)
    for axes in ((), (v(1),), (v(-1, 0),), (np.zeros(0, np.int64),))
    for a in grid(keepdims=(None, 0), noop_with_empty_axes=(None, 1))
]
LOGS += [
    use(HARD[:-1]),  # (without NaN: onnxruntime's vectors of maxima lose it)
    use(v(-np.inf, -np.inf, dtype=np.float32)),
    use(np.zeros((2, 0), np.float32), v(1), const=(1,)),
    use(v(np.inf, 1, dtype=np.float32)),
    use(v(1000.0, 1000.0, dtype=np.float32)),
    use(ONE),
    use(np.zeros((0, 3), np.float32), v(1), const=(1,)),
    use(whole(3, 4, low=1, dtype=np.int32), v(0), const=(1,)),
]
REDUCE = {
    # What onnxruntime returns as the logarithm of a sum of int32 are the bits of a float.
    "ReduceLogSum": [
        use(np.asarray(abs(u.inputs[0])), *u.inputs[1:], opsets=u.opsets, const=u.const, **u.attrs) for u in LOGS[:-1]
    ],
    "ReduceLogSumExp": LOGS,
    "ReduceMean": [
        use(whole(2, 3, 4, dtype=t), opsets=(13,), axes=a) for t in (np.int32, np.int64) for a in ((1,), (2,))
    ],
    "ReduceL2": [use(whole(3, 4, dtype=np.int32), v(1), const=(1,))],
    "LpNormalization": [
        *(use(f(2, 3, 4), opsets=(7, 22), **a) for a in grid(p=(None, 1, 2), axis=(None, 0, 1, -2))),
        *(use(np.zeros((2, 3), np.float32), p=p) for p in (1, 2)),
        use(v(3.0, -3.0, dtype=np.float32), p=1),
        use(NONE, p=1),
        use(NONE),
        use(f(2, 3).astype(np.float64), p=1),
    ],
    "CumSum": [
        *(
            use(f(2, 3, 4), axis, opsets=(11, 14), const=(1,), **a)
            for axis in (n(0), n(-1), n(1, np.int32), v(2))
            for a in grid(exclusive=(None, 1), reverse=(None, 1))
        ),
        use(whole(5, dtype=np.int32), n(0), const=(1,)),
        use(f(1), n(0), exclusive=1),
        use(NONE, n(0)),
        use(f(2, 3), n(1)),
    ],
    "TopK": [
        *(
            use(f(3, 5), opsets=(7, 9), k=k, outputs=2, **a)
            for k in (1, 3, 5)
            for a in grid(axis=(None, 0 if k < 4 else 1))
        ),
        *(use(f(3, 5), v(k), opsets=(10,), const=(1,), outputs=2, **a) for k in (1, 3) for a in grid(axis=(None, 0))),
        *(
            use(whole(4, 6, low=0, high=3).astype(np.float32), v(3), opsets=(11,), const=(1,), outputs=2, **a)
            for a in grid(axis=(None, 0), largest=(None, 0))
        ),
        use(whole(4, 6, dtype=np.int32), v(2), const=(1,), outputs=2, opsets=(11,)),
        use(f(4, 6), v(0), const=(1,), outputs=2),
        use(NONE, v(2), const=(1,), outputs=2),
        use(NONE, v(0), const=(1,), outputs=2, axis=0),
        use(v(1.0, np.inf, -np.inf, 3.0, dtype=np.float32), v(3), const=(1,), outputs=2),
        use(whole(9), v(9), const=(1,), outputs=2, largest=0),
    ],
    "Det": [use(f(3, 3), opsets=(11, 22)), use(f(2, 1, 4, 4)), use(f(1, 1)), use(np.ones((2, 2), np.float32))],
}
