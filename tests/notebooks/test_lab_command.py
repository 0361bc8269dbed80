"""``workbench lab``: what it copies and keeps, what it says when it cannot, and that JupyterLab answers and ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from argparse import Namespace
from pathlib import Path

import pytest

from workbench.cli import main
from workbench.cli.commands import lab as command
from workbench.cli.parser import parse

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


@pytest.fixture
def no_jupyter(monkeypatch):
    """Do everything but start JupyterLab; the list holds the command lines."""
    started = []
    monkeypatch.setattr(command, "_run", lambda line, environment: started.append(list(line)) or 0)
    return started


def cells(path):
    return [c["source"] for c in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def test_copies_every_notebook_and_opens_the_tour(tmp_path, no_jupyter, capfd):
    assert main(["lab", str(tmp_path / "new" / "folder"), "--no-browser"]) == 0
    folder = tmp_path / "new" / "folder"
    expected = sorted(p.name for p in NOTEBOOKS.glob("*.ipynb"))
    assert sorted(p.name for p in folder.iterdir()) == expected
    assert len(expected) >= 2
    for name in expected:
        assert cells(folder / name) == cells(NOTEBOOKS / name)
    (line,) = no_jupyter
    assert line[:3] == [sys.executable, "-m", "jupyterlab"]
    assert "--LabApp.default_url=/lab/tree/01_tour_1_see_a_network.ipynb" in line
    assert f"--ServerApp.root_dir={folder}" in line
    assert "--no-browser" in line
    assert not any(word.startswith("--port") for word in line)
    assert capfd.readouterr().err.count("wrote ") == len(expected)


def test_the_default_folder_and_arguments_for_jupyter(tmp_path, no_jupyter, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "--", "--IdentityProvider.token=x", "--json"]) == 0
    assert (tmp_path / "workbench-notebooks" / "01_tour_1_see_a_network.ipynb").exists()
    assert no_jupyter[0][-2:] == ["--IdentityProvider.token=x", "--json"]


def test_never_overwrites(tmp_path, no_jupyter, capfd):
    main(["lab", str(tmp_path)])
    tour, other = tmp_path / "01_tour_1_see_a_network.ipynb", tmp_path / "04_search.ipynb"
    worked_on = json.loads(tour.read_text())
    worked_on["cells"][1]["source"] = "my own work"
    tour.write_text(json.dumps(worked_on))
    other.write_text("not even a notebook")
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    capfd.readouterr()
    assert main(["lab", str(tmp_path)]) == 0
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == before
    said = capfd.readouterr().err
    assert "wrote" not in said
    assert f"kept {tour}\n" in said  # made from the version that this workbench has
    assert f"kept {other}; this version of the workbench has a newer one" in said


def test_a_newer_version_is_told_but_not_written(tmp_path, no_jupyter, monkeypatch, capfd):
    folder, newer = tmp_path / "mine", tmp_path / "newer"
    main(["lab", str(folder)])
    newer.mkdir()
    changed = json.loads((NOTEBOOKS / "01_tour_1_see_a_network.ipynb").read_text(encoding="utf-8"))
    changed["cells"][0]["source"] = ["# A better tour"]
    (newer / "01_tour_1_see_a_network.ipynb").write_text(json.dumps(changed))
    monkeypatch.setattr(command, "shipped_notebooks", lambda: newer)
    before = (folder / "01_tour_1_see_a_network.ipynb").read_bytes()
    capfd.readouterr()
    main(["lab", str(folder)])
    assert (folder / "01_tour_1_see_a_network.ipynb").read_bytes() == before
    assert f"has a newer one: {newer / '01_tour_1_see_a_network.ipynb'}" in capfd.readouterr().err


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there is no root user here")
@pytest.mark.parametrize("user", [0, 1000])
def test_root_is_allowed_and_told(tmp_path, no_jupyter, monkeypatch, capfd, user):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    main(["lab", str(tmp_path)])
    assert ("--allow-root" in no_jupyter[0]) == (user == 0)
    assert ("You are root" in capfd.readouterr().err) == (user == 0)


def test_exit_code_of_jupyterlab_is_ours(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_command", lambda options, folder: [sys.executable, "-c", "raise SystemExit(7)"])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["lab", str(tmp_path)]) == 7


def test_killed_by_a_signal_is_told_as_a_shell_does(monkeypatch):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert command._run([sys.executable, "-c", code], dict(os.environ)) == 128 + 9


@pytest.mark.parametrize(("meaning", "code"), [(signal.default_int_handler, 128 + 15), (signal.SIG_IGN, 0)])
def test_an_interrupt_that_is_ignored_from_the_start_stays_so(monkeypatch, meaning, code):
    monkeypatch.setattr("sys.stdin", None)
    before = signal.signal(signal.SIGINT, meaning)
    try:
        child = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(2)"
        assert command._run([sys.executable, "-c", child], dict(os.environ)) == code
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_kernel_is_this_interpreter(monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", "/somewhere/else")
    with command._kernel_of_this_python() as environment:
        first, _, rest = environment["JUPYTER_PATH"].partition(os.pathsep)
        spec = json.loads((Path(first) / "kernels" / "python3" / "kernel.json").read_text())
        assert spec["argv"][0] == sys.executable
        assert rest == "/somewhere/else"
    assert not Path(first).exists()


def test_parsing_loads_nothing_heavy():
    code = (
        "import sys; from workbench.cli.parser import parse; parse(['lab']); "
        "print([m for m in ('numpy', 'jupyterlab', 'ipykernel', 'onnx', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert isinstance(parse(["lab", "--port", "1"]), Namespace)


# ----------------------------------------------------------------------------------------------------- the real thing


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_jupyterlab_answers_and_ends_cleanly(tmp_path, number):
    port = free_port()
    line = [sys.executable, "-m", "workbench", "lab", str(tmp_path / "notebooks"), "--no-browser", "--port", str(port)]
    extra = ["--", "--IdentityProvider.token=secret", "--ServerApp.ip=127.0.0.1"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [*line, *extra],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process,
    ):
        try:
            specs = json.loads(ask(port, "/api/kernelspecs", process, tmp_path / "log"))
            assert specs["kernelspecs"]["python3"]["spec"]["argv"][0] == sys.executable
            tour = json.loads(ask(port, "/api/contents/01_tour_1_see_a_network.ipynb?content=0", process, tmp_path / "log"))
            assert tour["type"] == "notebook"
            process.send_signal(number)
            code = process.wait(30)
        finally:
            process.kill()
    said = (tmp_path / "log").read_text()
    assert code == 0, said
    assert f":{port}/lab/tree/01_tour_1_see_a_network.ipynb" in said  # the address to open by hand
    assert "Traceback" not in said
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=2)


def ask(port, path, process, log):
    deadline = time.monotonic() + 60
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": "token secret"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.read()
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
