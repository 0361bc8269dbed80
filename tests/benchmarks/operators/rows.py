"""Rows that are normalised, reduced, sorted or summed up, and recurrent networks."""

from operators.case import Case, case, given, real, weight, whole


def _recurrent(
    name: str, op: str, steps: int, batch: int, inputs: int, hidden: int, where: str, both: bool = False
) -> Case:
    ways, gates = 1 + both, {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    extra = ", linear_before_reset=1" if op == "GRU" else ""
    text = f'y = {op}<hidden_size={hidden}, direction="{"bidirectional" if both else "forward"}"{extra}>(x, w, r, b)'
    return case(name, text, where=where, x=real(steps, batch, inputs), w=weight(ways, gates * hidden, inputs,
         low=-0.1, high=0.1),
                r=weight(ways, gates * hidden, hidden, low=-0.1, high=0.1),
                b=weight(ways, 2 * gates * hidden, low=-0.1, high=0.1))  # fmt: skip


_NORM = {"s": weight(768, low=0.5, high=2.0), "b": weight(768)}

CASES = (
    case("Softmax 12x128x128", "y = Softmax<axis=-1>(x)", where="minilm", x=real(1, 12, 128, 128)),
    case("Softmax 16x50257", "y = Softmax<axis=-1>(x)", where="gpt2", x=real(16, 50257)),
    case("Softmax 40x6625", "y = Softmax<axis=2>(x)", where="ppocrv4_rec", x=real(1, 40, 6625)),
    case("Softmax over channels 21 @128", "y = Softmax<axis=1>(x)", where="segmentation", x=real(1, 21, 128, 128)),
    case("LogSoftmax 200x1000", "y = LogSoftmax<axis=-1>(x)", where="speech", x=real(1, 200, 1000)),
    case("LayerNormalization 512x768", "y = LayerNormalization<axis=-1>(x, s, b)", where="bert",
         x=real(1, 512, 768), **_NORM),
    case("LayerNormalization 128x384", "y = LayerNormalization<axis=-1, epsilon=1e-12>(x, s, b)", where="minilm",
         x=real(1, 128, 384), s=weight(384, low=0.5, high=2.0), b=weight(384)),
    case("layer norm group 512x768",
         "m = ReduceMean<axes=[-1]>(x) d = Sub(x, m) q = Pow(d, k) v = ReduceMean<axes=[-1]>(q) e = Add(v, c) "
         "r = Sqrt(e) n = Div(d, r) t = Mul(n, s) y = Add(t, b)", where="exports before opset 17",
         x=real(1, 512, 768), k=given(2.0, "float32"), c=given(1e-5, "float32"), **_NORM),
    case("RMSNormalization 512x768", "y = RMSNormalization<axis=-1>(x, s)", opset=23, where="llama",
         x=real(1, 512, 768),
         s=_NORM["s"]),
    case("GroupNormalization 32 of 256 @28", "y = GroupNormalization<num_groups=32>(x, s, b)", opset=21,
         where="diffusion", x=real(1, 256, 28, 28), s=weight(256, low=0.5, high=2.0), b=weight(256)),
    case("InstanceNormalization 64 @112", "y = InstanceNormalization(x, s, b)", where="style transfer",
         x=real(1, 64, 112, 112), s=weight(64, low=0.5, high=2.0), b=weight(64)),
    case("ReduceMean of planes 512 @28", "y = ReduceMean<axes=[2, 3]>(x)", where="resnet18", x=real(1, 512, 28, 28)),
    case("ReduceMean of rows 512x768", "y = ReduceMean<axes=[-1]>(x)", where="layer norms", x=real(512, 768)),
    case("ReduceSum of columns 2048x512", "y = ReduceSum(x, a)", where="pooling of tokens", x=real(2048, 512),
         a=given([0])),
    case("ReduceMax of all 1 M", "y = ReduceMax<keepdims=0>(x)", where="scaling", x=real(1024, 1024)),
    case("ReduceL2 of rows 1024x384", "y = ReduceL2<axes=[-1]>(x)", where="minilm", x=real(1024, 384)),
    case("ReduceProd of int64 shapes 64x4096", "y = ReduceProd<axes=[0]>(x)", where="shapes", x=whole(1, 2, 64, 4096)),
    case("ArgMax 40x6625", "y = ArgMax<axis=2, keepdims=0>(x)", where="ppocrv4_rec", x=real(1, 40, 6625)),
    case("ArgMax over channels 21 @256", "y = ArgMax<axis=1>(x)", where="segmentation", x=real(1, 21, 256, 256)),
    case("CumSum 64x4096", "y = CumSum(x, a)", where="positions", x=real(64, 4096), a=given(1)),
    case("CumSum of a mask int64 8x2048", "y = CumSum(x, a)", where="roberta", x=whole(0, 2, 8, 2048), a=given(1)),
    case("TopK 100 of 8x50000", "v, i = TopK<axis=-1>(x, k)", where="detector", x=real(8, 50000), k=given([100])),
    case("TopK 5 of 1x1000", "v, i = TopK<axis=-1>(x, k)", where="classifier", x=real(1, 1000), k=given([5])),
    case("TopK all of 16x2048 (a sort)", "v, i = TopK<axis=-1>(x, k)", where="sampling", x=real(16, 2048),
         k=given([2048])),
    _recurrent("LSTM 100 steps 128→128", "LSTM", 100, 1, 128, 128, "speech"),
    _recurrent("LSTM 1 step 128→128", "LSTM", 1, 1, 128, 128, "silero_vad"),
    _recurrent("LSTM both ways 80 steps 256→256, batch 4", "LSTM", 80, 4, 256, 256, "text recogniser", True),
    _recurrent("GRU 100 steps 256→128", "GRU", 100, 1, 256, 128, "noise suppression"),
    _recurrent("GRU both ways 50 steps 128→128", "GRU", 50, 1, 128, 128, "text recogniser", True),
    _recurrent("RNN 100 steps 128→128", "RNN", 100, 1, 128, 128, "speech"),
    case("STFT 16000, frames of 400", "y = STFT<onesided=1>(x, h, w)", where="speech", x=real(1, 16000, 1),
         h=given(160),
         w=weight(400, low=0.1, high=1.0)),
    case("DFT 64x1024", "y = DFT<axis=1, onesided=1>(x)", where="speech", x=real(64, 1024, 1)),
)  # fmt: skip
