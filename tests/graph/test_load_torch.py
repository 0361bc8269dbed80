"""PyTorch modules by way of ONNX. What needs torch is skipped, with the reason, where torch is not installed."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

import workbench as wb
from workbench.errors import ModelError, UsageError
from workbench.graph.onnx import pytorch, read_program
from workbench.network.dynamic_shapes import DynamicExecutable

EXPORTERS = [
    "torchscript",
    pytest.param(
        "dynamo", marks=pytest.mark.skipif(find_spec("onnxscript") is None, reason="onnxscript is not installed")
    ),
]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: load_torch is not tested")


@pytest.fixture
def net(torch):
    torch.manual_seed(0)
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3, padding=1)
            self.norm = nn.BatchNorm2d(8)
            self.drop = nn.Dropout(0.9)
            self.head = nn.Linear(8, 5)

        def forward(self, image, scale):
            x = torch.relu(self.norm(self.conv(image))) * scale
            return self.head(self.drop(x).mean((2, 3)))

    return Net()


def examples(torch, batch=2):
    return torch.randn(batch, 3, 9, 7), torch.rand(8, 1, 1)


def close(got, want):
    (value,) = got.values()
    np.testing.assert_allclose(value, want.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_results_are_those_of_the_module_in_evaluation_mode(torch, net, exporter):
    net.train()
    net.head.eval()
    inputs = examples(torch)
    graph = wb.load_torch(net, inputs, exporter=exporter)
    assert graph.inputs == ("image", "scale")
    assert net.training
    assert not net.head.training
    feeds = {n: t.numpy() for n, t in zip(graph.inputs, inputs, strict=True)}
    close(wb.compile(graph).run(feeds), net.eval()(*inputs))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_open_dimensions_keep_their_names_and_take_other_sizes(torch, net, exporter, tmp_path):
    net.eval()
    dynamic = {"image": {0: "batch", 2: "height", -1: "width"}}
    path = tmp_path / "net.onnx"
    first = wb.load_torch(net, examples(torch), dynamic, exporter=exporter, save=path)
    assert first.types["image"].shape == (2, 3, 9, 7)
    other = wb.load_torch(net, examples(torch), dynamic, exporter=exporter, shapes={"image": (4, 3, 6, 5)})
    assert other.types["image"].shape == (4, 3, 6, 5)
    program = read_program(path)
    assert program.inputs[0].dims == ("batch", 3, "height", "width")
    executable = DynamicExecutable(program)
    for shape in ((1, 3, 8, 8), (3, 3, 5, 11)):
        image, scale = torch.randn(*shape), torch.rand(8, 1, 1)
        close(executable.run({"image": image.numpy(), "scale": scale.numpy()}), net(image, scale))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_open_dimensions_with_lengths_make_one_executable(torch, exporter):
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = torch.nn.Linear(8, 24)

        def forward(self, x, mask):
            q, k, v = self.qkv(x).reshape(1, -1, 3, 2, 4).permute(2, 0, 3, 1, 4)
            scores = (q @ k.transpose(-1, -2)).masked_fill(mask[:, None, None] == 0, -1e9)
            return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)

    net = Attention().eval()
    given = torch.randn(1, 9, 8), torch.ones(1, 9)
    n = torch.export.Dim("n", min=15, max=19)
    named = {"x": {1: "n"}, "mask": {1: "n"}}
    for dynamic, more in (({"x": {1: n}, "mask": {1: n}}, {}), (named, {"lengths": {"n": range(15, 20)}})):
        graph = wb.load_torch(net, given, dynamic, exporter=exporter, **more)
        assert graph.dynamic == {"n": (15, 16, 17, 18, 19)}
    assert wb.load_torch(net, given, named, exporter=exporter).types["x"].shape == (1, 9, 8)
    executable = wb.compile(graph, threads=1)
    assert not executable.reason
    for length in graph.dynamic["n"]:
        x, mask = torch.randn(1, length, 8), (torch.arange(length) < length - 2)[None].float()
        close(executable.run({"x": x.numpy(), "mask": mask.numpy()}), net(x, mask))


def test_a_dimension_without_lengths_keeps_the_size_of_its_example(torch):
    x = torch.randn(2, 3)
    dynamic = {"x": {0: torch.export.Dim("rows"), 1: "columns"}}

    class Twice(torch.nn.Module):
        def forward(self, x):
            return 2 * x

    graph = wb.load_torch(Twice(), x, dynamic, exporter="torchscript", lengths={"columns": [3, 4]})
    assert graph.dynamic == {"rows": (2,), "columns": (3, 4)}
    with pytest.raises(UsageError) as refused:
        wb.load_torch(Twice(), x, {"x": {0: 2 * torch.export.Dim("rows")}}, exporter="torchscript")
    assert refused.value.code == "usage.dynamic"


def test_arguments_by_name_and_values_that_are_no_tensors(torch):
    class Scaled(torch.nn.Module):
        def forward(self, x, factor=1.0, *, shift):
            return x * factor + shift

    x, shift = torch.randn(2, 3), torch.randn(3)
    given = {"shift": shift, "x": x, "factor": 2.0}
    graph = wb.load_torch(Scaled(), given, exporter="torchscript")
    assert set(graph.inputs) == {"x", "shift"}
    close(wb.compile(graph).run({"x": x.numpy(), "shift": shift.numpy()}), x * 2 + shift)
    single = wb.load_torch(torch.nn.ReLU(), x, exporter="torchscript")
    close(wb.compile(single).run({single.inputs[0]: x.numpy()}), x.relu())


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"module": "resnet"}, "usage.type", "Module"),
        ({"example_inputs": ()}, "usage.type", "do not fit forward"),
        ({"example_inputs": (1.0, 2.0)}, "usage.type", "tensor"),
        ({"dynamic": {"picture": {0: "n"}}}, "usage.dynamic", "'picture'"),
        ({"dynamic": {"image": {4: "n"}}}, "usage.dynamic", "4 dimensions"),
        ({"dynamic": {"image": {0: 7}}}, "usage.dynamic", "7"),
        ({"dynamic": ["image"]}, "usage.type", "dynamic"),
        ({"exporter": "onnx"}, "usage.torch", "'onnx'"),
        ({"opset": 1}, "usage.opset", "at least 7"),
    ],
)
def test_what_cannot_be_meant_is_refused(torch, net, change, code, word):
    arguments = {"module": net, "example_inputs": examples(torch), "exporter": "torchscript", **change}
    with pytest.raises(UsageError) as e:
        wb.load_torch(**arguments)
    assert e.value.code == code
    assert word in str(e.value)


def test_an_open_dimension_needs_an_example_that_is_not_one(torch, net, monkeypatch):
    monkeypatch.setattr(pytorch, "_exporter", lambda wanted: "dynamo")
    with pytest.raises(UsageError, match="size 1 in the example") as e:
        wb.load_torch(net, examples(torch, 1), {"image": {0: "batch"}})
    assert e.value.code == "usage.dynamic"


def test_what_the_exporter_cannot_do_is_told_in_one_sentence(torch):
    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x)

    with pytest.raises(ModelError) as e:
        wb.load_torch(Odd(), torch.randn(3, 3), exporter="torchscript")
    assert e.value.code == "model.torch_export"
    assert "dynamo" in e.value.hint


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(pytorch, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="torch is not installed") as e:
        wb.load_torch(None, None)
    assert (e.value.code, e.value.hint) == ("usage.torch", "pip install torch onnxscript")
    with pytest.raises(UsageError, match="onnxscript") as e:
        pytorch._exporter("dynamo")
    assert e.value.code == "usage.torch"
    assert pytorch._exporter(None) == "torchscript"
