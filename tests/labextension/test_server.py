"""The server's part of the viewer: who may read which file, and within which limits."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import inspect
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import onnx
import pytest
import waiting
from browser.driver import free_port, stop_server
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupyter_server.services.contents.manager import ContentsManager
from session.test_opening import model
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from workbench.errors import LogError, ModelError
from workbench.server import ScheduleWorkbench, model_handler, model_process
from workbench.server.frames import frame
from workbench.server.model_handler import ModelHandler
from workbench.server.model_process import ModelReaders
from workbench.server.places import place_of
from workbench.server.reader_process import Limits, ReaderProcess

DATA = Path(__file__).parents[1] / "data" / "logs"
AUTOTVM = {
    "input": ["llvm", "dense", [["TENSOR", [8, 8], "float32"]], {}],
    "config": {"index": 1, "code_hash": "", "entity": [["tile", "ot", 1]]},
    "result": [[1e-3], 0, 1.0, 100.0],
    "version": 0.2,
}
LIMITS = Limits(memory_bytes=2 << 30, open_seconds=60, cpu_seconds=60, idle_seconds=60, most_logs=2)
PRINTED = """
AUTOTUNE mm(64x64, 64x64)
  triton_mm_1 0.0215 ms 100.0% BLOCK_K=32, num_warps=8
  mm 0.0234 ms 91.8%
"""


def unpacked(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """What `frame` has packed."""
    at = 4 + int.from_bytes(data[:4], "little")
    head = json.loads(data[4:at])
    ends = [at := at + size for size in head["sizes"]]
    return head["message"], [data[end - size : end] for end, size in zip(ends, head["sizes"], strict=True)]


def test_arrays_come_out_as_they_went_in() -> None:
    message = {"t": "slices", "x": "é\n"}
    assert unpacked(frame(message, [b"", b"abc", b"\0"])) == (message, [b"", b"abc", b"\0"])


def test_numbers_that_a_browser_cannot_read_are_null() -> None:
    data = frame({"t": "x", "n": [1.5, float("nan"), {"m": (float("inf"),)}]})
    assert b"NaN" not in data
    assert unpacked(data) == ({"t": "x", "n": [1.5, None, {"m": [None]}]}, [])


async def within_a_minute(work: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(work, 60)


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """Run it in a thread of its own: a browser test before this one may have left a running loop in the main one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


# ----- the process


def said(path: str, wanted: str, *messages: dict[str, Any], limits: Limits = LIMITS) -> dict[str, Any]:
    """Start a process, tell it the messages, and return what it says of this kind first, or what goes wrong."""

    async def run() -> dict[str, Any]:
        reader = await ReaderProcess.start(path, limits)
        try:
            for one in messages:
                await reader.send(json.dumps(one))
            async for data in reader.messages():
                message, _ = unpacked(data)
                if message["t"] in (wanted, "error"):
                    return message
            return {"t": "end"}
        finally:
            await reader.end()
            assert not Path(reader._folder).exists()

    return finished(within_a_minute(run()))


@pytest.mark.checks
def test_a_pasted_text_is_read() -> None:
    found = said("", "slices", {"t": "text", "text": PRINTED}, {"t": "hello"})
    assert found["slices"]["meta"]["format"] == "inductor"
    assert found["slices"]["meta"]["n"] == 2


@pytest.mark.checks
def test_a_log_that_is_not_read_in_time_is_given_up() -> None:
    """Here it is a text that never comes."""
    limits = Limits(2 << 30, open_seconds=1, cpu_seconds=60, idle_seconds=60, most_logs=1)
    error = said("", "facts", limits=limits)["error"]
    assert error["code"] == "log.too_large"
    assert "within 1 second" in error["message"]


@pytest.mark.checks
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds what a process allocates")
def test_a_log_that_needs_too_much_memory_is_given_up(tmp_path: Path) -> None:
    whole = gzip.decompress((DATA / "kernel-tuner" / "convolution_milo-A100.json.gz").read_bytes())
    with gzip.open(tmp_path / "large.json.gz", "wb", compresslevel=1) as file:
        file.write(whole.replace(b'"cache": {', b'"cache": {' + b" " * (300 << 20)))
    limits = Limits(400 << 20, open_seconds=60, cpu_seconds=60, idle_seconds=60, most_logs=1)
    error = said(str(tmp_path / "large.json.gz"), "facts", limits=limits)["error"]
    assert error["code"] == "log.too_large"
    assert "memory" in error["message"]


