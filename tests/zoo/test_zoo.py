"""Networks of the zoo: against onnxruntime, their parameters against what was published, their names."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import ort_session
import pytest

import workbench as wb
from workbench import zoo
from workbench.errors import ModelError, UsageError
from workbench.zoo import catalog

#: Of what the literature and the frameworks' model zoos say: numbers that training changes.
PUBLISHED = {
    "resnet-18-v1": 11_689_512, "resnet-34-v1": 21_797_672, "resnet-50-v1": 25_557_032, "resnet-101-v1": 44_549_160,
    "resnet-152-v1": 60_192_808, "mobilenet": 4_231_976, "mobilenet-v2": 3_504_872, "mobilenet-v3-large": 5_483_032,
    "mobilenet-v3-small": 2_542_856, "squeezenet_v1.0": 1_248_424, "squeezenet_v1.1": 1_235_496,
    "inception_v3": 23_834_568, "vgg-11": 132_863_336, "vgg-13": 133_047_848, "vgg-16": 138_357_544,
    "vgg-19": 143_667_240, "densenet-121": 7_978_856, "densenet-161": 28_681_000, "densenet-169": 14_149_480,
    "densenet-201": 20_013_928, "mlp": 109_386, "dcgan": 3_576_704, "unet": 31_037_698, "yolov3-tiny": 8_852_366,
    "lstm": 4_651_600, "bert-tiny": 4_385_920, "bert-mini": 11_170_560, "bert-small": 28_763_648,
    "bert-base": 109_482_240, "gpt2": 124_439_808, "gcn": 23_063,
}  # fmt: skip
#: MXNet's second ResNets, statistics of normalisations included, with the shortcut of TVM's first unit.
V2 = {18: 11_695_796 + 64 * 64, 34: 21_811_380 + 64 * 64, 50: 25_595_060, 101: 44_639_412, 152: 60_329_140}
#: Sides of images, or lengths of sequences, at which a network is run quickly.
SMALL = {
    "inception_v3": 128, "mlp": 28, "unet": 32, "lstm": 4, "gpt-nano": 16, "gpt2": 8, "bert-tiny": 16, "bert-mini": 8,
    "bert-small": 8, "bert-base": 8, "dcgan": None, "gcn": None, "graphsage": None, "resnet3d-18": 32,
    "resnet3d-34": 32, "vgg-11": 32, "vgg-13": 32, "vgg-16": 32, "vgg-19": 32,
}  # fmt: skip
QUICK = ("mlp", "squeezenet_v1.1", "bert-tiny", "lstm", "dcgan", "gcn", "resnet-18")


class Counted(zoo.Builder):
    """Draws nothing, so that large networks are written quickly."""

    def _normal(self, shape, std, mean=0.0):
        return np.broadcast_to(np.float32(0), shape)

    def weight(self, values, name="weight", trained=True):
        kept, self.dtype = self.dtype, values.dtype  # no copies
        try:
            return super().weight(values, name, trained)
        finally:
            self.dtype = kept


def counted(name: str) -> Counted:
    network = catalog.find(name)
    builder = Counted(name)
    network.build(builder, network.shape, network.classes)
    return builder


def feeds(graph: wb.Graph, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    most = {"token_type_ids": 2, "attention_mask": 2, "edges": 64}
    return {
        n: rng.integers(0, most.get(n, 60), t.shape) if t.dtype == "int64" else rng.normal(size=t.shape).astype(t.dtype)
        for n, t in graph.input_types().items()
    }


def by_onnxruntime(model: onnx.ModelProto, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    session = ort_session.session(model, threads=1)  # more add to one element at once in ScatterND, and lose some
    return session.run(None, given)


def cases():
    for name in zoo.names():
        network = catalog.find(name)
        images = len(network.shape) > 2 or name == "dcgan"  # others have nothing to lay out
        layouts = ("NHWC", "NCHW") if images else ("NCHW",)
        for layout, batch in product(layouts, (1, 3) if catalog.BATCH in network.sizes else (1,)):
            wanted = name in QUICK and (not images or (layout == "NHWC") == (batch == 1))
            marks = () if wanted else pytest.mark.slow
            yield pytest.param(name, layout, batch, marks=marks, id=f"{name}-{layout}-{batch}")


@pytest.mark.parametrize(("name", "layout", "batch"), list(cases()))
def test_agrees_with_onnxruntime(name, layout, batch):
    size = SMALL.get(name, 64)
    model = zoo.model(name, layout, size=size)
    graph = zoo.get_network(name, batch, layout, size=size)
    given = feeds(graph)
    expected = by_onnxruntime(model, given)
    found = wb.compile(graph).run(given)
    for (out, a), b in zip(found.items(), expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), out
        assert np.abs(a - b).max() <= 2e-4 * np.abs(b).max(), out
        assert np.std(b) > 0
        assert a.shape[0] in (batch, 2708)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet-50", "resnet-50-v1", "mobilenet-v2", "inception_v3", "yolov3-tiny"])
def test_full_size_agrees_with_onnxruntime(name):
    graph = zoo.get_network(name, 2, "NHWC")
    given = feeds(graph)
    expected = by_onnxruntime(zoo.model(name, "NHWC"), given)
    for a, b in zip(wb.compile(graph).run(given).values(), expected, strict=True):
        assert np.abs(a - b).max() <= 2e-4 * np.abs(b).max()


@pytest.mark.parametrize("name", ["mlp", "unet", "yolov3-tiny", "resnet3d-18"])
def test_layouts_compute_the_same(name):
    size = SMALL.get(name, 64)
    first, last = (zoo.model(name, layout, size=size) for layout in ("NCHW", "NHWC"))
    x = feeds(zoo.get_network(name, 2, size=size))["data"]
    for a, b in zip(
        by_onnxruntime(first, {"data": x}),
        by_onnxruntime(last, {"data": np.ascontiguousarray(np.moveaxis(x, 1, -1))}),
        strict=True,
    ):
        np.testing.assert_allclose(np.moveaxis(a, 1, -1) if a.ndim > 3 else a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_as_many_parameters_as_published(name):
    assert counted(name).parameters == PUBLISHED[name]


@pytest.mark.parametrize("depth", V2)
def test_second_resnets_have_as_many_numbers_as_published(depth):
    b = counted(f"resnet-{depth}")
    assert b.parameters + b.statistics + 3 == V2[depth]  # the input's normalisation multiplies by 1, without weights


def test_nano_gpt_has_as_many_parameters_as_published():
    assert round((counted("gpt-nano").parameters - 256 * 384) / 1e6, 2) == 10.65


@pytest.mark.parametrize("name", ["resnet-18", "mobilenet-v3-small", "densenet-121", "bert-tiny", "unet", "mlp"])
def test_activations_stay_of_the_size_of_one(name):
    model = zoo.model(name, size=SMALL.get(name, 64))
    kinds = {"Conv", "Gemm", "MatMul", "Add", "Relu", "BatchNormalization", "ConvTranspose", "LayerNormalization"}
    wanted = [n.output[0] for n in model.graph.node if n.op_type in kinds and "Mul" not in n.input[0]]
    graph = zoo.get_network(name, 2, size=SMALL.get(name, 64))
    given = {k: np.ones_like(a) if k == "attention_mask" else a for k, a in feeds(graph).items()}
    for tensor in wanted:
        model.graph.output.append(onnx.ValueInfoProto(name=tensor))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for tensor, value in zip(wanted, session.run(wanted, given), strict=True):
        if value.any():  # what a mask adds is nothing
            assert 0.05 < np.sqrt(np.mean(value.astype(np.float64) ** 2)) < 20, tensor


@pytest.mark.parametrize("alias", ["resnet50_v2", "ResNet-50", "resnet_50"])
def test_aliases_of_tvms_resnet(alias):
    assert catalog.find(alias).name == "resnet-50"


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        *(("squeezenet", "squeezenet_v1.1"), ("squeezenet1_1", "squeezenet_v1.1"), ("mobilenet_v1", "mobilenet")),
        *(("mobilenetv2", "mobilenet-v2"), ("vgg16", "vgg-16"), ("resnet18_v1", "resnet-18-v1")),
        *(("Inception-v3", "inception_v3"), ("densenet121", "densenet-121"), ("mobilenet_v3", "mobilenet-v3-large")),
    ],
)
def test_aliases(alias, name):
    assert catalog.find(alias).name == name


def test_names_differ_by_more_than_hyphens():
    plain = [catalog._plain(n) for network in catalog.NETWORKS for n in (network.name, *network.aliases)]
    assert len(plain) == len(set(plain))
    assert all(network.about.endswith(".") for network in catalog.NETWORKS)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("resnet-51",), "zoo.name"),
        ((None,), "zoo.name"),
        (("mlp", 1, "CHWN"), "zoo.layout"),
        (("mlp", 1, "NCHW", "int8"), "zoo.dtype"),
        (("gcn", 2), "zoo.batch"),
    ],
)
def test_what_there_is_not(arguments, code):
    with pytest.raises(ModelError) as e:
        zoo.get_network(*arguments)
    assert e.value.code == code
    if code == "zoo.name":
        assert "mobilenet-v2" in e.value.hint  # all of them are listed
    if arguments[0] == "resnet-51":
        assert "resnet-50" in e.value.hint.partition("?")[0]


def test_sizes_that_do_not_fit():
    for size, code in ((8, "zoo.too_small"), ((3, 8), "zoo.size")):
        with pytest.raises(ModelError) as e:
            zoo.get_network("inception_v3", size=size)
        assert e.value.code == code
    for wrong in ({"batch_size": 0}, {"seed": -1}, {"num_classes": 0}, {"size": 0}):
        with pytest.raises(UsageError):
            zoo.get_network("mlp", **wrong)


def test_classes_batch_layout_and_seed():
    graph = zoo.get_network("mobilenet", 3, "NHWC", num_classes=7, seed=2, size=32)
    assert [t.shape for t in graph.input_types().values()] == [(3, 32, 32, 3)]
    assert graph.type(graph.outputs[0]).shape == (3, 7)
    same, other = (zoo.get_network("mlp", 5, "NHWC", seed=seed).constants for seed in (0, 1))
    for name, a in zoo.get_network("mlp").constants.items():
        assert np.array_equal(a, same[name])
        assert a.size < 64 or not np.array_equal(a, other[name])


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_floats(dtype):
    graph = zoo.get_network("mlp", 2, dtype=dtype)
    assert {t.dtype for t in graph.input_types().values()} == {dtype}
    given = feeds(graph)
    (found,) = wb.compile(graph).run(given).values()
    (expected,) = by_onnxruntime(zoo.model("mlp", dtype=dtype), given)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=2e-2 if dtype == "float16" else 1e-9, atol=1e-3)


def test_models_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert wb.load_onnx("mlp").input_types()["data"].shape == (1, 1, 28, 28)
    graph = wb.load_onnx("mlp", {"data": (4, 1, 28, 28)})
    assert graph.type(graph.outputs[0]).shape == (4, 10)
    assert graph.source.path == "mlp"
    with pytest.raises(ModelError, match="did you mean 'resnet-50'"):
        wb.load_onnx("resnet50x")
    onnx.save(zoo.model("lstm", size=3), tmp_path / "mlp")  # a file goes first
    assert wb.load_onnx("mlp").inputs == ("data",)
    assert wb.load_onnx("mlp").type("data").shape == (1, 3)


def test_command_line_knows_the_names(tmp_path):
    from workbench.cli import main

    assert main(["tasks", "mlp", "--json"]) == 0
    assert main(["tasks", "mlp", "--shape", "data=2x1x28x28"]) == 0


def test_builder_makes_networks_of_ones_own(tmp_path):
    b = zoo.Builder("own", seed=3)
    x = b.image((3, 16, 16))
    y = b.activation(b.batch_norm(b.conv(x, 8, 3, bias=False)), "gelu")
    y = b.add(y, b.conv(y, 8, (1, 3), groups=2, dilation=2))
    y = b.concat([y, b.pool(y, "average", 3, 1, 1)])
    b.scores(b.global_pool(b.upsample(y, 2)), 5)
    model = b.model()
    onnx.checker.check_model(model, full_check=True)
    graph = wb.load_onnx(model, {"data": (2, 3, 16, 16)})
    given = feeds(graph)
    (found,) = wb.compile(graph).run(given).values()
    np.testing.assert_allclose(found, by_onnxruntime(model, given)[0], rtol=1e-4, atol=1e-6)
    with pytest.raises(ModelError) as e:
        zoo.Builder("empty").model()
    assert e.value.code == "zoo.no_output"
    with pytest.raises(ModelError) as e:
        b.activation(x, "rellu")
    assert e.value.code == "zoo.activation"
    with pytest.raises(ModelError) as e:
        x.size(0)
    assert e.value.code == "zoo.open_axis"


TUTORIAL = Path(__file__).parents[1] / "data" / "tvm-tutorial-resnet50-tasks.txt"
OUTPUTS = {"conv2d": "conv", "T_matmul": "dense", "softmax": "softmax", "adaptive_pool": "mean", "pool_max": "max"}


def theirs():
    """Kind, input, weights, result, whether there is a residual, whether there is a ReLU: of each task of TVM's."""
    for task in TUTORIAL.read_text().partition("-----")[0].split("========== Task ")[1:]:
        shapes = [[int(n) for n in s.split(",")] for s in re.findall(r"\[([\d, ]+)\]", task.splitlines()[0])]
        kind = next(ours for word, ours in OUTPUTS.items() if word in task)
        weights = shapes[1] if kind in ("conv", "dense") else []
        weights = [3, 3, weights[3], weights[2]] if weights[:2] == [6, 6] else weights  # Winograd's
        yield kind, shapes[0], sorted(weights), shapes[-1], shapes[-1] in shapes[2:-1], "T_relu" in task


