"""Every bad input of ``workbench lab``: the code and the exit code, with nothing started and nothing written."""

from __future__ import annotations

import json
import socket

import pytest

from workbench.cli import main
from workbench.cli.commands import lab as command


@pytest.fixture(autouse=True)
def never_started(monkeypatch):
    def fail(*_):
        raise AssertionError("JupyterLab must not be started")

    monkeypatch.setattr(command, "_run", fail)


def error(capfd, *arguments):
    code = main(["lab", *map(str, arguments)])
    said = capfd.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    return code, said.err


def test_the_folder_is_a_file(tmp_path, capfd):
    file = tmp_path / "file"
    file.write_text("mine")
    code, said = error(capfd, file)
    assert (code, "[lab.not_a_folder]" in said) == (3, True)
    assert file.read_text() == "mine"


def test_the_folder_cannot_be_written(tmp_path, capfd):
    (tmp_path / "file").write_text("")
    code, said = error(capfd, tmp_path / "file" / "below")  # also for root, whom permissions do not stop
    assert (code, "[lab.unwritable]" in said) == (3, True)


def test_a_file_cannot_be_written(tmp_path, capfd, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(command, "_copy", denied)
    code, said = error(capfd, tmp_path)
    assert (code, "Permission denied" in said, "[lab.unwritable]" in said) == (3, True, True)


def test_the_port_is_taken(tmp_path, capfd):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, said = error(capfd, tmp_path / "new", "--port", port)
    assert (code, "[lab.port]" in said, str(port) in said) == (3, True, True)
    assert not (tmp_path / "new").exists()


def test_jupyterlab_is_not_installed(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    code, said = error(capfd, tmp_path / "new")
    assert (code, "[lab.no_jupyterlab]" in said, "-m pip install jupyterlab" in said) == (4, True, True)
    assert not (tmp_path / "new").exists()


def test_the_installation_has_no_notebooks(tmp_path, capfd, monkeypatch):
    package = tmp_path / "site" / "workbench"
    package.mkdir(parents=True)
    monkeypatch.setattr(command.workbench, "__file__", str(package / "__init__.py"))
    code, said = error(capfd, tmp_path / "new")
    assert (code, "[lab.no_notebooks]" in said) == (4, True)


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["--port", "0"], "usage.arguments"),
        (["--port", "70000"], "usage.arguments"),
        (["--port", "x"], "usage.arguments"),
        (["--prot", "1"], "usage.option"),
        (["one", "two"], "usage.option"),
        (["--json"], "usage.option"),
    ],
)
def test_usage(tmp_path, monkeypatch, capfd, arguments, wrong):
    monkeypatch.chdir(tmp_path)
    assert main(["lab", *arguments]) == 2
    said = capfd.readouterr()
    assert wrong in said.err
    if "--json" in arguments:
        assert json.loads(said.out)["error"]["code"] == wrong
    assert list(tmp_path.iterdir()) == []
