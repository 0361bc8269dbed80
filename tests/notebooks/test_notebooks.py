"""The notebooks as files, and as programs: every one runs from top to bottom, without a browser."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path

import pytest
from browser.driver import chromium
from notebooks.tour import CHECKS, TOURS, TUNE

from workbench import Target
from workbench.cli.commands.lab import _kernel_of_this_python

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
NUMBERS = ("03", "04", "05", "06_search")
KERNELS, SEARCH, FORENSICS, RACE = (
    next(p for p in NOTEBOOKS if p.name.startswith(number)) for number in NUMBERS
)

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)


# ---------------------------------------------------------------------------------------------------------- the files


@each
def test_is_valid_and_carries_no_outputs(path):
    import nbformat  # it takes two seconds, which those do not need to wait for who only collect tests

    content = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(content)
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert set(content["metadata"]) == {"kernelspec", "language_info"}
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    assert set(content["metadata"]["language_info"]) == {"name"}  # no version of whoever saved it last
    for cell in content["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@each
def test_has_the_form_that_is_written_by_jupyterlab(path):
    """One form, so that a change shows as what it is."""
    text = path.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


@each
def test_cell_ids_are_names_and_unique(path):
    ids = [c["id"] for c in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    assert len(set(ids)) == len(ids)
    # Names given by a person; JupyterLab makes up eight hexadecimal digits and more.
    assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", i) and not re.fullmatch(r"[0-9a-f-]{8,}", i) for i in ids), ids


@each
def test_cells_are_short_and_texts_have_no_long_lines(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert all(len(line.rstrip("\n")) <= 128 for line in cell["source"]), cell["id"]
        if cell["cell_type"] == "code":
            assert len(cell["source"]) <= 20, cell["id"]


@each
def test_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (path.parent / link).exists(), link


# ------------------------------------------------------------------------------------------------------- the programs


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Run a notebook in an empty folder; return its outputs by cell id, text and HTML together."""
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("WORKBENCH_TOUR_SECONDS", "6")

    def run(path, more=None):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            cell.source += (more or {}).get(cell.id, "")
        with _kernel_of_this_python() as environment:
            monkeypatch.setenv("JUPYTER_PATH", environment["JUPYTER_PATH"])
            resources = {"metadata": {"path": str(tmp_path)}}
            NotebookClient(notebook, timeout=120, resources=resources, store_widget_state=False).execute()
        return {c.id: "".join(map(shown, c.outputs)) for c in notebook.cells if c.cell_type == "code"}

    return run


def shown(output):
    assert output.output_type != "error", output
    if output.output_type == "stream":  # a line that was printed may come in several pieces
        return output["text"]
    data = output.get("data", {})
    return "\n".join(["", data.get("text/plain", ""), data.get("text/html", ""), ""])


@pytest.mark.skipif(chromium() is not None, reason="browser/test_flow.py runs them in a JupyterLab and checks the same")
@pytest.mark.parametrize("tour", TOURS, ids=lambda p: p.stem)
def test_the_tours(execute, tour):
    CHECKS[tour](execute(tour))


@pytest.mark.slow
def test_the_last_tour_a_second_time_goes_on_with_the_log(execute, tmp_path):
    execute(TUNE)
    log = tmp_path / "tour.tunelog.jsonl"
    trials = len(log.read_text().splitlines())
    execute(TUNE)
    assert len(log.read_text().splitlines()) > trials


def speeds(text):
    """GFLOP/s by the name of the kernel, of lines as `show` prints them."""
    return {
        name.strip(): float(x) for name, x in re.findall(r"^(.+?) +[\d.]+ ms +([\d.]+) GFLOP/s", text, re.MULTILINE)
    }


@pytest.mark.checks
def test_the_kernels(execute):
    out = execute(KERNELS)
    found = speeds("\n".join(out.values()))
    assert {"1024, tiled", "1024, packed", "509, guard", "509, rows peeled", "509, padded"} <= found.keys()
    assert "does not divide" in out["tail-exact"]
    assert "carries the reduction" in out["rf-plain"]
    here = [line.split()[0] for line in out["tensor-list"].splitlines() if " here " in line]
    assert set(here) <= found.keys()
    assert "which" in out["tensor-simulate"], "the reason for what this processor lacks"
    assert "simulated, equal to numpy: True" in out["tensor-simulate"]
    errors = [float(x) for x in re.findall(r"result: ([\d.e-]+)", out["wino-error"])]
    assert len(errors) == 3
    assert all(0 < e < 1e-4 for e in errors)
    assert {"28x28x64, direct", "28x28x64, F(4x4)", "7x7x512, direct", "7x7x512, F(2x2)"} <= found.keys()
    assert all(name in out["roof-table"] for name in ("1024, packed", "509, guard"))


