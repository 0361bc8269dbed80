"""Uses of operators on signals and texts of numbers, and of newer ones."""

from __future__ import annotations

import numpy as np
from graph.uses.base import Use, f, grid, n, use, v, whole

SIGNAL: dict[str, list[Use]] = {
    **{
        op: [
            use(n(size), opsets=(17,), const=(0,), **a)
            for size in (1, 2, 7, 10)
            for a in grid(periodic=(None, 0), output_datatype=(None, 11))
        ]
        for op in ("HannWindow", "HammingWindow", "BlackmanWindow")
    },
    "MelWeightMatrix": [
        use(n(8), n(16), n(8192), n(0.0, np.float32), n(4096.0, np.float32), opsets=(17,), const=range(5)),
        use(n(5), n(33), n(16000), n(20.0, np.float32), n(7600.0, np.float32), opsets=(17,), const=range(5)),
    ],
    "DFT": [
        *(
            use(f(2, 8, k), opsets=(17,), **a)
            for k in (1, 2)
            for a in grid(axis=(None, -2), inverse=(None, 1) if k == 2 else (None,))
        ),
        *(
            use(f(2, 6, 5, 1), *rest, const=range(1, 1 + len(rest)), opsets=(17,), axis=2, onesided=1)
            for rest in ((), (n(8),), (n(3),))
        ),
        *(use(f(2, 6, 5, k), None, n(a), const=(2,), opsets=(20,)) for k in (1, 2) for a in (1, 2, -2)),
        use(f(2, 6, 2), n(9), n(1), const=(1, 2), opsets=(20,), inverse=1),
        use(f(2, 6, 1), None, n(1), const=(2,), opsets=(20,), onesided=1),
        use(f(2, 6, 1), opsets=(20,)),
    ],
    "STFT": [
        use(f(1, 32, 1), n(8), f(16), n(16), opsets=(17,), const=(1, 3)),
        use(f(2, 32, 1), n(8), None, n(16), opsets=(17,), const=(1, 3)),
        use(f(2, 32, 1), n(4), f(16), opsets=(17,), const=(1,), onesided=0),
        use(f(2, 33), n(5), f(8), n(8), opsets=(17,), const=(1, 3)),
        use(f(1, 32, 2), n(8), f(16), n(16), opsets=(17,), const=(1, 3), onesided=0),
    ],
    "TfIdfVectorizer": [
        use(
            whole(2, 9, low=0, high=9, dtype=np.int32),
            opsets=(9,),
            mode=m,
            min_gram_length=1,
            max_gram_length=2,
            max_skip_count=s,
            ngram_counts=[0, 4],
            ngram_indexes=[0, 1, 2, 3, 4, 5, 6],
            pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
        )
        for m in ("TF", "IDF", "TFIDF")
        for s in (0, 3)
    ],
}

LATER: dict[str, list[Use]] = {
    "RotaryEmbedding": [
        use(f(2, 3, 4, 8), f(10, 4), f(10, 4), whole(2, 4, low=0), opsets=(23,)),
        use(f(2, 3, 4, 8), f(10, 4), f(10, 4), whole(2, 4, low=0), opsets=(23,), interleaved=1),
        use(f(2, 4, 24), f(2, 4, 4), f(2, 4, 4), opsets=(23,), num_heads=3),
        use(f(2, 3, 4, 8), f(10, 2), f(10, 2), whole(2, 4, low=0), opsets=(23,), rotary_embedding_dim=4),
    ],
    "Attention": [
        use(f(2, 3, 4, 8), f(2, 3, 6, 8), f(2, 3, 6, 8), opsets=(23,), **a)
        for a in grid(is_causal=(None, 1), scale=(None, 0.5), softcap=(None, 2.0))
    ],
    "TensorScatter": [
        use(f(2, 3, 4, 5), f(2, 3, 2, 5), v(1, 2), opsets=(24,)),
        use(f(2, 3, 4, 5), f(2, 3, 2, 5), opsets=(24,)),
    ],
}
