"""Convolutions, pooling and what else looks at a neighbourhood."""

from operators.case import Case, case, real, weight


def _conv(
    name: str, size: int, ci: int, co: int, kernel: int, where: str, group: int = 1, batch: int = 1, **attrs: int
) -> Case:
    stride, dilation = attrs.get("stride", 1), attrs.get("dilation", 1)
    pad = dilation * (kernel // 2)
    more = f"strides=[{stride}, {stride}], dilations=[{dilation}, {dilation}], group={group}"
    text = f"y = Conv<pads=[{pad}, {pad}, {pad}, {pad}], {more}>(x, w, b)"
    operands = {"x": real(batch, ci, size, size), "w": weight(co, ci // group, kernel, kernel), "b": weight(co)}
    return case(name, text, where=where, **operands)


def _pool(name: str, op: str, channels: int, size: int, kernel: int, stride: int, pad: int, where: str) -> Case:
    window = f"kernel_shape=[{kernel}, {kernel}], strides=[{stride}, {stride}], pads=[{pad}, {pad}, {pad}, {pad}]"
    return case(name, f"y = {op}<{window}>(x)", where=where, x=real(1, channels, size, size))


CASES = (
    _conv("conv 3x3 64→64 @56", 56, 64, 64, 3, "resnet50"),
    _conv("conv 3x3/2 128→128 @56", 56, 128, 128, 3, "resnet50", stride=2),
    _conv("conv 3x3 512→512 @7", 7, 512, 512, 3, "resnet50"),
    _conv("conv 1x1 256→64 @56", 56, 256, 64, 1, "resnet50"),
    _conv("conv 1x1/2 256→512 @56", 56, 256, 512, 1, "resnet50", stride=2),
    _conv("conv 1x1 37→53 @31", 31, 37, 53, 1, "pruned networks"),
    _conv("conv 7x7/2 3→64 @224", 224, 3, 64, 7, "resnet50", stride=2),
    _conv("conv 5x5 32→96 @28", 28, 32, 96, 5, "inception_v1"),
    _conv("conv 3x3 dilated 4 64→64 @56", 56, 64, 64, 3, "segmentation", dilation=4),
    _conv("conv 3x3 64→64 @28, batch 8", 28, 64, 64, 3, "resnet18", batch=8),
    _conv("grouped 32 3x3 128→128 @56", 56, 128, 128, 3, "resnext", group=32),
    _conv("grouped 4 1x1 272→68 @28", 28, 272, 68, 1, "shufflenet", group=4),
    _conv("depthwise 3x3 144 @56", 56, 144, 144, 3, "mobilenetv2", group=144),
    _conv("depthwise 3x3/2 96 @112", 112, 96, 96, 3, "mobilenetv2", group=96, stride=2),
    _conv("depthwise 5x5 120 @28", 28, 120, 120, 5, "ppocrv4", group=120),
    _conv("depthwise 7x7 96 @56", 56, 96, 96, 7, "convnext", group=96),
    case("conv 1-D 9 128→128 @1000", "y = Conv<pads=[4, 4]>(x, w, b)", where="wav2vec",
         x=real(1, 128, 1000), w=weight(128, 128, 9), b=weight(128)),
    case("depthwise 1-D 31 256 @500", "y = Conv<pads=[15, 15], group=256>(x, w)", where="conformer",
         x=real(1, 256, 500), w=weight(256, 1, 31)),
    case("conv 3-D 3x3x3 16→32 @16x56x56", "y = Conv<pads=[1, 1, 1, 1, 1, 1]>(x, w)", where="video",
         x=real(1, 16, 16, 56, 56), w=weight(32, 16, 3, 3, 3)),
    case("transposed 2x2/2 64→64 @80", "y = ConvTranspose<strides=[2, 2]>(x, w, b)", where="ppocrv4_det",
         x=real(1, 64, 80, 80), w=weight(64, 64, 2, 2), b=weight(64)),
    case("transposed 4x4/2 128→64 @28", "y = ConvTranspose<strides=[2, 2], pads=[1, 1, 1, 1]>(x, w)", where="dcgan",
         x=real(1, 128, 28, 28), w=weight(128, 64, 4, 4)),
    case("transposed 1-D 16/8 128→64 @200", "y = ConvTranspose<strides=[8], pads=[4, 4]>(x, w)", where="hifi-gan",
         x=real(1, 128, 200), w=weight(128, 64, 16)),
    case("transposed 3-D 2x2x2/2 32→16 @16", "y = ConvTranspose<strides=[2, 2, 2]>(x, w)", where="3-D u-net",
         x=real(1, 32, 16, 16, 16), w=weight(32, 16, 2, 2, 2)),
    _pool("max-pool 3x3/2 64 @112", "MaxPool", 64, 112, 3, 2, 1, "resnet50"),
    _pool("max-pool 2x2/2 64 @224", "MaxPool", 64, 224, 2, 2, 0, "vgg19"),
    _pool("max-pool 5x5/1 256 @20", "MaxPool", 256, 20, 5, 1, 2, "yolo"),
    _pool("max-pool 3x3/1 480 @14", "MaxPool", 480, 14, 3, 1, 1, "inception_v1"),
    _pool("average-pool 3x3/2 64 @112", "AveragePool", 64, 112, 3, 2, 1, "inception_v2"),
    _pool("average-pool 2x2/2 256 @28", "AveragePool", 256, 28, 2, 2, 0, "densenet121"),
    _pool("average-pool 7x7 2048 @7", "AveragePool", 2048, 7, 7, 1, 0, "resnet50"),
    case("global average pool 2048 @7", "y = GlobalAveragePool(x)", where="resnet50", x=real(1, 2048, 7, 7)),
    case("global average pool 64 @80", "y = GlobalAveragePool(x)", where="ppocrv4_det", x=real(1, 64, 80, 80)),
    case("global max pool 512 @14", "y = GlobalMaxPool(x)", where="attention of channels", x=real(1, 512, 14, 14)),
    case("LRN 5 192 @56", "y = LRN<size=5, alpha=0.0001, beta=0.75, bias=1.0>(x)", where="inception_v1",
         x=real(1, 192, 56, 56)),
)  # fmt: skip
