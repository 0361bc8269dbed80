"""Uses of operators on windows."""

from __future__ import annotations

import numpy as np
from graph.uses.base import f, grid, use, v, whole

IMAGE = f(2, 3, 7, 8)
POOLS = grid(
    kernel_shape=((3, 3), (2, 3)), strides=(None, (2, 2)), pads=(None, (1, 1, 1, 1), (0, 1, 1, 1)), ceil_mode=(None, 1)
)
LOW = f(1, 2, 1, 4)
#: No window fits in: the result has no elements.
EMPTY = [
    use(f(0, 3, 4, 4), kernel_shape=(2, 2)),
    *(use(LOW, kernel_shape=k, strides=s) for k, s in (((2, 2), (1, 1)), ((3, 2), (2, 1)))),
]
EMPTY += [use(LOW, kernel_shape=(2, 2), auto_pad="VALID"), use(LOW, kernel_shape=(2, 2), ceil_mode=1)]
POOL = {
    "AveragePool": EMPTY,
    "GlobalMaxPool": [use(f(0, 3, 4, 4))],
    "GlobalAveragePool": [use(f(0, 3, 4, 4))],
    "MaxPool": [
        *(use(IMAGE, opsets=(10, 12), outputs=2, **a) for a in POOLS),
        *(
            use(f(1, 2, 6, 6), opsets=(8, 12), outputs=2, **a)
            for a in grid(kernel_shape=((3, 3),), storage_order=(None, 1), strides=(None, (2, 2)))
        ),
        *(
            use(f(2, 2, 6, 7), outputs=2, kernel_shape=(3, 2), auto_pad=p, strides=(2, 2))
            for p in ("SAME_UPPER", "SAME_LOWER", "VALID")
        ),
        use(IMAGE, outputs=2, kernel_shape=(2, 2), dilations=(2, 3)),
        use(IMAGE, outputs=2, kernel_shape=(3, 3), dilations=(2, 2), pads=(1, 1, 1, 1), ceil_mode=1, strides=(3, 2)),
        use(f(2, 3, 9), outputs=2, kernel_shape=(3,), pads=(1, 2), strides=(2,)),
        use(f(2, 2, 4, 5, 6), outputs=2, kernel_shape=(2, 2, 2), pads=(1, 0, 1, 0, 1, 0)),
        use(f(2, 2, 4, 5, 6), outputs=2, kernel_shape=(2, 2, 2), storage_order=1),
        use(np.round(f(1, 2, 6, 6)), outputs=2, kernel_shape=(3, 3)),
        use(whole(1, 2, 5, 5, dtype=np.int8), outputs=2, kernel_shape=(2, 2)),
        *EMPTY,
        use(LOW, outputs=2, kernel_shape=(2, 2)),
    ],
    "LpPool": [
        *(
            use(IMAGE, opsets=(11, 18, 22), **a)
            for a in grid(
                kernel_shape=((3, 3), (2, 3)), strides=(None, (2, 2)), pads=(None, (1, 0, 1, 1)), p=(None, 1, 3)
            )
        ),
        *(
            use(IMAGE, kernel_shape=(3, 3), strides=(2, 2), auto_pad=p, opsets=(11, 18))
            for p in ("SAME_UPPER", "SAME_LOWER", "VALID")
        ),
        *(
            use(IMAGE, kernel_shape=(3, 3), strides=(2, 3), ceil_mode=1, **a)
            for a in grid(pads=(None, (1, 1, 1, 1)), dilations=(None, (2, 1)))
        ),
        use(f(2, 3, 9), kernel_shape=(3,)),
        use(f(1, 2, 4, 5, 6), kernel_shape=(2, 2, 2)),
        use(f(2, 3, 9), kernel_shape=(4,), dilations=(2,)),
        *EMPTY,
    ],
    "GlobalLpPool": [
        use(f(0, 3, 4, 4)),
        *(use(x, opsets=(7, 22), **a) for x in (IMAGE, f(2, 3, 5), f(1, 2, 3, 4, 5)) for a in grid(p=(None, 1, 3))),
    ],
    "MaxUnpool": [
        use(f(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]]), kernel_shape=(2, 2), strides=(2, 2), opsets=(9, 11, 22)),
        use(
            f(1, 1, 2, 2),
            np.array([[[[5, 7], [13, 15]]]]),
            v(1, 1, 5, 5),
            kernel_shape=(2, 2),
            strides=(2, 2),
            const=(2,),
            opsets=(9, 11),
        ),
        use(
            f(2, 2, 3),
            np.array([[[1, 2, 5], [7, 8, 11]], [[12, 15, 17], [18, 21, 22]]]),
            kernel_shape=(2,),
            strides=(2,),
        ),
        use(f(1, 1, 2, 2), np.array([[[[1, 3], [5, 7]]]]), kernel_shape=(3, 2), strides=(1, 2), pads=(1, 0, 1, 0)),
    ],
}
