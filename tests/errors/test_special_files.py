"""What is no ordinary file is not replaced by one: as the superuser, a device would be gone."""

import os
import stat

import pytest
from errors import models

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.files import replace_file
from workbench.log.reader import write_log

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


@pytest.fixture
def special(tmp_path):
    path = tmp_path / "pipe.so"
    os.mkfifo(path)
    return path


def still_there(path):
    return stat.S_ISFIFO(os.lstat(path).st_mode)


def test_an_exported_library(special, tmp_path):
    network = wb.compile(wb.load_onnx(models.dense(tmp_path / "m.onnx")), threads=1)
    with pytest.raises(WorkbenchError) as caught:
        network.export(special)
    assert caught.value.code == "export.unwritable"
    assert still_there(special)


def test_a_log(special):
    with pytest.raises(WorkbenchError) as caught:
        write_log(special, None, [])
    assert caught.value.code == "log.unwritable"
    assert still_there(special)
    assert [path.name for path in special.parent.iterdir()] == [special.name]


def test_variants(special):
    w = wb.Workbench(wb.workloads.matmul(4, 4, 4))
    try:
        with pytest.raises(WorkbenchError) as caught:
            w.save_variants(special)
        assert caught.value.code == "variants.unwritable"
        assert still_there(special)
    finally:
        w.close()


def test_ordinary_files_and_links_to_them_are_replaced(tmp_path):
    for name in ("new", "old", "link"):
        (tmp_path / "made").write_text(name)
        if name == "old":
            (tmp_path / name).write_text("before")
        if name == "link":
            (tmp_path / name).symlink_to(tmp_path / "old")
        replace_file(tmp_path / "made", tmp_path / name)
        assert (tmp_path / name).read_text() == name
