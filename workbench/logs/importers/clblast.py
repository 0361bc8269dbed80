"""CLBlast's tuners and CLTune, from which they come: a JSON file per kernel, and CLBlast's database of many devices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.logs.evaluation import Evaluation
from workbench.logs.importer import UNREADABLE, LogImporter, log_importer
from workbench.logs.reading.json_document import read_document
from workbench.logs.reading.objectives import is_number
from workbench.logs.source import LogSource

_NOT_FINISHED = "The file is not closed: it was cut off, or is being written."


@log_importer("clblast")
class ClBlastResults(LogImporter):
    """CLBlast's and CLTune's JSON: times in ms with three decimals, failures left out."""

    tuner = "CLBlast, CLTune"
    tells_failures = False
    example = """{
  "kernel_family": "xgemm_1",
  "precision": "32",
  "arg_m": "1024",
  "clblast_device_vendor": "NVIDIA",
  "clblast_device_name": "GeForce GTX 970",
  "device": "GeForce GTX 970",
  "device_core_clock": "1253",
  "results": [
    {"kernel": "Xgemm", "time": 2.345, "parameters": {"MWG": 64,"NWG": 64,"PRECISION": 32}},
    {"kernel": "Xgemm", "time": 3.210, "parameters": {"MWG": 16,"NWG": 64,"PRECISION": 32}},
    {"kernel": "Xgemm", "time": 2.987, "parameters": {"MWG": 32,"NWG": 64,"PRECISION": 32}}
  ]
}
"""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def matches(self, source: LogSource) -> bool:
        own = (b'"results"', b'"kernel"', b'"parameters"', b'"time"', b'"device_core_clock"')
        return re.match(rb"\s*\{", source.head) is not None and all(word in source.head for word in own)

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        document = read_document(
            source, "results", lambda value: isinstance(value, dict) and isinstance(value.get("parameters"), dict)
        )
        self._notes = [] if document.closed else [_NOT_FINISHED]
        for member in document.records:
            record = member.value
            if not _is_time(record.get("time")):
                source.fault(member.where, "the time is no number above 0")
                continue
            task, device = _told(document.header, record.get("kernel"), source.hints)
            yield Evaluation(
                params=record["parameters"], value=float(record["time"]), unit="ms", task=task, device=device,
                where=member.where, raw=record,
            )  # fmt: skip

    def notes(self, source: LogSource) -> Sequence[str]:
        return self._notes


@log_importer("clblast-database")
class ClBlastDatabase(LogImporter):
    """CLBlast's database: a section for each kernel and device with all its results, times in ms."""

    tuner = "CLBlast"
    tells_failures = False
    example = """{"sections": [
{"clblast_device_name": "GeForce GTX 970", "clblast_device_vendor": "NVIDIA", "kernel": "Xgemm", "kernel_family":
 "xgemm", "precision": "32", "parameter_names": ["MWG", "NWG"], "results": [["64,64", 2.345], ["16,64", 3.21]]},
{"clblast_device_name": "Fiji", "clblast_device_vendor": "AMD", "kernel": "Xgemm", "kernel_family": "xgemm",
 "precision": "32", "parameter_names": ["MWG", "NWG"], "results": [["64,64", 1.5], ["16,64", 2.0]]},
{"clblast_device_name": "Fiji", "clblast_device_vendor": "AMD", "kernel": "Xdot", "kernel_family": "xdot",
 "precision": "32", "parameter_names": ["WGS1"], "results": [["64", 0.015]]}
]}
"""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def matches(self, source: LogSource) -> bool:
        own = (b'"sections"', b'"kernel_family"', b'"results"')
        return re.match(rb"\s*\{", source.head) is not None and all(word in source.head for word in own)

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        document = read_document(
            source, "sections", lambda value: isinstance(value, dict) and isinstance(value.get("results"), list)
        )
        self._notes = [] if document.closed else [_NOT_FINISHED]
        for member in document.records:
            section = member.value
            task, device = _told(section, section.get("kernel"), source.hints)
            names = section.get("parameter_names")
            for number, result in enumerate(section["results"]):
                where = f"{member.where}, result {number}"
                try:
                    params, time = _result(names, result)
                except UNREADABLE as error:
                    source.fault(where, f"no result of this database ({type(error).__name__})")
                    continue
                yield Evaluation(
                    params=params, value=time, unit="ms", task=task, device=device, where=where, raw=result
                )

    def notes(self, source: LogSource) -> Sequence[str]:
        return self._notes


def _result(names: Any, result: Any) -> tuple[dict[str, Any], float]:
    """Return parameters and time, of the short form with a text of values, or of the long one."""
    if isinstance(result, dict):
        params, time = dict(result["parameters"]), result["time"]
    else:
        values, time = result
        params = dict(zip(names, values.split(","), strict=True))
    if not _is_time(time):
        raise ValueError("no time")
    return {str(name): _whole(value) for name, value in params.items()}, float(time)


def _told(header: Mapping[str, Any], kernel: Any, hints: Mapping[str, Any]) -> tuple[str, str]:
    """Return task and device: the kernel with its precision and sizes, and where it ran."""
    family = str(header.get("kernel_family") or kernel or "")
    sizes = [f"{name[4:]}={value}" for name, value in header.items() if name.startswith("arg_")]
    precision = [f"{header['precision']}-bit"] if "precision" in header else []
    device = header.get("clblast_device_name") or header.get("device") or ""
    return str(hints.get("task") or " ".join([family, *precision, *sizes])), str(hints.get("device") or device)


def _is_time(value: Any) -> bool:
    return is_number(value) and value > 0


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value) else value
