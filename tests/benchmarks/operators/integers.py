"""Products and convolutions of bytes, and what stands between them in quantised networks."""

from operators.case import Case, case, given, real, whole


def _conv(name: str, image: tuple[int, ...], kernel: tuple[int, ...], attrs: str, where: str) -> Case:
    """A convolution whose results are bytes again; zero points as after a Relu."""
    channels = kernel[0]
    return case(
        f"quantised {name}", f"y = QLinearConv<{attrs}>(x, sx, zx, w, sw, zw, sy, zy, b)", where=where, near=0.01,
        x=whole(0, 255, *image, dtype="uint8"), sx=given(0.02, "float32"), zx=given(0, "uint8"),
        w=whole(-127, 127, *kernel, dtype="int8", const=True), sw=given([0.01] * channels, "float32"),
        zw=given([0] * channels, "int8"), sy=given(0.7, "float32"), zy=given(120, "uint8"),
        b=whole(-1000, 1000, channels, dtype="int32", const=True),
    )  # fmt: skip


CASES = (
    case("bytes 128x768·768x768", "y = MatMulInteger(a, w, za, zw)", where="dynamically quantised bert",
         a=whole(0, 255, 128, 768, dtype="uint8"), w=whole(-127, 127, 768, 768, dtype="int8", const=True),
         za=given(128, "uint8"), zw=given(0, "int8")),
    case("dynamic dense 128x384·384x1536",
         "q, s, z = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, z, zw) r = Cast<to=1>(i) f = Mul(s, sw) "
         "y = Mul(r, f)", where="dynamically quantised minilm", near=0.01, x=real(128, 384),
         w=whole(-127, 127, 384, 1536, dtype="int8", const=True), zw=given(0, "int8"), sw=given(0.01, "float32")),
    case("quantised 128x768·768x768", "y = QLinearMatMul(a, sa, za, w, sw, zw, sy, zy)", where="int8 bert", near=0.01,
         a=whole(0, 255, 128, 768, dtype="uint8"), sa=given(0.02, "float32"), za=given(120, "uint8"),
         w=whole(-127, 127, 768, 768, dtype="int8", const=True), sw=given(0.01, "float32"), zw=given(0, "int8"),
         sy=given(0.7, "float32"), zy=given(120, "uint8")),
    _conv("conv 7x7/2 3→64 @224", (1, 3, 224, 224), (64, 3, 7, 7), "strides=[2, 2], pads=[3, 3, 3, 3]",
          "int8 resnet50"),
    _conv("conv 3x3 64→64 @56", (1, 64, 56, 56), (64, 64, 3, 3), "pads=[1, 1, 1, 1]", "int8 resnet50"),
    _conv("conv 3x3 512→512 @7", (1, 512, 7, 7), (512, 512, 3, 3), "pads=[1, 1, 1, 1]", "int8 resnet50"),
    _conv("conv 1x1 256→64 @56", (1, 256, 56, 56), (64, 256, 1, 1), "pads=[0, 0, 0, 0]", "int8 resnet50"),
    _conv("conv 1x1/2 512→1024 @28", (1, 512, 28, 28), (1024, 512, 1, 1), "strides=[2, 2]", "int8 resnet50"),
    _conv("depthwise 3x3 144 @56", (1, 144, 56, 56), (144, 1, 3, 3), "pads=[1, 1, 1, 1], group=144",
          "int8 mobilenetv2"),
    case("QLinearAdd of 0.8 M", "y = com.microsoft.QLinearAdd(a, sa, za, b, sb, zb, sy, zy)", where="int8 resnet50",
         near=0.01, a=whole(0, 255, 1, 256, 56, 56, dtype="uint8"), sa=given(0.02, "float32"), za=given(120, "uint8"),
         b=whole(0, 255, 1, 256, 56, 56, dtype="uint8"), sb=given(0.03, "float32"), zb=given(0, "uint8"),
         sy=given(0.04, "float32"), zy=given(90, "uint8")),
)  # fmt: skip