@pytest.mark.bench
def test_sums_in_registers_are_faster_than_sums_in_memory(execute):
    found = speeds("\n".join(execute(KERNELS).values()))
    assert found["512, sums in registers"] > found["512, sums in memory"]


@pytest.mark.checks
def test_the_search(execute):
    out = execute(SEARCH)
    assert "every operand is reused along another axis" in out["space"]
    assert "A tile of rows and vectors" in out["template"]
    assert "cannot be 7" in out["pin"]
    assert "[steer.value]" in out["pin"]
    assert "32 trials in 2 rounds" in out["wait"]
    held = re.search(r"held: (\w+) = (\d+)", out["wait"])
    assert held, "the pin holds"
    assert all(name in out["hand"] for name in ("manual", "default"))
    assert "rank correlation" in out["quality"]
    assert "estimated cycles" in out["contributions"]
    assert f"held: {{'{held[1]}': {held[2]}}}" in out["resume"], "the log gives it back"
    assert "16 new trials, 48 in the log" in out["resume"]
    assert "held: " not in out["resume"].partition("48 in the log")[2], "and it was released"
    assert "split('i'" in out["best"]
    assert "GFLOP/s" in out["best"]


def test_the_forensics(execute):
    """Every number is that of a script over the same file (`tests/logs`), or of the file's own README."""
    out = execute(FORENSICS)
    assert "1,296 records of 2 tasks: an excerpt" in out["open"]
    assert "dense_nopack wins 0 of 1 layers and took 58% of the time" in out["one"]
    assert "tile_y[0] × tile_x[0] × tile_k[0] ≤ 4096" in out["two"]
    assert "144 of 145 failures are timeouts of the compiler, 10 s each" in out["two"]
    lines = map(
        json.loads, gzip.decompress((FORENSICS.parent / "data" / "bert-excerpt.log.gz").read_bytes()).splitlines()
    )
    plain = [line for line in lines if line["input"][1] == "dense_nopack.x86"]
    large = [one for one in plain if math.prod(tile[-1] for _, _, tile in one["config"]["entity"]) >= 18_432]
    counts = [sum(one["result"][1] == 6 for one in some) for some in (large, plain)]
    assert (counts[0], len(large), counts[1] - counts[0], len(plain) - len(large)) == (101, 121, 15, 563)
    assert all(re.search(rf"\b{n}\b", out["two"]) for n in (101, 121, 15, 563))
    assert "11% of the records failed, and took 30% of the time" in out["two"]
    assert "tile_x[2] = 16 in 100% of the best 5 %, in 56% of all" in out["three"]
    assert "the best: first of 32 runs 1.22 times the others, mean 0.5536 ms, median 0.5499 ms" in out["four"]
    assert "12 failed in one only" in out["five"]
    assert "rank correlation of 4,195 times: 0.89" in out["five"]
    assert "of the A100's best 5 %: 0.15, and 31% of these" in out["five"]
    assert "reaches 60.1 % of the optimum" in out["five"]
    assert "1.51 % of the centrality of 98 local minima" in out["five"]
    assert "read_only and use_shmem interact most" in out["six"]
    assert "2.28 without shared memory, 1.00 with it" in out["six"]
    assert "0.554 ms with read_only, 0.844 ms without" in out["six"]


def test_the_race_on_a_complete_log(execute):
    out = execute(RACE, {"own": RACER})
    assert "the optimum is 0.554 ms; one draw gives 3.39 ms, 200 give 0.721 ms" in out["chance"]
    scores = dict(re.findall(r"(\w+) +score +(-?[\d.]+)", out["race"]))
    assert float(scores["evolutionary"]) > 0.2
    assert float(scores["mine"]) == 1.0, "the search that is written there is the one that runs"


RACER = """
def mine(space, measure, rng):
    measure(a100.records["params"].iloc[int(costs.argmin())])
"""
