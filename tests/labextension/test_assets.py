"""The committed JupyterLab extension is complete and belongs to this version."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from pathlib import Path

from notebooks.tour import TOURS

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "extensions" / "labextension"
PLACE = "share/jupyter/labextensions/schedule-workbench"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_package_file_is_coherent() -> None:
    package = json.loads((BUILT / "package.json").read_text())
    build = package["jupyterlab"]["_build"]
    assert package["name"] == PYPROJECT["project"]["name"]
    assert package["version"] == PYPROJECT["project"]["version"]
    assert (BUILT / build["load"]).is_file()
    assert build["extension"] == "./extension"


def test_package_file_is_that_of_the_sources() -> None:
    built = json.loads((BUILT / "package.json").read_text())
    del built["jupyterlab"]["_build"]
    assert built == json.loads((ROOT / "extensions" / "package.json").read_text()), "rebuild: see extensions/README.md"


def test_every_script_is_reachable_from_the_entry() -> None:
    """A script that the entry does not name is left over from an older build."""
    load = json.loads((BUILT / "package.json").read_text())["jupyterlab"]["_build"]["load"]
    entry = (BUILT / load).read_text()
    for script in (BUILT / "static").glob("[0-9]*.js"):
        number, digest, _ = script.name.split(".")
        assert re.search(rf'\b{number}:"{digest}"', entry), script.name
    assert len(list((BUILT / "static").glob("remoteEntry.*.js"))) == 1


def test_wheel_ships_it_where_jupyterlab_looks() -> None:
    shared = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared["extensions/labextension"] == PLACE
    assert shared["extensions/install.json"] == f"{PLACE}/install.json"
    config = shared.pop("extensions/jupyter_server.json")
    assert config == "etc/jupyter/jupyter_server_config.d/schedule-workbench.json", "where Jupyter's server looks"
    for source, place in shared.items():
        assert (ROOT / source).exists(), source
        assert place.startswith(PLACE)
    (module,) = json.loads((ROOT / "extensions" / "jupyter_server.json").read_text())["ServerApp"][
        "jpserver_extensions"
    ]
    assert importlib.import_module(module)._jupyter_server_extension_points()[0]["module"] == module


def test_launcher_finds_the_tours_where_the_wheel_puts_it() -> None:
    shared = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    script = "".join(script.read_text() for script in (BUILT / "static").glob("*.js"))
    places = {shared[f"notebooks/{tour.name}"].removeprefix("share/jupyter/labextensions/") for tour in TOURS}
    assert places == {f"schedule-workbench/static/{tour.name}" for tour in TOURS}
    assert "schedule-workbench/static" in script
    assert all(tour.name in script for tour in TOURS)


def test_nothing_of_a_machine_is_in_it() -> None:
    lock = (ROOT / "extensions" / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    for file in [*BUILT.rglob("*"), ROOT / "extensions" / "package-lock.json"]:
        if file.is_file():
            text = file.read_text()
            assert str(ROOT) not in text, file
            assert "://registry" not in text, file
