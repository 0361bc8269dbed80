"""Matrix products and attention."""

from operators.case import case, given, real, weight, whole

_HEADS = {n: real(1, 12, 128, 64) for n in "qkv"}

CASES = (
    case("dense 128x384·384x1536", "y = MatMul(x, w)", where="minilm", x=real(128, 384), w=weight(384, 1536)),
    case("dense 128x768·768x3072 + bias", "t = MatMul(x, w) y = Add(t, b)", where="bert",
         x=real(128, 768), w=weight(768, 3072), b=weight(3072)),
    case("gemm 1x2048·2048x1000", "y = Gemm<transB=1>(x, w, b)", where="resnet50",
         x=real(1, 2048), w=weight(1000, 2048), b=weight(1000)),
    case("gemm 1x9216·9216x4096", "y = Gemm<transB=1>(x, w, b)", where="alexnet",
         x=real(1, 9216), w=weight(4096, 9216), b=weight(4096)),
    case("logits 1x768·768x50257", "y = MatMul(x, w)", where="gpt2", x=real(1, 768), w=weight(768, 50257)),
    case("product of two activations 512", "y = MatMul(a, b)", where="attention", a=real(512, 512), b=real(512, 512)),
    case("batched 12x128x64·64x128", "y = MatMul(a, b)", where="bert", a=real(1, 12, 128, 64), b=real(1, 12, 64, 128)),
    case("batched 12x128x128·128x64", "y = MatMul(a, b)", where="bert", a=real(1, 12, 128, 128),
         b=real(1, 12, 128, 64)),
    case("batched 64x49x32·32x49", "y = MatMul(a, b)", where="swin", a=real(64, 3, 49, 32), b=real(64, 3, 32, 49)),
    case("einsum bhid,bhjd->bhij", 'y = Einsum<equation="bhid,bhjd->bhij">(a, b)', where="vision transformer",
         a=real(1, 12, 128, 64), b=real(1, 12, 128, 64)),
    case("einsum bhwc,hkc->bhwk", 'y = Einsum<equation="bhwc,hkc->bhwk">(a, b)', where="segment anything",
         a=real(12, 32, 32, 64), b=real(32, 32, 64)),
    case("attention group 12x128x64",
         "s = MatMul(q, kt) t = Mul(s, c) p = Softmax<axis=-1>(t) y = MatMul(p, v)", where="minilm",
         q=real(1, 12, 128, 64), kt=real(1, 12, 64, 128), v=real(1, 12, 128, 64), c=given(0.125, "float32")),
    case("attention group with mask 12x384x64",
         "s = MatMul(q, kt) t = Mul(s, c) u = Add(t, m) p = Softmax<axis=-1>(u) y = MatMul(p, v)", where="bert",
         q=real(1, 12, 384, 64), kt=real(1, 12, 64, 384), v=real(1, 12, 384, 64), c=given(0.125, "float32"),
         m=real(1, 1, 1, 384)),
    case("Attention 12x128x64", "y = Attention(q, k, v)", opset=23, where="exports since opset 23", **_HEADS),
    case("Attention causal 12x512x64", "y = Attention<is_causal=1>(q, k, v)", opset=23, where="gpt2",
         **{n: real(1, 12, 512, 64) for n in "qkv"}),
    case("Attention of one token, 12x1024 kept", "y = Attention(q, k, v)", opset=23, where="gpt2",
         q=real(1, 12, 1, 64), k=real(1, 12, 1024, 64), v=real(1, 12, 1024, 64)),
    case("RotaryEmbedding 12x512x64", "y = RotaryEmbedding(x, c, s, p)", opset=23, where="llama",
         x=real(1, 12, 512, 64), c=weight(1024, 32), s=weight(1024, 32), p=whole(0, 1024, 1, 512)),
    case("rotary group 12x512x64",
         "a, b = Split<axis=-1>(x, h) n = Neg(b) r = Concat<axis=-1>(n, a) u = Mul(x, c) v = Mul(r, s) y = Add(u, v)",
         where="llama", x=real(1, 12, 512, 64), h=given([32, 32]), c=real(1, 1, 512, 64), s=real(1, 1, 512, 64)),
)  # fmt: skip
