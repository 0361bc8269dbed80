"""Uses of quantising operators with other types than bytes and float32, or scales for each row."""

from __future__ import annotations

import numpy as np
from graph.uses.base import f, n, use, v, whole

HALF = np.float16
X = f(2, 3, 4)


def one(value: float, dtype: type = np.float32) -> np.ndarray:
    return n(value, dtype)


BYTES = (whole(2, 3, low=0, high=255, dtype=np.uint8), whole(3, 4, low=-127, high=127, dtype=np.int8))
IMAGE = whole(1, 2, 5, 5, low=0, high=255, dtype=np.uint8)
KERNEL = whole(3, 2, 3, 3, low=-127, high=127, dtype=np.int8)

QUANTISED = {
    "QuantizeLinear": [
        use(X, one(0.05), one(3, np.uint8), opsets=(10, 13)),
        *(use(X.astype(HALF), one(0.05, HALF), one(3, t), opsets=(19, 21)) for t in (np.uint8, np.int8)),
        use(X.astype(HALF), f(3, low=0.1, high=1).astype(HALF), v(1, 2, 3, dtype=np.uint8), opsets=(19, 21), axis=1),
        use(X, one(0.001), one(9, np.uint16), opsets=(21,)),
    ],
    "DequantizeLinear": [
        use(BYTES[0], one(0.05, HALF), one(3, np.uint8), opsets=(19, 21)),
        use(whole(5, low=-9999, high=9999, dtype=np.int32), one(0.05), opsets=(10, 13, 19, 21)),
        use(whole(5, low=-99, high=99, dtype=np.int32), one(0.05, HALF), opsets=(19,)),
        use(BYTES[1], f(3, low=0.1, high=1).astype(HALF), v(1, 2, 3, dtype=np.int8), opsets=(19, 21), axis=0),
    ],
    "QLinearMatMul": [
        use(
            BYTES[0],
            one(0.1),
            one(120, np.uint8),
            BYTES[1],
            f(4, low=0.1, high=1),
            v(0, 1, 2, 3, dtype=np.int8),
            one(9.0),
            one(100, np.uint8),
            opsets=(10, 21),
        ),
        use(
            BYTES[0],
            one(0.1, HALF),
            one(120, np.uint8),
            BYTES[1],
            one(0.2, HALF),
            one(3, np.int8),
            one(9.0, HALF),
            one(100, np.uint8),
            opsets=(21,),
        ),
    ],
    "QLinearConv": [
        use(
            IMAGE,
            one(0.1),
            one(120, np.uint8),
            KERNEL,
            f(3, low=0.1, high=1),
            v(0, 0, 0, dtype=np.int8),
            one(9.0),
            one(100, np.uint8),
            opsets=(10,),
            pads=(1, 1, 1, 1),
            const=(1, 2, 3, 4, 5, 6, 7),
        ),
    ],
}
