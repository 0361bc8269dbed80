"""A tuning run.

`run.start` has the function `tune`, `run.session` its handle. Imports go one way: `run` (loop, rounds, session), then
`steer`, `display` and `dask`, then `plan` (what a run is carried out with), `state` (what it knows), `options`,
`constants`.

`workbench.tune` is this package and, in the public interface, also the function that starts a session. Python binds one
name to one object, so the package itself can be called: ``workbench.tune(...)`` is `workbench.tune.run.start.tune`.
"""

from __future__ import annotations

import sys
from inspect import Signature, signature
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.tune.run.tuning_session import TuningSession


class _CallablePackage(ModuleType):
    @property
    def __signature__(self) -> Signature:
        """The signature of `tune`, which a notebook shows; it is loaded when somebody asks."""
        from workbench.tune.run.start import tune

        return signature(tune)

    def __call__(self, what: Any, **options: Any) -> TuningSession:
        """Tune in the background; see `workbench.tune.run.start.tune`."""
        from workbench.tune.run.start import tune

        return tune(what, **options)


sys.modules[__name__].__class__ = _CallablePackage
