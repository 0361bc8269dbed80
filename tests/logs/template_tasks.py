"""Tasks of AutoTVM's templates with knobs drawn from their spaces, and what NumPy says of them."""

import math

import numpy as np

from workbench.logs.replays.replayers.autotvm import replay_autotvm
from workbench.logs.replays.result import Request
from workbench.target import Target


def tensor(*shape):
    return ["TENSOR", list(shape), "float32"]


def splits(**factors):
    return [[name, "sp" if isinstance(value, list) else "ot", value] for name, value in factors.items()]


def rebuilt(name, args, entities):
    raw = {"input": ["llvm", name, args, {}], "config": {"index": 0, "entity": entities}}
    schedule, steps, notes = replay_autotvm(Request(None, 0, raw, None, Target("llvm")))
    assert schedule.is_concrete
    assert sum(len(step.ours) for step in steps) == len(schedule.trace)
    return schedule, notes


def blocked(image, block):
    n, c, h, w = image.shape
    return np.ascontiguousarray(image.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2))


def convolved(image, kernel, stride, padding, groups=1, dilation=1):
    """Sum over windows, in double precision; `stride` is a number or one for each dimension."""
    top, left, bottom, right = padding
    padded = np.pad(image, ((0, 0), (0, 0), (top, bottom), (left, right))).astype(np.float64)
    down, across = np.broadcast_to(stride, 2)
    filters, own, high, wide = kernel.shape
    out_h = (padded.shape[2] - (high - 1) * dilation - 1) // down + 1
    out_w = (padded.shape[3] - (wide - 1) * dilation - 1) // across + 1
    out = np.zeros((image.shape[0], filters, out_h, out_w))
    for f in range(filters):
        first = f // (filters // groups) * own
        for i in range(high):
            for j in range(wide):
                rows = slice(i * dilation, i * dilation + (out_h - 1) * down + 1, down)
                columns = slice(j * dilation, j * dilation + (out_w - 1) * across + 1, across)
                window = padded[:, first : first + own, rows, columns]
                out[:, f] += np.einsum("nchw,c->nhw", window, kernel[f, :, i, j].astype(np.float64))
    return out


def spread(image, kernel, stride, padding, extra):
    """A transposed convolution: each pixel adds its multiple of the kernel to the result."""
    (n, _, height, width), (_, filters, high, wide) = image.shape, kernel.shape
    top, left, bottom, right = padding
    out = np.zeros((n, filters, (height - 1) * stride[0] + high + extra[0], (width - 1) * stride[1] + wide + extra[1]))
    for y in range(height):
        for x in range(width):
            part = np.einsum("nc,cfij->nfij", image[:, :, y, x].astype(np.float64), kernel)
            out[:, :, y * stride[0] : y * stride[0] + high, x * stride[1] : x * stride[1] + wide] += part
    return out[:, :, top : out.shape[2] - bottom, left : out.shape[3] - right]


def factors(draw, extent, parts):
    """One of the ways to write an extent as a product; the outermost part is often left open."""
    found, rest = [1] * parts, extent
    for prime in (2, 3, 5, 7):
        while rest % prime == 0:
            rest //= prime
            found[draw.randrange(parts)] *= prime
    found[0] *= rest
    return [-1, *found[1:]] if draw.random() < 0.7 else found


def _numbers(draw, *shape):
    return np.random.default_rng(draw.randrange(1 << 30)).standard_normal(shape).astype(np.float32)


def _dense(draw):
    m, n, k = (draw.choice([1, 4, 6, 12]), draw.choice([8, 12, 20]), draw.choice([8, 12, 24]))
    data, weight = _numbers(draw, m, k), _numbers(draw, n, k)
    return [tensor(m, k), tensor(n, k), None, "float32"], (m, n, k), (data, weight), data @ weight.T


def dense_nopack(draw):
    args, (m, n, k), arrays, want = _dense(draw)
    knobs = {"tile_y": factors(draw, m, 2), "tile_x": factors(draw, n, 2), "tile_k": factors(draw, k, 2)}
    return args, knobs, arrays, want


def dense_pack(draw):
    args, (m, n, k), arrays, want = _dense(draw)
    knobs = {"tile_y": factors(draw, m, 3), "tile_x": factors(draw, n, 3), "tile_k": factors(draw, k, 2)}
    inner = {"tile_inner": factors(draw, m, 2)} if draw.random() < 0.5 else {}
    return args, knobs | inner, arrays, want


