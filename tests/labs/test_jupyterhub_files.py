"""The files for a course: what the configuration of JupyterHub makes of its queues."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.queue_settings import VARIABLE, Settings
from workbench.runtime.machine.queue_line import MeasurementQueue

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "docker" / "jupyterhub_config.py"

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system places no threads")


def configured(monkeypatch, folder, allowed=(0, 1, 2, 3)):
    monkeypatch.setenv("COURSE_QUEUES", f"{folder}/queue-*")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(allowed))
    sections = SimpleNamespace(Spawner=SimpleNamespace(), JupyterHub=SimpleNamespace(), DockerSpawner=SimpleNamespace())
    exec(compile(CONFIG.read_text(), str(CONFIG), "exec"), {"get_config": lambda: sections})
    return sections.Spawner


def test_students_keep_off_the_cores_of_all_queues_and_have_one_each(tmp_path, monkeypatch):
    for name, core in (("queue-1", 0), ("queue-2", 1)):
        MeasurementQueue.make(tmp_path / name, Settings(frozenset({core % (os.cpu_count() or 1)})))
    spawner = configured(monkeypatch, tmp_path)
    kept = "2,3" if (os.cpu_count() or 1) > 1 else "1,2,3"
    assert spawner.cmd == ["taskset", "--cpu-list", kept, "jupyterhub-singleuser"]
    queue_of = spawner.environment[VARIABLE]
    students = [SimpleNamespace(user=SimpleNamespace(name=f"student{k}")) for k in range(80)]
    dealt = [queue_of(student) for student in students]
    assert dealt == [queue_of(student) for student in students]
    assert 25 <= dealt.count(str(tmp_path / "queue-1")) <= 55
    assert set(dealt) == {str(tmp_path / "queue-1"), str(tmp_path / "queue-2")}


def test_what_cannot_work_is_told(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="There is no queue"):
        configured(monkeypatch, tmp_path)
    MeasurementQueue.make(tmp_path / "queue-1", Settings(frozenset({0})))
    with pytest.raises(SystemExit, match="leave some"):
        configured(monkeypatch, tmp_path, allowed=(0,))


def test_the_image_copies_no_caches_and_is_not_run_by_root():
    text = (ROOT / "docker" / "Dockerfile").read_text()
    assert "\nUSER 1000\n" in text
    assert ".git" in (ROOT / ".dockerignore").read_text().split()
    assert os.access(ROOT / ".binder" / "postBuild", os.X_OK)
