"""Networks through ``torch.compile(model, backend="workbench")``, against torch itself."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: torch.compile is not tested")

from torch import nn
from torch_networks import Bert, ResNet18, UNet

import workbench as wb
from workbench.errors import ModelWarning, UsageError
from workbench.torch_backend import workbench

WHOLE = {"fallback": False}


def agree(found, expected, within=2e-4):
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert (a - b).abs().max() <= within * b.abs().max()
        assert b.std() > 0


def ids(batch, steps):
    mask = torch.zeros(batch, steps, dtype=torch.bool)
    mask[0, steps // 2 :] = True
    return torch.randint(0, 1000, (batch, steps)), mask


CASES = {
    "resnet-18": (lambda: ResNet18(10, 16), lambda n: (torch.randn(n, 3, 64, 64),)),
    "bert": (lambda: Bert(), lambda n: ids(n, 6 + n)),
    "unet": (lambda: UNet(), lambda n: (torch.randn(n, 3, 32, 32),)),
    "unet-bilinear": (lambda: UNet(bilinear=True), lambda n: (torch.randn(n, 3, 32, 48),)),
}


@pytest.mark.parametrize("name", CASES)
def test_networks_agree_with_torch_whole_and_for_every_shape(name):
    make, inputs = CASES[name]
    model = make().eval()
    fast = torch.compile(model, backend="workbench", options=WHOLE)
    with torch.no_grad():
        for n in (2, 3, 4):  # from the second on with open sizes
            given = inputs(n)
            agree(fast(*given), model(*given))


def test_found_by_name_in_a_process_that_has_not_imported_it():
    code = (
        "import sys, torch\n"
        "assert 'workbench' in torch.compiler.list_backends()\n"
        "assert 'workbench.torch_backend.backend' not in sys.modules\n"
        "f = torch.compile(lambda x: torch.relu(x) * 2, backend='workbench', options={'fallback': False})\n"
        "print(f(torch.tensor([-1.0, 3.0])).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.split("\n")[-2:] == ["[0.0, 6.0]", ""], done.stderr


def test_weights_that_change_are_seen():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval()
    x = torch.randn(2, 3, 9, 9)
    fast = torch.compile(model, backend=workbench, options=WHOLE)
    with torch.no_grad():
        agree(fast(x), model(x))
        model[0].weight.mul_(3)
        model[1].running_mean.add_(1)
        agree(fast(x), model(x))
        other = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        model.load_state_dict(other.state_dict())
        agree(fast(x), model(x))
        model[0].weight = nn.Parameter(torch.randn(8, 3, 3, 3))
        agree(fast(x), model(x))
        state = {k: v.clone() for k, v in model.state_dict().items()}
    assert all(torch.equal(v, state[k]) for k, v in model.state_dict().items())


class Sorted(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        y = torch.relu(self.first(x))
        return self.last(torch.sort(y, dim=1, stable=True)[0]) * 2


def test_what_is_not_known_stays_in_torch_and_is_told():
    model, x = Sorted().eval(), torch.randn(5, 8)
    with torch.no_grad(), pytest.warns(ModelWarning, match=r"aten\.sort\.stable \(not known\)") as told:
        agree(torch.compile(model, backend="workbench")(x), model(x))
    assert [w.message.code for w in told if isinstance(w.message, ModelWarning)] == ["torch.left"]
    with torch.no_grad(), pytest.raises(Exception, match=r"aten\.sort\.stable \(not known\)") as e:
        torch.compile(model, backend="workbench", options=WHOLE)(x)
    assert e.value.inner_exception.code == "torch.left"


def test_gradients_are_left_to_torch():
    model, x = nn.Linear(4, 3), torch.randn(2, 4)
    fast = torch.compile(model, backend="workbench")
    with pytest.warns(ModelWarning, match="no_grad") as told:
        fast(x).sum().backward()
    assert any(getattr(w.message, "code", "") == "torch.gradients" for w in told)
    expected = x.sum(0).expand(3, 4)
    assert torch.allclose(model.weight.grad, expected)


def test_weights_made_in_inference_mode_are_read_in_each_run_and_that_is_told():
    with torch.inference_mode():
        model, x = nn.Linear(4, 3).eval(), torch.randn(2, 4)
        fast = torch.compile(model, backend="workbench")
        with pytest.warns(ModelWarning, match="outside of torch.inference_mode"):
            agree(fast(x), model(x))
        model.weight.mul_(2)
        agree(fast(x), model(x))


def test_arguments_that_are_changed_in_place_are_changed():
    def step(x, y):
        x.add_(y)
        return x * 2

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    expected = x + y
    agree(torch.compile(step, backend="workbench", options=WHOLE)(x, y), expected * 2)
    agree(x, expected)


def test_views_of_arguments_numbers_and_tensors_that_are_returned_as_they_are():
    def parts(x):
        return x, x.T, x.shape[0], torch.exp(x[1:])

    x = torch.randn(4, 3)
    same, turned, rows, tail = torch.compile(parts, backend="workbench")(x)
    assert same is x
    assert rows == 4
    agree((turned, tail), (x.T, x[1:].exp()))


def test_shapes_that_cannot_be_written_run_in_torch():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(2)).eval()
    fast = torch.compile(model, backend="workbench", dynamic=True)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        for side in (10, 11, 12):  # 9 is not cut into two equal windows
            x = torch.randn(1, 3, side, side)
            agree(fast(x), model(x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.float16])
def test_other_floats(dtype):
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8)).eval().to(dtype)
    x = torch.randn(4, 16, dtype=dtype)
    with torch.no_grad():
        found = torch.compile(model, backend="workbench", options=WHOLE)(x)
        agree(found.double(), model(x).double(), 1e-9 if dtype is torch.float64 else 3e-2)
    assert found.dtype is dtype


def test_tuning_goes_to_a_log_and_happens_once(tmp_path):
    model, x = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16)).eval(), torch.randn(8, 32)
    options = {**WHOLE, "log": tmp_path / "net.tunelog.jsonl", "trials": 6, "threads": 1}
    with torch.no_grad():
        agree(torch.compile(model, backend="workbench", options=options)(x), model(x))
        records = wb.read_log(options["log"])
        assert len(records) >= 6
        assert set(records.status) <= {"ok", "timeout"}
        torch.compiler.reset()
        agree(torch.compile(model, backend="workbench", options=options)(x), model(x))
    assert len(wb.read_log(options["log"])) == len(records)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"options": {"thread": 2}}, "usage.option"),
        ({"options": {"trials": 2}}, "torch.log"),
        ({"mode": "max-autotune"}, "torch.mode"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, code):
    with pytest.raises(UsageError) as e:
        workbench(None, [], **given)
    assert e.value.code == code


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("workbench.torch_backend.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="torch is not installed"):
        workbench(None, [])