# ----- the server


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("server") / "root"
    folder.mkdir()
    good = json.dumps(AUTOTVM) + "\n"
    (folder / "good.log").write_text(good + good + "{broken\n" * 5)
    (folder / ".hidden.log").write_text(good)
    (folder.parent / "outside.log").write_text(good)
    return folder


@pytest.fixture(scope="module")
def port(root: Path) -> Iterator[int]:
    """A server with a token, which lets two logs be open."""
    port, home = free_port(), root.parent
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_RUNTIME_DIR": str(home / "run")}
    options = [
        "--ServerApp.jpserver_extensions={'workbench.server': True}", f"--ServerApp.port={port}", "--no-browser",
        "--allow-root", f"--ServerApp.root_dir={root}", "--IdentityProvider.token=secret", "--ServerApp.port_retries=0",
        "--ScheduleWorkbench.most_logs=2",
    ]  # fmt: skip
    with (home / "server.log").open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", *options], stdout=out, stderr=subprocess.STDOUT, env=environment
        )
    try:
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token=secret", timeout=2).close()
                break
            except OSError:
                told = (home / "server.log").read_text()[-3000:]
                assert server.poll() is None, told
                assert time.monotonic() < end, told
                time.sleep(0.1)
        yield port
    finally:
        stop_server(server)


def address(port: int, path: str, token: str = "secret") -> str:
    query = urllib.parse.urlencode({"path": path, "token": token})
    return f"ws://127.0.0.1:{port}/schedule-workbench/log?{query}"


def format_of(port: int, path: str, token: str = "secret") -> str:
    query = urllib.parse.urlencode({"path": path, "token": token})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/schedule-workbench/format?{query}", timeout=20) as answer:
        found = json.loads(answer.read())
    assert set(found) == {"format"}
    return str(found["format"])


def asked(work: Callable[[], Awaitable[Any]]) -> Any:
    return finished(within_a_minute(work()))


async def first(socket: Any, wanted: str) -> dict[str, Any]:
    """The first message of this kind, or the error."""
    while (data := await socket.read_message()) is not None:
        message, _ = unpacked(data)
        if message["t"] in (wanted, "error"):
            return message
    return {"t": "end"}


async def closed(socket: Any) -> None:
    """Close a connection, and wait until the server has heard it."""
    socket.close()
    while await socket.read_message() is not None:
        pass
    await asyncio.sleep(0.2)


@pytest.mark.checks
def test_a_log_is_read_and_its_process_ends_with_the_connection(port: int) -> None:
    async def work() -> None:
        socket = await websocket_connect(address(port, "good.log"))
        facts = await first(socket, "facts")
        assert facts["faults"] == [f"line {n}: no record of AutoTVM (JSONDecodeError)" for n in range(3, 8)]
        assert len(facts["tasks"]["rows"]) == 1
        await socket.write_message(json.dumps({"t": "hello"}))
        assert (await first(socket, "slices"))["slices"]["meta"]["n"] == 2
        await socket.write_message("no json")
        await socket.write_message(json.dumps({"t": "ask", "id": "1", "q": "figure", "args": {"name": "failures"}}))
        shown = (await first(socket, "ret"))["value"]["shown"]
        assert "data" in json.loads(shown)
        await closed(socket)

    asked(work)


@pytest.mark.parametrize(
    "path",
    [
        "../outside.log",
        "/../outside.log",
        ".hidden.log",
        "nothing.log",
        "a/../../outside.log",
        "good.log\0",
        "x" * 5000,
    ],
)
def test_what_the_server_does_not_give_out_is_not_read(port: int, path: str) -> None:
    async def work() -> Any:
        socket = await websocket_connect(address(port, path))
        try:
            return await first(socket, "facts")
        finally:
            await closed(socket)

    error = asked(work)["error"]
    assert error["code"] == "log.missing"
    assert "outside" not in error["message"]


