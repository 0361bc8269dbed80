"""Points in time as other programs write them."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(moment: datetime) -> float:
    """Return the seconds since 1970 of a moment; one without a zone is taken as UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def utc_or_none(text: object) -> float | None:
    """Return the seconds since 1970 of a moment in ISO's form; None where there is none."""
    try:
        return utc(datetime.fromisoformat(str(text)))
    except (ValueError, OverflowError):
        return None