def dense_large_batch(draw):
    args, (m, n, k), arrays, want = _dense(draw)
    knobs = {"tile_x": factors(draw, m, 4), "tile_y": factors(draw, n, 4), "tile_k": factors(draw, k, 3)}
    return args, knobs, arrays, want


def dense_small_batch(draw):
    args, (_, _, k), arrays, want = _dense(draw)
    return args, {"tile_k": factors(draw, k, 2)}, arrays, want


def batch_matmul(draw, parts=2):
    batch, m, n, k = draw.choice([1, 3]), draw.choice([4, 6, 12]), draw.choice([8, 10, 12]), draw.choice([6, 8, 20])
    a, b = _numbers(draw, batch, m, k), _numbers(draw, batch, n, k)
    knobs = {"tile_y": factors(draw, m, parts), "tile_x": factors(draw, n, parts), "tile_k": factors(draw, k, 2)}
    args = [tensor(*a.shape), tensor(*b.shape), *([[batch, m, n]] if draw.random() < 0.5 else [])]
    return args, knobs, (a, b), a @ b.transpose(0, 2, 1)


def batch_matmul_cuda(draw):
    args, knobs, arrays, want = batch_matmul(draw, 3)
    return args, knobs | _unrolled(draw, [8, 16, 32, 64]), arrays, want


def _unrolled(draw, steps):
    return {"auto_unroll_max_step": draw.choice(steps), "unroll_explicit": draw.choice([0, 1])}


def _image(draw, kernels=(1, 3), strides=(1, 2), dilations=(1,)):
    size, stride, dilation = draw.choice(kernels), draw.choice(strides), draw.choice(dilations)
    image = _numbers(draw, draw.choice([1, 1, 2]), draw.choice([4, 6]), draw.choice([6, 7, 8]), draw.choice([6, 8, 9]))
    padding = [draw.choice([0, 1]) for _ in range(4)] if size > 1 else [0] * 4
    return image, size, stride, padding, dilation


def _blocked(draw, filters, kernel_of, groups_of):
    image, size, stride, padding, _ = _image(draw)
    channels = image.shape[1]
    weight = _numbers(draw, *kernel_of(channels, filters or channels, size))
    want = convolved(image, weight, stride, padding, groups_of(channels))
    args = [tensor(*image.shape), tensor(*weight.shape), [stride] * 2, padding, [1, 1], "NCHW", "NCHW", "float32"]
    ic, oc = draw.choice([1, 2, channels]), draw.choice([1, 2, want.shape[1]])
    columns = {"tile_ow": [-1, draw.randrange(1, want.shape[3] + 1)]}
    return image, weight, want, args, {"tile_ic": [-1, ic], "tile_oc": [-1, oc], **columns}, (ic, oc, size)


