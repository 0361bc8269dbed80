"""The page on exporting, as it stands there: the command, the Python, the C program."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

from workbench.cli import main
from workbench.codegen.c.compiler import find_compiler

PAGE = Path(__file__).resolve().parents[2] / "docs" / "exporting.md"


@pytest.mark.slow
def test_the_page(tmp_path, monkeypatch, capsys):
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C compiler")
    found = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert [kind for kind, _ in found] == ["sh", "python", "c", "sh", "py", "console"]  # the last two: other processors
    (_, command), (_, python), (_, program), (_, build) = found[:4]
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command, comments=True)[1:]) == 0
    names: dict[str, object] = {}
    exec(compile(python, str(PAGE), "exec"), names)
    assert "Execution time summary" in capsys.readouterr().out
    (tmp_path / "main.c").write_text(program)
    subprocess.run([*compiler, *shlex.split(build)[1:], "-Wall", "-Wextra", "-Werror"], check=True)
    done = subprocess.run(["./main"], capture_output=True, text=True, check=True, timeout=60)
    net = names["net"]
    image = (np.arange(3 * 224 * 224) % 7).astype("float32").reshape(1, 3, 224, 224)
    ((name, scores),) = net.run(image).items()
    assert done.stdout == f"{name} {scores.flat[0]:g}\n"