def test_only_a_manager_of_files_says_where_a_file_is(tmp_path: Path) -> None:
    """Others have a root as well, "/", and their `etc/passwd` is not the machine's."""

    class Others(ContentsManager):  # type: ignore[misc]
        def get(self, path: str, content: bool = True, **more: Any) -> dict[str, Any]:
            return {"path": path}

    (tmp_path / "a.log").touch()
    with pytest.raises(LogError) as info:
        finished(place_of("etc/passwd", Others()))
    assert info.value.code == "log.unreadable"
    files = AsyncLargeFileManager(root_dir=str(tmp_path))
    assert finished(place_of("/a.log", files)) == str(tmp_path / "a.log")


def test_a_file_is_looked_at_before_it_opens(port: int, root: Path) -> None:
    (root / "usual.json").write_text('{"name": "x", "version": "1.0.0"}\n')
    (root / "folder").mkdir()
    assert format_of(port, "good.log") == "autotvm"
    assert format_of(port, "/good.log") == "autotvm"
    for path in ("usual.json", "folder", "nothing.log", ".hidden.log", "../outside.log", "a/../../outside.log"):
        assert format_of(port, path) == "", path
    with pytest.raises(HTTPError, match="403"):
        format_of(port, "good.log", token="")
    with pytest.raises(HTTPError, match="403"):
        format_of(port, "nothing.log", token="wrong")


def model_of(port: int, path: str, token: str = "secret") -> list[dict[str, Any]]:
    query = urllib.parse.urlencode({"path": path, "token": token})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/schedule-workbench/model?{query}", timeout=60) as answer:
        return [json.loads(line) for line in answer]


def test_a_model_is_read_within_what_the_server_gives_out(port: int, root: Path) -> None:
    model(root / "m.onnx", ["batch", 64])
    model(root / ".hidden.onnx", [1, 64])
    model(root.parent / "outside.onnx", [1, 64])
    graph, weights = model_of(port, "m.onnx")
    assert [node["op"] for node in graph["nodes"].values()] == ["Cast", "MatMul"]
    assert weights["rows"]["w"]["bars"]
    for path in (".hidden.onnx", "../outside.onnx", "nothing.onnx"):
        [error] = model_of(port, path)
        assert error["error"]["code"] == "log.missing", path
    with pytest.raises(HTTPError, match="403"):
        model_of(port, "m.onnx", token="")


async def answered(readers: ModelReaders, path: Path) -> None:
    async for _ in readers.ask({"path": str(path)}):
        pass


def test_a_process_that_reads_a_model_is_bounded(root: Path) -> None:
    model(root / "m.onnx", ["batch", 64])

    limits = Limits(1 << 20, open_seconds=60, cpu_seconds=60, idle_seconds=60, most_logs=1)
    with pytest.raises(ModelError) as info:
        asked(lambda: answered(ModelReaders(limits), root / "m.onnx"))
    assert info.value.code == "model.reader"


def test_too_long_a_line_is_an_error_that_teaches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model(root / "m.onnx", ["batch", 64])
    monkeypatch.setattr(model_process, "LINE_LIMIT", 256)
    with pytest.raises(ModelError) as info:
        asked(lambda: answered(ModelReaders(LIMITS), root / "m.onnx"))
    assert info.value.code == "model.too_large"


def test_a_process_that_does_not_get_ready_is_given_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_process, "START_S", 0.0)
    readers = ModelReaders(LIMITS)

    async def work() -> None:
        for _ in range(2):  # it does not stand in the way of the next
            with pytest.raises(ModelError) as info:
                await readers.prepare()
            assert info.value.code == "model.reader"
        await answered(readers, root / "m.onnx")

    model(root / "m.onnx", ["batch", 64])
    asked(work)


