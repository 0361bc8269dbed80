"""Uses of sums by equation, and of operators on images and boxes."""

from __future__ import annotations

import numpy as np
from graph.uses.base import f, grid, n, use, v

EINSUM = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("...ij,...jk->...ik", (2, 2, 3), (2, 3, 4)),
    ("...ij,...jk", (1, 2, 3), (2, 3, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("i,j->ij", (2,), (3,)),
    ("i,i", (3,), (3,)),
    ("ij,kl->ijkl", (2, 3), (4, 2)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("ij,j", (2, 3), (3,)),
    ("ba", (2, 3)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("...->...", (2, 3)),
    ("i...->...", (2, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("...i,...i->...", (2, 3), (2, 3)),
    ("iij->j", (3, 3, 2)),
    (",ij->ij", (), (2, 3)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("aB->Ba", (2, 3)),
    ("i,ij->j", (1,), (1, 3)),
]
IMAGES = {
    "Einsum": [use(*(f(*s) for s in shapes), equation=e, opsets=(12,)) for e, *shapes in EINSUM],
    "GridSample": [
        *(
            use(f(2, 2, 4, 5), f(2, 3, 4, 2, low=-1.4, high=1.4), opsets=(16,), **a)
            for a in grid(
                mode=(None, "bilinear", "nearest", "bicubic"),
                padding_mode=(None, "border", "reflection"),
                align_corners=(None, 1),
            )
        ),
        *(
            use(f(1, 2, 4, 5), f(1, 3, 4, 2, low=-1.4, high=1.4), opsets=(20, 22), **a)
            for a in grid(
                mode=("linear", "nearest", "cubic"),
                padding_mode=(None, "border", "reflection"),
                align_corners=(None, 1),
            )
        ),
        *(
            use(f(1, 2, 3, 4, 5), f(1, 2, 3, 2, 3, low=-1.4, high=1.4), opsets=(20,), **a)
            for a in grid(
                mode=("linear", "nearest"), padding_mode=(None, "border", "reflection"), align_corners=(None, 1)
            )
        ),
        use(f(1, 1, 1, 1), f(1, 2, 2, 2)),
        use(f(1, 1, 1, 1), f(1, 2, 2, 2), align_corners=1, padding_mode="reflection"),
    ],
    "AffineGrid": [
        *(use(f(2, 2, 3), v(2, 1, 3, 4), opsets=(20,), const=(1,), **a) for a in grid(align_corners=(None, 1))),
        *(use(f(1, 3, 4), v(1, 1, 2, 3, 4), opsets=(20,), const=(1,), **a) for a in grid(align_corners=(None, 1))),
        use(f(1, 2, 3), v(1, 1, 1, 1), opsets=(20,), const=(1,)),
        use(f(1, 2, 3), v(1, 1, 1, 2), opsets=(20,), const=(1,), align_corners=1),
    ],
    "RoiAlign": [
        *(
            use(
                f(2, 2, 8, 9),
                np.array([[0.3, 0.6, 5.1, 6.2], [1, 1, 3, 7], [2.5, 0, 2.6, 0.1], [-1, -2, 12, 11]], np.float32),
                v(0, 1, 0, 1),
                opsets=o,
                output_height=3,
                output_width=2,
                **a,
            )
            for o, c in (((10, 16, 22), (None,)), ((16,), ("half_pixel", "output_half_pixel")))
            for a in grid(
                mode=(None, "max"),
                sampling_ratio=(None, 2),
                spatial_scale=(None, 0.5),
                coordinate_transformation_mode=c,
            )
        ),
        use(f(1, 1, 4, 4), np.zeros((0, 4), np.float32), np.zeros(0, np.int64), opsets=(16,)),
        use(f(1, 1, 4, 4), np.array([[0, 0, 3, 3]], np.float32), v(0), opsets=(16,)),
    ],
    "DeformConv": [
        use(f(1, 2, 5, 5), f(3, 2, 3, 3), f(1, 18, 3, 3), opsets=(19, 22)),
        use(
            f(2, 4, 5, 6),
            f(4, 2, 2, 3),
            f(2, 12 * 2, 6, 6),
            f(4),
            f(2, 6 * 2, 6, 6, low=0, high=1),
            group=2,
            offset_group=2,
            pads=(1, 1, 1, 1),
            opsets=(19,),
        ),
        use(f(1, 2, 7, 7), f(3, 2, 2, 2), f(1, 8, 3, 3), strides=(2, 2), dilations=(2, 2), opsets=(19,)),
        use(f(1, 2, 5, 5), f(3, 2, 3, 3), f(1, 18, 3, 3), None, f(1, 9, 3, 3), opsets=(19,)),
    ],
    "NonMaxSuppression": [
        *(
            use(
                np.array(
                    [
                        [
                            [0, 0, 1, 1],
                            [0, 0.1, 1, 1.1],
                            [0, -0.1, 1, 0.9],
                            [0, 10, 1, 11],
                            [0, 10.1, 1, 11.1],
                            [0, 100, 1, 101],
                        ]
                    ],
                    np.float32,
                ),
                np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.1, 0.75, 0.75, 0.05, 0.5, 0.3]]], np.float32),
                *rest,
                opsets=(10, 11),
                const=range(2, 2 + len(rest)),
            )
            for rest in (
                (v(3), v(0.5, dtype=np.float32), v(0.0, dtype=np.float32)),
                (v(2), v(0.5, dtype=np.float32), v(0.4, dtype=np.float32)),
                (v(3),),
                (),
                (v(9), None, v(0.4, dtype=np.float32)),
                (n(2), n(0.3, np.float32)),
            )
        ),
        use(
            np.array(
                [[[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [4, 4, 2, 2]], [[1, 1, 0, 0], [0, 0, 1, 1], [5, 5, 6, 6]]],
                np.float32,
            ),
            f(2, 1, 3, low=0, high=1),
            v(3),
            v(0.4, dtype=np.float32),
            center_point_box=1,
        ),
        use(
            np.array([[[1, 1, 0, 0], [0, 0.1, 1, 1.1], [5, 5, 6, 6]]], np.float32),
            f(1, 2, 3, low=0, high=1),
            v(3),
            v(0.4, dtype=np.float32),
        ),
        use(np.zeros((1, 0, 4), np.float32), np.zeros((1, 1, 0), np.float32), v(3)),
    ],
}
