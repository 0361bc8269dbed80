"""Small networks in PyTorch, written as people write them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, before: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.down = None
        if stride != 1 or before != channels:
            self.down = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.down is None else self.down(x)))


class ResNet18(nn.Module):
    def __init__(self, classes: int = 1000, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        sizes = [(width, 1), (width, 1), (2 * width, 2), (2 * width, 1), (4 * width, 2), (4 * width, 1),
                 (8 * width, 2), (8 * width, 1)]  # fmt: skip
        before = [width, *(c for c, _ in sizes)]
        self.blocks = nn.Sequential(*(Block(b, c, s) for b, (c, s) in zip(before, sizes, strict=False)))
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8 * width, classes)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class Bert(nn.Module):
    """Embeddings, and an encoder of torch's own layers."""

    def __init__(self, vocabulary: int = 1000, size: int = 128, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, size), nn.Embedding(512, size)
        self.norm = nn.LayerNorm(size, eps=1e-12)
        layer = nn.TransformerEncoderLayer(size, heads, 4 * size, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.pooler = nn.Linear(size, size)

    def forward(self, ids, mask):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.places(places))
        x = self.encoder(x, src_key_padding_mask=mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class UNet(nn.Module):
    def __init__(self, width: int = 16, classes: int = 2, bilinear: bool = False) -> None:
        super().__init__()
        w = width
        self.down = nn.ModuleList([self.twice(3, w), self.twice(w, 2 * w), self.twice(2 * w, 4 * w)])
        self.up = nn.ModuleList(
            nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(c, c // 2, 1))
            if bilinear
            else nn.ConvTranspose2d(c, c // 2, 2, 2)
            for c in (4 * w, 2 * w)
        )
        self.join = nn.ModuleList([self.twice(4 * w, 2 * w), self.twice(2 * w, w)])
        self.head = nn.Conv2d(w, classes, 1)

    @staticmethod
    def twice(before: int, channels: int) -> nn.Module:
        layers = []
        for b in (before, channels):
            layers += [nn.Conv2d(b, channels, 3, padding=1), nn.GroupNorm(4, channels), nn.SiLU()]
        return nn.Sequential(*layers)

    def forward(self, x):
        kept = []
        for k, layer in enumerate(self.down):
            x = layer(x if k == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for up, join, side in zip(self.up, self.join, kept[-2::-1], strict=True):
            x = join(torch.cat([side, up(x)], 1))
        return self.head(x)
