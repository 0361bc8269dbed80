"""Search spaces: schedules with holes from sketch rules, templates or by hand; sampling and keys of programs."""