def ours(task):
    text = task.compute_dag
    given = {n: [int(d) for d in s.split(",")] for n, s in re.findall(r"(\w+) = PLACEHOLDER \[([\d, ]+)\]", text)}
    words = {"conv2d": "conv", "dense": "dense", "softmax": "softmax", "global_avg_pool": "mean", "max_pool": "max"}
    (out,) = (list(b.shape) for b in task.func.params if b.role == "output")
    result = out[:1] + out[-1:] if task.name.startswith("dense") else out
    kind = words[task.name.split()[0]]
    return kind, given["X"], sorted(given.get("W", [])), result, "R" in given, "relu(" in text


def test_tasks_of_tvms_tutorial_one_by_one():
    from workbench.tvm import auto_scheduler
    from workbench.tvm.relay import Module

    mod = Module(zoo.get_network("resnet-50", layout="NHWC"))
    tasks, weights = auto_scheduler.extract_tasks(mod["main"], mod.params, "llvm")
    expected = sorted(theirs(), key=str)
    found = sorted(map(ours, tasks), key=str)
    assert len(expected) == len(tasks) == 29
    for a, b in zip(expected, found, strict=True):
        if a[0] == "dense":  # TVM adds the bias as a matrix of one row
            a = (*a[:4], False, a[5])
        assert a == b
    assert sum(weights) == 53 + 4  # convolutions; pooling twice, the dense layer, the softmax