def blocked_convolution(draw):
    kinds = (lambda c, f, s: (f, c, s, s)), (lambda c: 1)
    image, weight, want, args, knobs, (ic, oc, size) = _blocked(draw, 12, *kinds)
    f, c = weight.shape[:2]
    packed = weight.reshape(f // oc, oc, c // ic, ic, size, size).transpose(0, 2, 4, 5, 3, 1)
    how = {"tile_oh": draw.choice([1, 2])} if size == 1 else {"unroll_kw": draw.random() < 0.5}
    return args, knobs | how, (blocked(image, ic), np.ascontiguousarray(packed)), blocked(want, oc)


def blocked_depthwise(draw):
    kinds = (lambda c, f, s: (c, 1, s, s)), (lambda c: c)
    image, weight, want, args, knobs, (ic, oc, size) = _blocked(draw, None, *kinds)
    packed = weight.reshape(-1, oc, size, size).transpose(0, 2, 3, 1)
    how = {"unroll_kw": draw.random() < 0.5}
    return args, knobs | how, (blocked(image, ic), np.ascontiguousarray(packed)), blocked(want, oc)


def _tiled(draw, want, **reduced):
    knobs = {f"tile_{name}": factors(draw, want.shape[d], 4) for d, name in ((1, "f"), (2, "y"), (3, "x"))}
    return knobs | {name: factors(draw, extent, 2) for name, extent in reduced.items()}


def convolution(draw):
    image, size, stride, padding, dilation = _image(draw, dilations=(1, 2))
    weight = _numbers(draw, draw.choice([4, 12]), image.shape[1], size, size)
    want = convolved(image, weight, stride, padding, 1, dilation)
    args = [tensor(*image.shape), tensor(*weight.shape), [stride] * 2, padding, [dilation] * 2, "float32"]
    knobs = _tiled(draw, want, tile_rc=image.shape[1], tile_ry=size, tile_rx=size)
    return args, knobs | _unrolled(draw, [0, 512, 1500]), (image, weight), want


def depthwise(draw):
    image, size, stride, padding, _ = _image(draw, kernels=(3,))
    weight = _numbers(draw, image.shape[1], 1, size, size)
    want = convolved(image, weight, stride, padding, image.shape[1])
    args = [tensor(*image.shape), tensor(*weight.shape), [stride] * 2, padding, [1, 1], "float32"]
    return args, _tiled(draw, want) | _unrolled(draw, [0, 256, 1500]), (image, weight), want


def winograd(draw):
    image, _, _, padding, _ = _image(draw, kernels=(3,))
    weight = _numbers(draw, draw.choice([4, 12]), image.shape[1], 3, 3)
    want = convolved(image, weight, 1, padding)
    m = 4 if image.shape[2] % 8 == 0 else 2
    places = image.shape[0] * math.ceil(want.shape[2] / m) * math.ceil(want.shape[3] / m)
    args = [tensor(*image.shape), tensor(*weight.shape), [1, 1], padding, [1, 1], "float32"]
    knobs = {
        "tile_b": [-1, 1, 1, 1], "tile_y": factors(draw, len(weight), 4), "tile_x": factors(draw, places, 4),
        "tile_rc": factors(draw, image.shape[1], 2),
    }  # fmt: skip
    arrays = image, np.ascontiguousarray(weight.transpose(2, 3, 1, 0))
    return args, knobs | _unrolled(draw, [0, 128, 1500]), arrays, want


def transposed_2d(draw):
    stride = [draw.choice([1, 2, 3]) for _ in range(2)]
    extra = [draw.randrange(number) for number in stride]
    image, weight = _numbers(draw, 1, 4, 5, draw.choice([3, 4])), _numbers(draw, 4, draw.choice([1, 6]), 3, 4)
    padding = [draw.choice([0, 1]) for _ in range(4)]
    want = spread(image, weight, stride, padding, extra)
    args = [tensor(*image.shape), tensor(*weight.shape), stride, padding, "float32", extra]
    knobs = _tiled(draw, want) | {"tile_n": [-1, 1, 1, 1], "tile_rc": factors(draw, 4, 3)}
    return args, knobs | _unrolled(draw, [64, 512, 1500]) | {"fuse_yx": draw.choice([0, 1])}, (image, weight), want


def transposed_1d(draw):
    stride, padding = draw.choice([1, 2, 4]), draw.choice([0, 2])
    image, weight = _numbers(draw, 1, 4, 6), _numbers(draw, 4, draw.choice([1, 3]), 8)
    want = spread(image[:, :, None], weight[:, :, None], [1, stride], [0, padding, 0, padding], [0, 0])[:, :, 0]
    args = [tensor(*image.shape), tensor(*weight.shape), [stride], [padding], "float32", [0]]
    knobs = {
        "tile_n": [-1, 1, 1, 1], "tile_f": factors(draw, want.shape[1], 4), "tile_x": factors(draw, want.shape[2], 4),
        "tile_rc": factors(draw, 4, 3),
    }  # fmt: skip
    return args, knobs | _unrolled(draw, [64, 512]), (image, weight), want


TASKS = {
    "dense_nopack.x86": dense_nopack,
    "dense_pack.x86": dense_pack,
    "batch_matmul.x86": batch_matmul,
    "conv2d_NCHWc.x86": blocked_convolution,
    "depthwise_conv2d_NCHWc.x86": blocked_depthwise,
    "conv2d_nchw.cuda": convolution,
    "depthwise_conv2d_nchw.cuda": depthwise,
    "conv2d_transpose_nchw.cuda": transposed_2d,
    "conv1d_transpose_nchw.cuda": transposed_1d,
    "conv2d_nchw_winograd.cuda": winograd,
    "dense_large_batch.cuda": dense_large_batch,
    "dense_small_batch.cuda": dense_small_batch,
    "batch_matmul.cuda": batch_matmul_cuda,
}
"""Template -> a function that draws arguments, knobs, arrays and the right result."""
