"""Uses of normalisations and losses."""

from __future__ import annotations

import numpy as np
from graph.uses.base import Use, f, grid, n, use, whole

NORM = (f(3, low=0.5, high=2), f(3), f(3), f(3, low=0.5, high=2))
NORMALISE: dict[str, list[Use]] = {
    "BatchNormalization": [
        *(
            use(f(2, 3, 4, 5), *NORM, opsets=(14, 15), outputs=3, training_mode=1, **a)
            for a in grid(momentum=(None, 0.5), epsilon=(None, 0.1))
        ),
        use(f(2, 3, 4), *NORM, opsets=(7, 9)),
    ],
    "Dropout": [
        use(f(3, 4), opsets=(7, 10), ratio=0.5),
        use(f(3, 4), opsets=(22,), outputs=2),
        use(f(3, 4), n(0.5, np.float32), n(False, bool), opsets=(12, 13), const=(1, 2)),
        use(f(3, 4), n(0.0, np.float32), n(True, bool), const=(1, 2), outputs=2),
        use(f(3, 4), n(0.5, np.float32), n(False, bool), outputs=2),
        use(f(3, 4), None, n(False, bool), outputs=2),
    ],
    "LayerNormalization": [
        use(f(2, 3, 4), f(*s), f(*s), opsets=(17,), outputs=3, **a)
        for s, a in (((4,), {}), ((3, 4), {"axis": 1}), ((4,), {"epsilon": 0.1}))
    ],
    "GroupNormalization": [
        *(
            use(f(2, 4, 3, 3), f(c), f(c), num_groups=2, opsets=o, const=k)
            for o, c in (((18,), 2), ((21, 22), 4))
            for k in ((), (1, 2), (1,))
        ),
        use(f(2, 4, 3), f(4), f(4), num_groups=4, opsets=(21,), epsilon=0.1),
        use(f(2, 4), f(4), f(4), num_groups=1, opsets=(21,)),
        use(f(1, 4, 2, 2, 3), f(4), f(4), num_groups=2, opsets=(21,), const=(1, 2)),
    ],
    "MeanVarianceNormalization": [use(f(2, 3, 4, 5), opsets=(9, 13), **a) for a in grid(axes=(None, (1,), (0, -1)))],
    "RMSNormalization": [
        use(f(2, 3, 4), f(*s), opsets=(23,), **a)
        for s, a in (((4,), {}), ((3, 4), {"axis": 1}), ((4,), {"epsilon": 0.1}))
    ],
    "NegativeLogLikelihoodLoss": [
        use(x, t, *w, opsets=(12, 13, 22), **a)
        for x, t in (
            (f(4, 3), whole(4, low=0, high=3)),
            (f(2, 3, 4), whole(2, 4, low=0, high=3)),
            (f(2, 3, 2, 2), whole(2, 2, 2, low=0, high=3)),
        )
        for w in ((), (f(3, low=0.1),))
        for a in grid(reduction=(None, "sum", "none"), ignore_index=(None, 1))
    ],
    "SoftmaxCrossEntropyLoss": [
        use(x, t, *w, opsets=(12, 13), outputs=k, **a)
        for x, t in ((f(4, 3), whole(4, low=0, high=3)), (f(2, 3, 4), whole(2, 4, low=0, high=3)))
        for w in ((), (f(3, low=0.1),))
        for a in grid(reduction=(None, "sum", "none"), ignore_index=(None, 1))
        for k in (1, 2)
    ],
}
