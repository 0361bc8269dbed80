"""Every page of ``docs/`` that is made from declarations."""

from __future__ import annotations

from workbench.cost_model.docs import documentation as features
from workbench.documentation.api import api_pages
from workbench.documentation.error_codes import error_page
from workbench.documentation.reference import declared_pages
from workbench.documentation.teaching import labs_page
from workbench.log.docs import documentation as log_format


def made_pages() -> dict[str, str]:
    """Return their texts by their place in ``docs/``; the same on every machine."""
    alone = {"features.md": features(), "log-format.md": log_format(), "teaching/labs.md": labs_page()}
    alone["reference/error-codes.md"] = error_page()
    return {**alone, **declared_pages(), **api_pages()}
