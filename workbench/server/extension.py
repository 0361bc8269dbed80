"""`ScheduleWorkbench`: what Jupyter's server loads, with the limits that its configuration sets."""

from __future__ import annotations

from jupyter_server.extension.application import ExtensionApp
from traitlets import Integer

from workbench.server.format_handler import FormatHandler, prepare
from workbench.server.log_socket import LogSocket
from workbench.server.model_handler import ModelHandler
from workbench.server.model_process import ModelReaders
from workbench.server.prompt_messages import prompt
from workbench.server.reader_process import Limits
from workbench.server.sessions_handler import SessionsHandler

_MEMORY = (
    "Memory of a process that reads a log, and size of a packed one unpacked, in MiB; of the processes that help it "
    "with a large log each has a quarter."
)


class ScheduleWorkbench(ExtensionApp):  # type: ignore[misc]
    """Reads logs for JupyterLab; `jupyter_server_config.py` sets its limits: ``c.ScheduleWorkbench.memory_mib = 8192``.

    Each log that is open in a tab has a process.
    """

    name = "schedule_workbench"
    description = "Reads the logs of tuners for JupyterLab's viewer"

    memory_mib = Integer(4096, min=256, help=_MEMORY).tag(config=True)
    open_seconds = Integer(600, min=1, help="Seconds within which a log has to be read.").tag(config=True)
    cpu_seconds = Integer(3600, min=1, help="Processor time of a process, in seconds.").tag(config=True)
    idle_seconds = Integer(1800, min=1, help="Seconds after which a log that nobody looks at is closed.").tag(
        config=True
    )
    most_logs = Integer(8, min=1, help="Logs that may be open at the same time.").tag(config=True)

    def initialize_handlers(self) -> None:
        """Offer addresses for logs that are on show, files that may be logs, models, and tuning sessions."""
        limits = Limits(self.memory_mib << 20, self.open_seconds, self.cpu_seconds, self.idle_seconds, self.most_logs)
        self._readers = ModelReaders(limits)
        self.handlers += [
            (r"/schedule-workbench/log", LogSocket, {"limits": limits}),
            (r"/schedule-workbench/format", FormatHandler),
            (r"/schedule-workbench/model", ModelHandler, {"readers": self._readers}),
            (r"/schedule-workbench/sessions", SessionsHandler),
        ]
        prepare()

    async def stop_extension(self) -> None:
        """End the process that is ready for the next model."""
        await self._readers.close()

    def initialize_settings(self) -> None:
        """Let the messages of kernels leave at once."""
        if connection := self.settings.get("kernel_websocket_connection_class"):
            self.settings["kernel_websocket_connection_class"] = prompt(connection)
