"""What moves data: layouts, slices, indices, resampling, detection."""

import numpy as np

from operators.case import Case, case, given, real, weight, whole


def _added(x: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Rows added at places of which many are the same; onnxruntime's threads lose some of them."""
    y = x.astype(np.float64)
    np.add.at(y, i[:, 0], u)
    return y.astype(np.float32)


def _resize(name: str, mode: str, where: str, more: str, size: int = 64, to: float = 2.0, channels: int = 64) -> Case:
    text = f'y = Resize<mode="{mode}", {more}>(x, , s)'
    return case(name, text, where=where, x=real(1, channels, size, size), s=given([1, 1, to, to], "float32"))


CASES = (
    case("Transpose NCHW to NHWC 64 @112", "y = Transpose<perm=[0, 2, 3, 1]>(x)", where="mtcnn",
         x=real(1, 64, 112, 112)),
    case("Transpose NHWC to NCHW 64 @112", "y = Transpose<perm=[0, 3, 1, 2]>(x)", where="mtcnn",
         x=real(1, 112, 112, 64)),
    case("Transpose of heads 128x12x64", "y = Transpose<perm=[0, 2, 1, 3]>(x)", where="bert", x=real(1, 128, 12, 64)),
    case("Transpose of a matrix 1024", "y = Transpose<perm=[1, 0]>(x)", where="attention", x=real(1024, 1024)),
    case("channel shuffle 272 @28", "a = Reshape(x, s) b = Transpose<perm=[0, 2, 1, 3, 4]>(a) y = Reshape(b, t)",
         where="shufflenet", x=real(1, 272, 28, 28), s=given([1, 4, 68, 28, 28]), t=given([1, 272, 28, 28])),
    case("Concat of channels 4x64 @56", "y = Concat<axis=1>(a, b, c, d)", where="inception_v1",
         **{n: real(1, 64, 56, 56) for n in "abcd"}),
    case("Concat of rows 2x12x512x64", "y = Concat<axis=2>(a, b)", where="gpt2", a=real(1, 12, 1023, 64),
         b=real(1, 12, 1, 64)),
    case("Split of 128x2304 by three", "a, b, c = Split<axis=-1>(x, s)", where="gpt2", x=real(1, 128, 2304),
         s=given([768, 768, 768])),
    case("Slice, every other 64 @112", "y = Slice(x, s, e, a, t)", where="focus of yolov5", x=real(1, 64, 112, 112),
         s=given([0, 1]), e=given([112, 112]), a=given([2, 3]), t=given([2, 2])),
    case("Slice of a window 64 @112", "y = Slice(x, s, e, a)", where="windows", x=real(1, 64, 112, 112),
         s=given([3, 5]),
         e=given([99, 105]), a=given([2, 3])),
    case("Pad reflect 3 64 @112", 'y = Pad<mode="reflect">(x, p)', where="style transfer", x=real(1, 64, 112, 112),
         p=given([0, 0, 3, 3, 0, 0, 3, 3])),
    case("Pad constant 1 64 @112", "y = Pad(x, p)", where="mobilenet of keras", x=real(1, 64, 112, 112),
         p=given([0, 0, 1, 1, 0, 0, 1, 1])),
    case("Expand 1x1x128x128 to 12 heads", "y = Expand(x, s)", where="masks", x=real(1, 1, 128, 128),
         s=given([1, 12, 128, 128])),
    case("Tile 4x 64 @32", "y = Tile(x, r)", where="upsampling", x=real(1, 64, 32, 32), r=given([1, 1, 2, 2])),
    case("Gather, 512 of 30522x384", "y = Gather(w, i)", where="minilm", w=weight(30522, 384),
         i=whole(0, 30522, 1, 512)),
    case("GatherElements 128x1000 of 128x6625", "y = GatherElements<axis=1>(x, i)", where="text recogniser",
         x=real(128, 6625), i=whole(0, 6625, 128, 1000)),
    case("GatherND 4096 of 64x64x64", "y = GatherND(x, i)", where="points", x=real(64, 64, 64),
         i=whole(0, 64, 4096, 2)),
    case("ScatterND with add, 20000x64", 'y = ScatterND<reduction="add">(x, i, u)', opset=18, where="graph network",
         oracle=_added, x=real(5000, 64), i=whole(0, 5000, 20000, 1), u=real(20000, 64)),
    case("ScatterND, cache of 12x1024x64", "y = ScatterND(x, i, u)", opset=18, where="key-value cache",
         x=real(1024, 768),
         i=given([[17]]), u=real(1, 768)),
    case("ScatterElements 64x2048 of 64x4096", "y = ScatterElements<axis=1>(x, i, u)", opset=18, where="masks",
         x=real(64, 4096), i=given([[(7 * k + 3 * r) % 4096 for k in range(2048)] for r in range(64)]),
         u=real(64, 2048)),
    case("ScatterElements with add, 20000", 'y = ScatterElements<axis=0, reduction="add">(x, i, u)', opset=18,
         where="histogram", x=real(1000), i=whole(0, 1000, 20000), u=real(20000)),
    case("OneHot 512 of 1000", "y = OneHot<axis=-1>(i, d, v)", where="tokens", i=whole(0, 1000, 512), d=given([1000]),
         v=given([0.0, 1.0], "float32")),
    case("Trilu 12x256x256", "y = Trilu<upper=0>(x)", where="gpt2", x=real(12, 256, 256)),
    case("DepthToSpace 2 256 @64", "y = DepthToSpace<blocksize=2>(x)", where="super resolution",
         x=real(1, 256, 64, 64)),
    case("SpaceToDepth 2 64 @112", "y = SpaceToDepth<blocksize=2>(x)", where="yolo", x=real(1, 64, 112, 112)),
    _resize("Resize nearest x2 64 @64", "nearest", "ppocrv4_det",
            'coordinate_transformation_mode="asymmetric", nearest_mode="floor"'),
    _resize("Resize linear x2 64 @64", "linear", "segmentation", 'coordinate_transformation_mode="half_pixel"'),
    _resize("Resize linear x4 21 @64, corners", "linear", "segmentation",
            'coordinate_transformation_mode="align_corners"',
            to=4.0, channels=21),
    _resize("Resize cubic x2 3 @224", "cubic", "super resolution", 'coordinate_transformation_mode="half_pixel"', 224,
            channels=3),
    _resize("Resize linear x0.5 3 @448", "linear", "preprocessing",
            'coordinate_transformation_mode="half_pixel"', 448, 0.5, 3),
    case("GridSample linear 64 @64", 'y = GridSample<mode="bilinear">(x, g)', opset=16, where="deformable attention",
         x=real(1, 64, 64, 64), g=real(1, 64, 64, 2, low=-1.1, high=1.1)),
    case("RoiAlign 7x7, 100 of 256 @50", "y = RoiAlign<output_height=7, output_width=7, sampling_ratio=2, "
         'spatial_scale=0.0625, coordinate_transformation_mode="half_pixel">(x, r, b)', opset=16, where="mask r-cnn",
         x=real(1, 256, 50, 50), b=whole(0, 1, 100),
         r=given([[8 * (k % 10), 8 * (k % 7), 8 * (k % 10) + 200 + k, 8 * (k % 7) + 150 + 2 * k]
                  for k in range(100)], "float32")),
    case("NonMaxSuppression 1 class, 8400 boxes", "y = NonMaxSuppression<center_point_box=1>(b, s, k, i, t)",
         where="yolov8",
         b=real(1, 8400, 4, low=20.0, high=90.0), s=real(1, 1, 8400, low=0.0, high=1.0), k=given([100]),
         i=given([0.5], "float32"), t=given([0.25], "float32")),
    case("NonMaxSuppression 20 classes, 1000 boxes", "y = NonMaxSuppression<center_point_box=1>(b, s, k, i, t)",
         where="detector", b=real(1, 1000, 4, low=20.0, high=90.0), s=real(1, 20, 1000, low=0.0, high=1.0),
         k=given([50]),
         i=given([0.5], "float32"), t=given([0.3], "float32")),
    case("NonZero 512x512", "y = NonZero(x)", where="masks", x=whole(0, 2, 512, 512, dtype="bool")),
    case("Unique of 20000", "y, i, j, c = Unique(x)", where="graph network", x=whole(0, 3000, 20000)),
    case("Compress 4096x64", "y = Compress<axis=0>(x, m)", where="detector", x=real(4096, 64), m=whole(0, 2, 4096,
         dtype="bool")),
    case("Range and positions 512", "p = Range(a, n, d) y = Add(x, p)", where="bert of exports", a=given(0),
         n=given(512),
         d=given(1), x=whole(0, 9, 512, 512)),
)  # fmt: skip
