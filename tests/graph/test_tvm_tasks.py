"""ResNet-50's tasks beside those that TVM's tutorial prints, shape by shape, with the reason of each difference.

The two networks are not the same ResNet-50. The tutorial's is the pre-activation variant (normalise, relu, convolve),
with the stride on the first 1x1 convolution of a stage; ours (onnx-caffe2) is the original one (convolve, normalise,
relu), with the stride on the 3x3 convolution.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from workbench.graph import extract_tasks, load_onnx

DATA = Path(__file__).parent.parent / "data" / "tvm-tutorial-resnet50-tasks.txt"

STRIDE = "the tutorial's network halves the image in the first 1x1 convolution of a stage, ours in its 3x3 convolution"
WINOGRAD = (
    "TVM turns 3x3 convolutions without stride into Winograd form where it expects a gain; "
    "ours are convolutions whose schedules may take that step (tests/tune/test_winograd.py)"
)
LATE_BIAS = (
    "pre-activation: normalisation comes after the residual sum, so nothing is folded into this convolution; "
    "ours has its own normalisation, folded into weights and bias"
)
LATE_RELU = (
    "pre-activation: the shortcut needs the sum before normalisation too, so bias and relu are not part of this kernel"
)
BIAS_AFTER_SUM = (
    "the same three additions in another order: the tutorial adds residual, then bias; we add bias, then residual"
)
LAST_NORM = (
    "the last normalisation follows a sum, so its scale cannot be folded into weights and stays as a multiplication"
)
POOL_NORM = "pre-activation: the first normalisation and relu of the network follow the pooling; ours precede it"
GEMM = "weights as [N, K] in the tutorial; ours are constants, transposed to [K, N] ahead of time"
BORDER = "the tutorial's input is NHWC; the model's is NCHW and is transposed once"


def tutorial() -> dict[int, tuple[str, tuple, tuple | None, tuple, frozenset[str]]]:
    """Number -> (kind, input shape, kernel shape, output shape, epilogue)."""
    parts = re.split(r"=+ Task (\d+)  ", DATA.read_text())[1:]
    kinds = ("winograd", "conv2d_nhwc", "softmax", "adaptive_pool", "pool_max", "matmul")
    out = {}
    for number, text in zip(parts[::2], parts[1::2], strict=True):
        head = text.split("\n")[0]
        shapes = [tuple(int(d) for d in s.split(",")) for s in re.findall(r"\[([\d, ]+)\]", head)]
        kind = next(k for k in kinds if k in text)
        kernel = shapes[1] if kind in ("winograd", "conv2d_nhwc", "matmul") else None
        extra = Counter(
            "bias" if s.count(1) == len(s) - 1 or len(s) == 2 else "residual" for s in shapes[2 if kernel else 1 : -1]
        )
        words = {w for w in ("bias", "residual") if extra[w]} | ({"relu"} if "T_relu" in text else set())
        words |= {"scale"} if "T_multiply" in text else set()
        out[int(number)] = kind, shapes[0], kernel, shapes[-1], frozenset(words)
    return out


def ours(task) -> tuple[str, tuple, tuple | None, tuple, frozenset[str]]:
    shapes = {b.name: tuple(b.shape) for b in task.func.params}
    word = task.name.split()[0]
    kind = {"conv2d": "conv2d_nhwc", "dense": "matmul", "global_avg_pool": "adaptive_pool", "max_pool": "pool_max"}
    (out,) = (tuple(b.shape) for b in task.func.outputs)
    words = {"bias" for _ in "b" if "bias" in shapes} | {"residual" for _ in "r" if "R" in shapes}
    words |= {"relu"} if "+ relu" in task.name else set()
    return kind.get(word, word), shapes["X"], shapes.get("W"), out, frozenset(words)


#: Tutorial task -> (what our kernel of the same shapes does after its main operation, why it differs).
MATCHES: dict[int, tuple[str, str]] = {
    0: ("bias", LATE_BIAS),
    1: ("bias residual relu", LATE_RELU),
    2: ("bias residual relu", BIAS_AFTER_SUM),
    4: ("bias", LATE_BIAS),
    5: ("bias relu", WINOGRAD),
    6: ("bias relu", ""),
    7: ("bias relu", WINOGRAD),
    8: ("bias residual relu", LATE_RELU),
    9: ("bias residual relu", LATE_RELU),
    10: ("", ""),
    11: ("", ""),
    12: ("bias residual relu", LATE_RELU),
    13: ("bias relu", ""),
    15: ("bias residual relu", BIAS_AFTER_SUM),
    16: ("bias relu", ""),
    17: ("bias relu", ""),
    18: ("bias", LATE_BIAS),
    19: ("bias residual relu", BIAS_AFTER_SUM),
    20: ("bias relu", ""),
    21: ("bias relu", ""),
    23: ("bias residual relu", LAST_NORM),
    24: ("bias relu", ""),
    25: ("bias", LATE_BIAS),
    26: ("bias", GEMM),
    27: ("", POOL_NORM),
    28: ("bias relu", ""),
}
#: Tutorial tasks whose shapes do not occur in our network.
ONLY_TUTORIAL = {3: STRIDE, 14: STRIDE, 22: STRIDE}
#: Our tasks whose shapes do not occur in the tutorial's network.
ONLY_OURS = {
    "transpose 1x3x224x224 to 1x224x224x3": BORDER,
    "conv2d 1x1 256→128 @56x56 + bias + relu": STRIDE,
    "conv2d 1x1 512→256 @28x28 + bias + relu": STRIDE,
    "conv2d 1x1 1024→512 @14x14 + bias + relu": STRIDE,
    "conv2d 3x3/2 128→128 @56x56 + bias + relu": STRIDE,
    "conv2d 3x3/2 256→256 @28x28 + bias + relu": STRIDE,
    "conv2d 3x3/2 512→512 @14x14 + bias + relu": STRIDE,
}


@pytest.fixture(scope="module")
def tasks(light):
    return extract_tasks(load_onnx(light("resnet50")).optimize())


def test_the_tutorial_lists_29_tasks():
    assert sorted(tutorial()) == list(range(29))
    assert sorted({**MATCHES, **ONLY_TUTORIAL}) == list(range(29))


@pytest.mark.parametrize("number", sorted(MATCHES))
def test_a_task_of_the_tutorial_has_ours_of_the_same_shapes(tasks, number):
    kind, x, kernel, out, words = tutorial()[number]
    mine_words, reason = MATCHES[number]
    if kind == "winograd":
        kind, kernel = "conv2d_nhwc", (3, 3, *kernel[2:])  # tiles of 4x4: 4 + 3 - 1 = 6
    if kind == "matmul":
        kernel = kernel[::-1]
    assert (kind, x, kernel, out, frozenset(mine_words.split())) in [ours(t) for t in tasks]
    same = frozenset(mine_words.split()) == words
    assert same == (reason in ("", WINOGRAD, GEMM, BIAS_AFTER_SUM)), reason


@pytest.mark.parametrize("number", sorted(ONLY_TUTORIAL))
def test_strided_1x1_convolutions_are_only_in_the_tutorial(tasks, number):
    _, x, kernel, out, _ = tutorial()[number]
    assert kernel[:2] == (1, 1)
    assert x[1] == 2 * out[1]
    assert (x, kernel, out) not in [ours(t)[1:4] for t in tasks]


def test_nothing_else_differs(tasks):
    shapes = [(k, x, (3, 3, *w[2:]) if k == "winograd" else w, o) for k, x, w, o, _ in tutorial().values()]
    known = {("conv2d_nhwc" if k == "winograd" else k, x, w[::-1] if k == "matmul" else w, o) for k, x, w, o in shapes}
    assert {t.name for t in tasks if ours(t)[:4] not in known} == set(ONLY_OURS)
    assert len(tasks) == 29


def test_every_convolution_of_the_network_is_in_a_task(tasks):
    convs = [t for t in tasks if t.name.startswith("conv2d")]
    assert sum(t.weight for t in convs) == 53
    assert sum(t.weight * t.flops for t in tasks) == pytest.approx(8.2e9, rel=0.01)