async def ended(readers: ModelReaders, how: str, patch: pytest.MonkeyPatch) -> None:
    """Let the process that is ready end, without a turn of the loop in which that would be heard."""
    with patch.context() as now:
        if how == "idle":
            now.setattr(model_process, "IDLE_S", 0)
        await readers.prepare()
    assert readers._spare is not None
    if how == "killed":
        os.kill(readers._spare.pid, signal.SIGKILL)
    time.sleep(0.5)
    assert readers._spare.returncode is None


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nothing ends for having waited")
@pytest.mark.parametrize("how", ["idle", "killed"])
def test_a_process_that_ended_before_it_was_asked_is_replaced(
    root: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    model(root / "m.onnx", ["batch", 64])
    readers = ModelReaders(LIMITS)

    async def work() -> list[Any]:
        await ended(readers, how, monkeypatch)
        return [json.loads(line)["t"] async for line in readers.ask({"path": str(root / "m.onnx")})]

    assert asked(work) == ["graph", "weights"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nothing ends for having waited")
def test_no_process_is_asked_that_takes_no_question(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both end at once, as where nobody asks for long: that is no empty answer."""
    monkeypatch.setattr(model_process, "IDLE_S", 0)
    readers = ModelReaders(LIMITS)

    async def work() -> None:
        await readers.prepare()
        time.sleep(0.5)
        monkeypatch.setattr(sys, "executable", "/bin/true")
        await answered(readers, root / "m.onnx")

    with pytest.raises(ModelError) as info:
        asked(work)
    assert info.value.code == "model.reader"
    assert "No process is ready" in str(info.value)


def test_a_slow_page_gets_all_lines(root: Path) -> None:
    """Only reading has to be done in time."""
    model(root / "m.onnx", ["batch", 64])
    readers = ModelReaders(LIMITS)

    async def work() -> list[Any]:
        await readers.prepare()
        readers._limits = replace(LIMITS, open_seconds=2)  # of the clock, not of the processor
        kinds = []
        async for line in readers.ask({"path": str(root / "m.onnx")}):
            kinds.append(json.loads(line)["t"])
            await asyncio.sleep(0 if len(kinds) > 1 else 2.2)
        return kinds

    assert asked(work) == ["graph", "weights"]


@pytest.mark.parametrize("turns", [1, 200])
def test_what_gets_ready_ends_with_the_server(turns: int) -> None:
    """Whether its process is being started, or loads what it needs."""

    started = list[asyncio.subprocess.Process]()

    class Watched(ModelReaders):
        async def _start(self) -> asyncio.subprocess.Process:
            started.append(process := await super()._start())
            return process

    async def work() -> None:
        readers = Watched(LIMITS)
        preparing = asyncio.create_task(readers.prepare())
        for _ in range(turns):
            await asyncio.sleep(0.001)
        await readers.close()
        await preparing
        assert [process.returncode is not None for process in started] == [True]
        await readers.prepare()
        assert len(started) == 1

    asked(work)


def test_only_a_page_that_has_gone_gets_no_reason() -> None:
    def told(gone: bool) -> list[dict[str, Any]]:
        """What a page hears where reading is cancelled."""
        handler = ModelHandler.__new__(ModelHandler)
        said = list[dict[str, Any]]()

        async def answer(path: str) -> None:
            handler._gone = gone
            raise asyncio.CancelledError

        async def ready() -> None:
            pass

        readers = ModelReaders(LIMITS)
        readers.__dict__["prepare"] = ready
        handler.__dict__ |= {
            "_readers": readers, "_answer": answer, "_say": said.append, "finish": lambda **_: None,
            "get_query_argument": lambda *_, **__: "m.onnx",
        }  # fmt: skip
        asked(lambda: inspect.unwrap(ModelHandler.get)(handler))
        return said

    assert told(gone=True) == []
    [error] = told(gone=False)
    assert error["error"]["code"] == "model.reader"


def readers_of(file: Path) -> list[str]:
    """Processes of this machine that have a file open, or in their memory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            opened = [os.readlink(place) for place in (process / "fd").iterdir()]
            if str(file) in opened or str(file) in (process / "maps").read_text():
                found.append(process.name)
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_the_reading_ends_with_the_page(port: int, root: Path) -> None:
    """The statistics of this weight would take minutes, without a line in between."""
    weight = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[1 << 33], data_location=1)
    weight.external_data.add(key="location", value="w.bin")
    with (root / "w.bin").open("wb") as file:
        file.truncate(1 << 35)  # it takes no room on the disk
    ends = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in ("x", "y")]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:], [weight])
    onnx.save(onnx.helper.make_model(graph), root / "w.onnx")
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall(
            b"GET /schedule-workbench/model?path=w.onnx&token=secret HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        said = b""
        while b'"t": "graph"' not in said:
            said += (part := connection.recv(1 << 16))
            assert part, said
        waiting.until(lambda: readers_of(root / "w.bin"))
    waiting.until(lambda: not readers_of(root / "w.bin"))


def test_the_reading_ends_where_a_page_reads_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is still connected, and takes no more of the answer."""
    model(root / "m.onnx", ["batch", 64])
    monkeypatch.setattr(model_handler, "STALLED_S", 0.2)
    started, closed = list[asyncio.subprocess.Process](), list[bool]()

    class Watched(ModelReaders):
        async def _start(self) -> asyncio.subprocess.Process:
            started.append(process := await super()._start())
            return process

    async def work() -> None:
        handler = ModelHandler.__new__(ModelHandler)
        stream = SimpleNamespace(close=lambda: closed.append(True))
        handler.__dict__ |= {
            "_readers": Watched(LIMITS), "_gone": False, "write": lambda _: None, "flush": lambda: asyncio.sleep(1000),
            "detach": lambda: stream, "get_query_argument": lambda name, *_, **__: "m.onnx" if name == "path" else "",
            "get_query_arguments": lambda *_, **__: [],
            "application": SimpleNamespace(settings={"contents_manager": AsyncLargeFileManager(root_dir=str(root))}),
        }  # fmt: skip
        await inspect.unwrap(ModelHandler.get)(handler)

    asked(work)
    assert closed == [True]
    assert [process.returncode is not None for process in started] == [True], "and none is made ready for it"


def test_without_token_or_from_another_page_there_is_no_connection(port: int) -> None:
    async def refused(request: Any) -> int:
        with pytest.raises(HTTPClientError) as info:
            await websocket_connect(request)
        return int(info.value.code)

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token=secret") as answer:
        cookies = "; ".join(one.partition(";")[0] for one in answer.headers.get_all("Set-Cookie"))
    own, other = (f"http://{host}" for host in (f"127.0.0.1:{port}", "elsewhere.example"))

    async def work() -> list[int]:
        without = address(port, "good.log", token="")
        known = await websocket_connect(HTTPRequest(without, headers={"Cookie": cookies, "Origin": own}))
        await closed(known)
        elsewhere = HTTPRequest(without, headers={"Cookie": cookies, "Origin": other})
        return [await refused(without), await refused(elsewhere)]

    assert asked(work) == [403, 403]


@pytest.mark.checks
def test_only_so_many_logs_are_open(port: int) -> None:
    async def work() -> None:
        for _ in range(3):  # what fails at once takes no place
            assert await (await websocket_connect(address(port, "") + "&path=%ff")).read_message() is None
        sockets = [await websocket_connect(address(port, "good.log")) for _ in range(3)]
        assert (await first(sockets[2], "facts"))["error"]["code"] == "log.many_open"
        await closed(sockets[0])
        again = await websocket_connect(address(port, "good.log"))
        assert (await first(again, "facts"))["t"] == "facts"
        await closed(again)
        await closed(sockets[1])
        await closed(sockets[2])

    asked(work)


def test_the_messages_of_kernels_leave_at_once() -> None:
    """The socket does not wait for more before the first message of a kernel goes through it."""
    told = list[object]()

    class Handler:
        def set_nodelay(self, value: bool) -> None:
            told.append(value)

    class Connection:
        websocket_handler = Handler()

        def connect(self) -> str:
            told.append("connected")
            return "done"

    extension = ScheduleWorkbench()
    extension.settings = {"kernel_websocket_connection_class": Connection}
    extension.initialize_settings()
    assert extension.settings["kernel_websocket_connection_class"]().connect() == "done"
    assert told == [True, "connected"]
    Connection.websocket_handler = None  # type: ignore[assignment]
    assert extension.settings["kernel_websocket_connection_class"]().connect() == "done"
