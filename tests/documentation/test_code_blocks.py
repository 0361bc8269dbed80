"""The Python on the pages of the site, as it stands there, one block after the other."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.labs import sample_log
from workbench.schedule.primitive import COMMON_CODES, registry

DOCS = Path(__file__).resolve().parents[2] / "docs"
DATA = DOCS.parent / "tests" / "data"
#: Pages whose blocks run elsewhere, with what is to come of them.
ELSEWHERE = {
    *("exporting.md", "features.md", "networks.md", "teaching/hand-ins.md", "templates.md", "tuning.md"),
    *("tuning-logs.md", "workbench.md"),
}
#: Measures, or takes more than a second or two.
LONG = {
    *("concepts/cache-view.md", "concepts/times.md", "quick-start.md", "reference/passes.md"),
    *("importing.md", "many-machines.md", "precision.md", "replaying-logs.md", "simulating.md"),
}
#: Files that a page opens, by the names that it gives them.
FILES = {
    "replaying-logs.md": {
        "ansor-resnet-50-NHWC-B1-llvm.json": DATA / "logs" / "ansor" / "resnet-50-NHWC-B1-llvm.json.gz",
        "tasks.txt": DATA / "tvm-tutorial-resnet50-tasks.txt",
    },
    "simulating.md": {"convolution-A100.json.gz": sample_log("convolution-A100.json.gz")},
}

#: Numbers with which a page takes minutes, and smaller ones; machines that are not here, and this one.
SMALLER = {
    "budget=200": "budget=12",
    "seeds=25": "seeds=2",
    "strategy=climb": "strategy=climb, budget=12, seeds=2",
    "trials=2000": "trials=8",
    '"llvm -mcpu=sapphirerapids -threads=8"': '"llvm -mcpu=host -threads=1"',
}


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


PAGES = [p.relative_to(DOCS).as_posix() for p in sorted(DOCS.rglob("*.md"))]
WITH_CODE = [page for page in PAGES if blocks(page) and page not in ELSEWHERE]
MARKED = [pytest.param(p, marks=pytest.mark.checks) if p in LONG else p for p in WITH_CODE]


def importing(folder: Path) -> Iterator[dict[str, object]]:
    """A model, one with open dimensions, its log, and what PyTorch would give."""
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / "light_squeezenet.onnx"
    shutil.copy(light, folder / "model.onnx")
    shape, kind = ["batch", "tokens"], onnx.TensorProto.INT64
    given = [onnx.helper.make_tensor_value_info(name, kind, shape) for name in ("input_ids", "attention_mask")]
    made = onnx.helper.make_tensor_value_info("masked", kind, shape)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Mul", [g.name for g in given], ["masked"])], "g", given, [made]
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), folder / "minilm.onnx")
    with wb.tune(wb.workloads.elementwise(8, 8), trials=2, log=folder / "minilm.tunelog.jsonl") as session:
        session.wait()
    ids = np.ones((1, 4), np.int64)
    yield {"ids": ids, "mask": ids}


def many_machines(folder: Path) -> Iterator[dict[str, object]]:
    """A cluster of one worker with one device."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, resources={"device": 1}, dashboard_address=None, local_directory=folder
    ) as cluster:
        yield {"graph": wb.workloads.matmul(64, 64, 64), "tcp://node0:8786": cluster.scheduler_address}


GIVEN = {"importing.md": importing, "many-machines.md": many_machines}


@pytest.mark.parametrize("page", MARKED)
def test_it_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given in GIVEN.get(page, lambda folder: [{}])(tmp_path):
        run(page, tmp_path, given)


def run(page: str, tmp_path: Path, given: dict[str, object]) -> None:
    for name, file in FILES.get(page, {}).items():
        unpack = gzip.decompress if file.suffix == ".gz" and not name.endswith(".gz") else bytes
        (tmp_path / name).write_bytes(unpack(file.read_bytes()))
    names: dict[str, object] = {"__name__": "page", **given}
    addresses = {name: place for name, place in given.items() if "//" in name}
    for code in blocks(page):
        for number, smaller in {**SMALLER, **addresses}.items():
            code = code.replace(number, str(smaller))
        if find_spec("torch") is None:
            code = re.sub(r"^\w+ = (wb.load_torch|torch\.).*$", "", code, flags=re.MULTILINE)
        exec(compile(code, page, "exec"), names)
    assert getattr(names.get("session"), "state", "done") == "done"
    if "w" in names:
        names["w"].close()


def test_the_refusal_says_what_the_page_says():
    text = (DOCS / "refused-steps.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"print\(error\)  # (.*) …", text)
    with pytest.raises(WorkbenchError) as caught:
        wb.Schedule(wb.workloads.matmul(512, 512, 512)).vectorize("k")
    assert str(caught.value).startswith(shown)
    reasons = {code for primitive in registry for code in primitive.codes} | set(COMMON_CODES)
    assert set(re.findall(r"^\| `(\w+\.\w+)`", text, re.M)) <= reasons
