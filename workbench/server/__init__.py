"""Extension of Jupyter's server: reads logs of tuners and models for JupyterLab's viewers, without a kernel.

`extension` is what the server loads, `log_socket` the connection of one tab, `reader_process` the process behind it
from the server's side, `reader_main` from the process's own. The server itself reads no log: a process with limits of
memory and time (`process_limits`) does, and whatever happens to it ends no more than its tab. `model_handler` gives
what is in a model, which a process reads as well (`model_process`, `model_main`). Only `format_handler` looks at the
first bytes of a file, to say whether it is a log. `places` confines all to the files that the server gives out.
`sessions_handler` lists the tuning sessions of all kernels, and steers them. `prompt_messages` lets what kernels say
leave at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from workbench.server.extension import ScheduleWorkbench

# The processes that read files do without Jupyter's server, which takes a second to load.
__getattr__ = loaded_on_first_use(__name__, {"ScheduleWorkbench": "extension:ScheduleWorkbench"})


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from workbench.server.extension import ScheduleWorkbench

    return [{"module": "workbench.server", "app": ScheduleWorkbench}]


__all__ = ["ScheduleWorkbench"]
