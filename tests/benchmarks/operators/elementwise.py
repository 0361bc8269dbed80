"""What is done to each element, and to pairs of them."""

from operators.case import Case, case, given, real, weight, whole

_M = (1, 64, 128, 128)  # a million elements, 4 MiB


def _one(op: str, text: str = "", opset: int = 17, where: str = "", low: float = 0.0, high: float = 0.0) -> Case:
    return case(f"{op} of 1 M", f"y = {text or op + '(x)'}", opset, where=where, x=real(*_M, low=low, high=high))


CASES = (
    _one("Relu", where="resnet50"),
    case("Clip to 0..6 of 1 M", "y = Clip(x, l, h)", where="mobilenetv2", x=real(*_M), l=given(0.0, "float32"),
         h=given(6.0, "float32")),
    _one("LeakyRelu", "LeakyRelu<alpha=0.1>(x)", where="yolo"),
    case("PRelu of 1 M", "y = PRelu(x, s)", where="mtcnn", x=real(*_M), s=weight(64, 1, 1)),
    _one("Elu", where="segmentation"),
    _one("Exp", where="yolo"),
    _one("Log", low=0.1, high=9.0, where="dnsmos"),
    _one("Sqrt", low=0.0, high=9.0, where="ppocr"),
    _one("Tanh", where="gpt2"),
    _one("Erf", where="bert"),
    _one("Sigmoid", where="silero_vad"),
    _one("HardSigmoid", where="ppocr"),
    _one("HardSwish", where="mobilenetv3"),
    _one("Softplus", where="mish"),
    _one("Mish", opset=18, where="yolov4"),
    _one("Gelu", opset=20, where="exports since opset 20"),
    _one("Sin", where="positions"),
    _one("Floor", where="resampling"),
    case("gelu group of 1 M", "a = Div(x, r) e = Erf(a) p = Add(e, o) m = Mul(x, p) y = Mul(m, h)", where="minilm",
         x=real(128, 8192), r=given(1.4142135, "float32"), o=given(1.0, "float32"), h=given(0.5, "float32")),
    case("tanh gelu group of 0.4 M",
         "a = Pow(x, k) b = Mul(a, c) d = Add(x, b) e = Mul(d, s) f = Tanh(e) g = Add(f, o) m = Mul(x, g) "
         "y = Mul(m, h)", where="gpt2", x=real(128, 3072), k=given(3.0, "float32"), c=given(0.044715, "float32"),
         s=given(0.7978846, "float32"), o=given(1.0, "float32"), h=given(0.5, "float32")),
    case("silu group of 1 M", "s = Sigmoid(x) y = Mul(x, s)", where="yolov5", x=real(*_M)),
    case("hard-swish group of 1 M", "a = Add(x, t) c = Clip(a, l, h) m = Mul(x, c) y = Div(m, h)", where="ppocrv4",
         x=real(*_M), t=given(3.0, "float32"), l=given(0.0, "float32"), h=given(6.0, "float32")),
    case("Pow with 2 of 1 M", "y = Pow(x, e)", where="layer norms of exports", x=real(*_M), e=given(2.0, "float32")),
    case("Pow with 0.5 of 1 M", "y = Pow(x, e)", where="norms", x=real(*_M, low=0.0, high=9.0),
         e=given(0.5, "float32")),
    case("Add of 1 M", "y = Add(a, b)", where="resnet50", a=real(*_M), b=real(*_M)),
    case("Sum of three of 0.8 M", "y = Sum(a, b, c)", where="resnet50", a=real(1, 256, 56, 56), b=real(1, 256, 56, 56),
         c=real(1, 256, 56, 56)),
    case("Mul by channel 256 @56", "y = Mul(a, s)", where="squeeze and excite", a=real(1, 256, 56, 56),
         s=real(1, 256, 1, 1)),
    case("Div by row 12x128x128", "y = Div(a, s)", where="attention", a=real(12, 128, 128),
         s=real(12, 128, 1, low=1.0, high=2.0)),
    case("Sub of a column 512x768", "y = Sub(a, s)", where="layer norms", a=real(512, 768), s=real(512, 1)),
    case("Max of 1 M", "y = Max(a, b)", where="clipping", a=real(*_M), b=real(*_M)),
    case("Where 12x128x128", "y = Where(m, a, c)", where="gpt2", m=whole(0, 2, 1, 128, 128, dtype="bool"),
         a=real(12, 128, 128), c=given(-3.4e38, "float32")),
    case("Less of 1 M", "y = Less(a, b)", where="masks", a=real(*_M), b=real(*_M)),
    case("And, Not of 1 M", "t = Not(a) y = And(t, b)", where="masks", a=whole(0, 2, *_M, dtype="bool"),
         b=whole(0, 2, *_M, dtype="bool")),
    case("Equal of int64 0.25 M", "y = Equal(a, b)", where="masks of tokens", a=whole(0, 9, 512, 512),
         b=whole(0, 9, 512, 512)),
    case("IsNaN of 1 M", "y = IsNaN(x)", where="bert of transformers 5", x=real(*_M)),
    case("Cast to int8 of 1 M", "y = Cast<to=3>(x)", where="quantised", x=real(*_M, low=-99.0, high=99.0)),
    case("Cast to float16 of 1 M", "y = Cast<to=10>(x)", where="half precision", x=real(*_M)),
    case("Cast from int64 of 1 M", "y = Cast<to=1>(x)", where="masks", x=whole(0, 2, *_M)),
    case("Cast from bool of 1 M", "y = Cast<to=1>(x)", where="masks", x=whole(0, 2, *_M, dtype="bool")),
    case("QuantizeLinear of 1 M", "y = QuantizeLinear(x, s, z)", near=0.01, where="int8", x=real(*_M),
         s=given(0.03, "float32"), z=given(128, "uint8")),
    case("DequantizeLinear of 1 M", "y = DequantizeLinear(x, s, z)", where="int8", x=whole(0, 255, *_M, dtype="uint8"),
         s=given(0.03, "float32"), z=given(128, "uint8")),
    case("DynamicQuantizeLinear of 0.4 M", "y, s, z = DynamicQuantizeLinear(x)", near=0.01, where="dynamic int8",
         x=real(512, 768)),
    case("BatchNormalization 256 @56", "y = BatchNormalization(x, s, b, m, v)", where="resnet50",
         x=real(1, 256, 56, 56),
         s=weight(256), b=weight(256), m=weight(256), v=weight(256, low=0.5, high=2.0)),
)  # fmt: skip
