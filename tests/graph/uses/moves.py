"""Uses of operators that move, choose and make elements."""

from __future__ import annotations

import numpy as np
from graph.uses.base import NONE, f, grid, n, use, v, whole

BLOCKS = f(2, 12, 2, 3)
MOVES = {
    "DepthToSpace": [
        use(BLOCKS, blocksize=2, opsets=(7, 11, 13)),
        use(BLOCKS, blocksize=1),
        *(use(f(1, 18, 2, 1), blocksize=3, mode=m, opsets=(11, 13)) for m in ("DCR", "CRD")),
    ],
    "SpaceToDepth": [use(f(2, 3, 4, 6), blocksize=b, opsets=(7, 13)) for b in (1, 2)],
    "EyeLike": [
        *(use(x, opsets=(9, 22), **a) for x in (f(3, 4), f(4, 2)) for a in grid(k=(None, 1, -2, 9), dtype=(None, 6))),
        use(whole(3, 3, dtype=np.int32)),
        use(np.zeros((0, 3), np.float32)),
    ],
    "OneHot": [
        *(
            use(v(0, 2, 1, -1), depth, v(2.0, 5.0, dtype=np.float32), opsets=(9, 11), const=(1,), **a)
            for depth in (n(4), v(3))
            for a in grid(axis=(None, 0, -2))
        ),
        use(whole(2, 3, low=-6, high=6), n(4), v(0, 1), axis=1, const=(1,)),
        use(v(1.0, 7.0, -9.0, dtype=np.float32), n(5.0, np.float32), v(0.0, 1.0, dtype=np.float32), const=(1,)),
        use(np.zeros(0, np.int64), n(3), v(0.0, 1.0, dtype=np.float32), const=(1,)),
    ],
    "ReverseSequence": [
        use(f(4, 3, 2), v(4, 1, 2), opsets=(10,)),
        use(f(3, 4), v(1, 4, 2), batch_axis=0, time_axis=1),
        use(f(3, 4), v(4, 4, 4), batch_axis=0, time_axis=1, const=(1,)),
    ],
    "Compress": [
        use(f(3, 4), v(1, 0, 1, dtype=bool), axis=0, opsets=(9, 11), const=(1,)),
        use(f(3, 4), v(0, 1, dtype=bool), axis=-1, const=(1,), opsets=(11,)),
        use(f(3, 4), v(0, 1, 1, 0, 1, dtype=bool), const=(1,)),
        use(f(3, 4), v(0, 0, dtype=bool), axis=1),
        use(f(3, 4), v(0, 1, 1, dtype=bool), axis=1),
    ],
    "Split": [
        *(
            use(f(4, 6), opsets=(7, 11), outputs=len(s), split=s, axis=a)
            for s, a in (((2, 4), 1), ((1, 3), 0), ((1, 2, 3), -1))
        ),
        use(f(4, 6), opsets=(7, 11, 13), outputs=2),
        use(f(4, 6), v(2, 0, 4), const=(1,), outputs=3, axis=1, opsets=(13, 18)),
        use(f(4, 6), outputs=4, axis=1, num_outputs=4),
        use(
            f(
                7,
            ),
            outputs=3,
            num_outputs=3,
        ),
        use(f(2, 0), outputs=2, num_outputs=2, axis=1),
        use(f(4, 6), v(1, 3), outputs=2, opsets=(13, 18)),
        use(f(5, 2), outputs=1, num_outputs=1),
    ],
    "Unique": [
        *(use(whole(9, low=0, high=4), opsets=(11,), outputs=4, **a) for a in grid(sorted=(None, 0), axis=(None, 0))),
        *(
            use(whole(3, 5, low=0, high=2).astype(np.float32), outputs=4, **a)
            for a in grid(sorted=(None, 0), axis=(None, 0, 1, -1))
        ),
        use(np.zeros(0, np.float32), outputs=4),
        use(f(4), outputs=1),
    ],
    # The standard gives a scalar no row of places; onnxruntime gives it one.
    "NonZero": [
        use(x, opsets=(9, 13))
        for x in (
            np.round(f(3, 4)),
            np.zeros((2, 2), np.float32),
            whole(5, low=0, high=2).astype(bool),
            NONE,
        )
    ],
    "CenterCropPad": [
        use(f(5, 6), v(3, 8), const=(1,)),
        use(f(5, 6), v(4, 7), const=(1,)),
        use(f(2, 5, 6), v(4, 9), axes=(1, 2), const=(1,)),
        use(f(2, 5, 6), v(8, 3), axes=(-1, 0), const=(1,)),
        use(f(5, 6), v(5, 6), const=(1,)),
        use(f(3, 5), v(4, 2)),
    ],
    "Col2Im": [
        use(f(2, 4, 12), v(4, 5), v(2, 2), const=(1, 2)),
        use(f(1, 4, 20), v(5, 4), v(2, 2), pads=(0, 0, 1, 1), strides=(1, 1), const=(1, 2)),
        use(f(1, 8, 4), v(5, 5), v(2, 2), strides=(2, 2), dilations=(2, 2), const=(1, 2)),
        use(f(1, 6, 7), v(9), v(3), const=(1, 2)),
        use(f(1, 10, 45), v(3, 4, 5), v(1, 2, 1), const=(1, 2)),
        use(f(1, 4, 4), v(4, 4), v(2, 2), strides=(2, 2)),
    ],
    "CastLike": [
        use(f(2, 3, low=0) * 9, whole(1, dtype=t), opsets=(15, 19, 21)) for t in (np.int32, np.int64, np.uint8)
    ]
    + [use(whole(4), f(1)), use(f(3), v(1, dtype=bool))],
    "Cast": [use(f(2, 3) * 9, to=t, opsets=(7, 9, 13, 19, 21)) for t in (1, 6, 7, 9, 10, 11)],
    "Range": [use(n(1.0, np.float32), n(3.2, np.float32), n(0.5, np.float32), const=(0, 1, 2), opsets=(11,))],
    "Pad": [
        use(f(3, 4), v(*pads), const=(1,), opsets=(11, 18, 19), mode=m)
        for m in ("constant", "edge", "reflect", "wrap")
        for pads in ((0, -1, 0, 0), (0, -1, 0, 2), (-1, 1, 1, -2))
        if m != "wrap"
    ]
    + [use(f(3, 4), v(*pads), const=(1,)) for pads in ((0, -3, 0, 2), (0, -4, 0, 2), (0, -5, 0, 3), (0, -2, 0, -2))]
    + [
        use(f(3, 4), v(0, -1, 0, 2), const=(1,), mode="wrap", opsets=(19,)),
        use(f(3, 4), opsets=(7,), pads=(0, -1, 0, 2)),
    ],
    "Slice": [
        use(f(5, 3), v(a), v(b), v(0), v(k), const=(1, 2, 3, 4), opsets=(10, 13))
        for a in (-9, -5, 0, 3, 9)
        for b in (-9, -5, -2, 0, 4, 9)
        for k in (1, 2, -1, -2)
    ],
}
