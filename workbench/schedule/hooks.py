"""Where the layers above lend their services to `Schedule`: building and measuring.

`schedule` lies below `runtime` and must not import it. The package's top level, which sees every layer, calls `provide`; until
then `Schedule.build` and `Schedule.measure` say that nothing is there to do it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import BuildError
from ..ir.func import Func

Service = Callable[..., Any]
_services: dict[str, Service] = {}


def provide(*, build: Service | None = None, measure: Service | None = None) -> None:
    """Install the services: ``build(func, target, **options)`` and ``measure(func, target, **options)``."""
    if build is not None:
        _services["build"] = build
    if measure is not None:
        _services["measure"] = measure


def call(service: str, func: Func, target: object, options: dict[str, Any]) -> Any:
    """Call a service; `BuildError` "build.no_runtime" when nobody provides it."""
    got = _services.get(service)
    if got is None:
        raise BuildError("build.no_runtime", f"Nothing is installed that can {service} a schedule.", (func.name,),
                         "import workbench, which brings its runtime along")
    return got(func, target, **options)
