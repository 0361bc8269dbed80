"""A comm that records: tests see what a widget sends and play the browser, with no kernel and no browser."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import comm
import pytest
from comm.base_comm import BaseComm, CommManager


class RecordingComm(BaseComm):
    """Keeps what is sent as (type, comm id, data, bytes on the wire)."""

    log: ClassVar[list[tuple[str, str, dict[str, Any], int]]] = []

    def publish_msg(self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any) -> None:
        size = len(json.dumps(data or {}, default=str)) + sum(memoryview(b).nbytes for b in buffers or ())
        type(self).log.append((msg_type, self.comm_id, data or {}, size))

    def receive(self, content: dict[str, Any]) -> None:
        """Play the browser: a custom message arrives."""
        data = json.loads(json.dumps({"method": "custom", "content": content}))
        self.handle_msg({"content": {"comm_id": self.comm_id, "data": data}, "metadata": {}, "buffers": []})


@pytest.fixture
def comms(monkeypatch: pytest.MonkeyPatch) -> Any:
    from ipywidgets import Widget

    Widget.close_all()  # what other tests left, while its own comms are still known
    manager = CommManager()
    RecordingComm.log = []
    monkeypatch.setattr(comm, "create_comm", lambda *a, **k: RecordingComm(*a, **k))
    monkeypatch.setattr(comm, "get_comm_manager", lambda: manager)
    yield RecordingComm.log
    Widget.close_all()


@pytest.fixture
def sent(comms: Any) -> Any:
    """``sent(widget)`` -> custom messages that its views received so far."""

    def of(widget: Any) -> list[dict[str, Any]]:
        return [
            data["content"]
            for kind, name, data, _ in comms
            if kind == "comm_msg" and name == widget.comm.comm_id and data.get("method") == "custom"
        ]

    return of
