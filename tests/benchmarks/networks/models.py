"""The networks, by short name: a ``light_*`` model with seeded weights, or a file of the models folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

FOLDER = "WORKBENCH_REAL_MODELS"
"""Environment variable with the folder of exported models (see tests/real_models)."""

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Network:
    """Where a network comes from, and the shapes of its open inputs."""

    name: str
    source: str
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def file(self, folder: Path) -> Path:
        """ONNX file; light models get their weights filled in and are kept in `folder`."""
        if not self.source.startswith("light_"):
            found = next(iter(sorted(Path(os.environ.get(FOLDER, ".")).rglob(self.source))), None)
            if found is None:
                raise SystemExit(
                    f"{self.name}: no {self.source} under ${FOLDER}; tests/real_models/fetch.py and export.py get them"
                )
            return found
        path = folder / f"{self.source}.onnx"
        if not path.exists():
            from workbench.cli import main

            main(["tasks", self.source, "--fill-weights", "0", "--save-filled", str(path)])
        return path

    def inputs(self, path: Path) -> Arrays:
        """Seeded inputs: random numbers, token numbers, and masks that let everything through."""
        import workbench as wb

        graph = wb.load_onnx(str(path), shapes=self.shapes or None)
        rng = np.random.default_rng(0)
        return {name: array(name, t.shape, t.dtype, rng) for name, t in graph.input_types().items()}


def array(name: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """A random input; numbers of tokens for integers, and ones for masks."""
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    return np.ones(shape, dtype) if "mask" in name else rng.integers(0, 1000, shape).astype(dtype)


_IMAGE = {"x": (1, 3, 224, 224)}
_TOKENS = {"input_ids": (1, 128), "attention_mask": (1, 128)}

NETWORKS = {
    n.name: n
    for n in (
        Network("resnet50", "light_resnet50"),
        Network("squeezenet", "light_squeezenet"),
        Network("mobilenetv2", "mobilenetv2_dynamo_op18.onnx", _IMAGE),
        Network("densenet121", "light_densenet121"),
        Network("inception_v1", "light_inception_v1"),
        Network("vgg19", "light_vgg19"),
        Network("minilm", "minilm_dynamo_op18.onnx", _TOKENS),
        Network("text_detector", "ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 640, 640)}),
        Network("face_detector", "pnet.onnx", {"input_1": (1, 480, 640, 3)}),
        Network("text_recogniser", "ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}),
    )
}
