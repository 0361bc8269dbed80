"""Products and recurrences."""

from __future__ import annotations

from random_models import values
from random_models.recipes.base import recipe
from random_models.values import array


@recipe("MatMul")
def matmul(d, op):
    x = d.tensor(d.dtype(op), rank=(1, 2, 2, 3, 4), kind="mild")
    d.add(op, [x, d.tensor(d.dtype_of(x), shape=right(d, d.shape(x)), kind="mild")])


def right(d, left):
    """Shape of a matrix (or vector, or several) that a tensor can be multiplied with."""
    k = left[-1]
    if d.flip(0.1):
        return (k,)
    batch = left[:-2][d.whole(0, max(0, len(left) - 2)) :]
    return (*(1 if d.flip(0.3) else n for n in batch), k, d.whole(0 if d.flip(0.05) else 1, 6))


@recipe("Gemm")
def gemm(d, op):
    x = d.tensor(d.dtype(op), rank=2, kind="mild")
    a, b = d.whole(0, 1), d.whole(0, 1)
    m, k = d.shape(x)[::-1] if a else d.shape(x)
    n = d.choice(m, d.whole(1, 6))
    y = d.tensor(d.dtype_of(x), shape=(n, k) if b else (k, n), kind="mild")
    c = d.tensor(d.dtype_of(x), shape=d.choice((), (1,), (n,), (1, n), (m, 1), (m, n), (1, 1)), kind="mild")
    attrs = d.maybe(alpha=d.choice(0.5, 2.0, 0.0, -1.0), beta=d.choice(0.5, 2.0, 0.0))
    d.add(op, [x, y, *([c] if d.opset < 11 or d.flip(0.7) else [])], transA=a, transB=b, **attrs)


EQUATIONS = {
    "ij,jk->ik": "23 34", "ij,kj": "23 43", "bij,bjk->bik": "123 134", "ii->i": "33", "ij->ji": "23", "i,j->ij": "2 3",
    "ij->": "23", "bij,bkj->bik": "223 243", "...ij,...jk->...ik": "223 34", "ij,ij->i": "23 23", "ii": "33",
    "bhqd,bhkd->bhqk": "1223 1243", "i,i": "3 3", " i j , j -> i ": "23 3", "ijk->j": "234", "ij,jk,kl->il": "23 34 42",
}  # fmt: skip


@recipe("Einsum")
def einsum(d, op):
    equation = d.choice(*EQUATIONS)
    kind = d.dtype(op)
    shapes = [tuple(int(n) for n in s) for s in EQUATIONS[equation].split()]
    d.add(op, [d.tensor(kind, shape=s, kind="mild") for s in shapes], equation=equation)


@recipe("Det")
def determinant(d, op):
    n = d.whole(1, 4)
    d.add(op, [d.tensor(d.dtype(op), shape=(*values.shape(d.rng, d.whole(0, 2), 0.0), n, n), kind="mild")])


ACTIVATIONS = ("Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign", "Elu", "LeakyRelu", "Affine", "ScaledTanh",
               "ThresholdedRelu", "Softplus")  # fmt: skip


#: Those that take numbers, and whether their defaults are the same for everybody.
WITH_ALPHA = {"HardSigmoid": True, "Elu": True, "LeakyRelu": True, "Affine": False, "ScaledTanh": False,
              "ThresholdedRelu": False}  # fmt: skip
WITH_BETA = ("HardSigmoid", "Affine", "ScaledTanh")


def _activations(d, count):
    names = [d.choice(*ACTIVATIONS) for _ in range(count)]
    alphas = [d.choice(0.1, 0.5, 1.5) for n in names if n in WITH_ALPHA]
    betas = [d.choice(0.2, 0.5, 1.0) for n in names if n in WITH_BETA]
    if d.flip(0.4) and all(WITH_ALPHA.get(n, True) for n in names):
        return {"activations": names}
    return {"activations": names, **({"activation_alpha": alphas} if alphas else {}),
            **({"activation_beta": betas} if betas else {})}  # fmt: skip


@recipe("RNN GRU LSTM")
def recurrent(d, op):
    gates, per, kinds = {"RNN": (1, 1, 1), "GRU": (3, 2, 2), "LSTM": (4, 3, 3)}[op]
    direction = d.choice("forward", "reverse", "bidirectional")
    dirs = 1 + (direction == "bidirectional")
    s, b, i, h = (d.whole(1, 4) for _ in range(4))
    first = d.opset >= 14 and d.flip(0.2)

    def numbers(*shape):
        return d.tensor("float32", shape=shape, kind="mild")

    lens = d.fresh(d.rng.integers(1, s + 1, b).astype("i4"), static=True) if d.flip(0.3) else ""
    state = (b, dirs, h) if first else (dirs, b, h)
    inputs = [numbers(b, s, i) if first else numbers(s, b, i), numbers(dirs, gates * h, i), numbers(dirs, gates * h, h)]
    inputs += [numbers(dirs, 2 * gates * h) if d.flip() else "", lens, numbers(*state) if d.flip(0.4) else ""]
    if op == "LSTM":
        inputs += [numbers(*state) if d.flip(0.4) else "", numbers(dirs, per * h) if d.flip(0.3) else ""]
    while inputs[-1] == "":
        inputs.pop()
    attrs = {"hidden_size": h, "direction": direction, **({"layout": 1} if first else {})}
    if d.flip(0.3):
        attrs |= _activations(d, kinds * dirs)
    attrs |= d.maybe(clip=d.choice(0.5, 3.0)) if d.flip(0.2) else {}
    if op == "GRU":
        attrs |= d.maybe(linear_before_reset=d.whole(0, 1))
    if op == "LSTM" and d.flip(0.1):
        attrs["input_forget"] = 1
    d.add(op, inputs, outputs=3 if op == "LSTM" else 2, **attrs)


@recipe("MatMulInteger")
def integers(d, op):
    kind = d.dtype(op)
    # Without anything to add onnxruntime gives what was in memory.
    x = d.tensor(kind, rank=(2, 3), fits=lambda a: a.shape[-1] > 0)
    other = d.dtype(op, 1)
    y = d.tensor(other, shape=right(d, d.shape(x)))
    zeros = [
        d.fresh(array(d.rng, kind, d.choice((), (1,))), True),
        d.fresh(array(d.rng, other, d.choice((), (1,))), True),
    ]
    d.add(op, [x, y, *zeros[: d.whole(0, 2)]])


@recipe("DeformConv")
def deformable(d, op):
    c, o, k, n = d.whole(1, 2), d.whole(1, 3), d.whole(1, 2), d.whole(3, 5)
    out = n - k + 1
    x, w = d.tensor(shape=(1, c, n, n), kind="mild"), d.tensor(shape=(o, c, k, k), kind="mild")
    more = [d.tensor(shape=(1, 2 * k * k, out, out), kind="mild"), d.tensor(shape=(o,)),
            d.tensor(shape=(1, k * k, out, out), kind="mild")]  # fmt: skip
    d.add(op, [x, w, *more[: d.whole(1, 3)]], kernel_shape=[k, k])
