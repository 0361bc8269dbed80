"""KTT, the Kernel Tuning Toolkit: its JSON with counters for each kernel, and the CSV made of its XML."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.logs.evaluation import SECONDS, Evaluation, Status
from workbench.logs.importer import UNREADABLE, LogImporter, log_importer
from workbench.logs.reading.json_document import Member, read_document
from workbench.logs.reading.objectives import FAILED_AS_NUMBER, is_number, scaled, unit_of
from workbench.logs.source import LogSource

STATUS: Mapping[str, Status] = {
    "Ok": "ok", "ComputationFailed": "run", "ValidationFailed": "wrong-answer", "CompilationFailed": "compile",
    "DeviceLimitsExceeded": "constraint",
}  # fmt: skip
"""Names of results; the duration of one that is not Ok is 0.0, which is no time."""

_SPENT = ("DataMovementOverhead", "SearcherOverhead", "ValidationOverhead", "ProfilingOverhead")


@log_importer("ktt")
class KttResults(LogImporter):
    """KTT's JSON: times in the unit that the file names (µs as a rule), counters of the profiler for each record."""

    tuner = "KTT"
    example = """{"Metadata": {"ComputeApi": "CUDA", "Device": "NVIDIA GeForce RTX 3090", "TimeUnit": "Microseconds"},
"Results": [
{"KernelName": "pnpoly", "Status": "Ok", "TotalDuration": 40.5, "TotalOverhead": 90.0, "DataMovementOverhead": 20.0,
 "SearcherOverhead": 1.0, "ValidationOverhead": 2.0, "ExtraDuration": 0.0, "ComputationResults": [],
 "Configuration": [{"Name": "BLOCK_SIZE_X", "Value": 32, "ValueType": "UnsignedInt"}]},
{"KernelName": "pnpoly", "Status": "Ok", "TotalDuration": 40.0, "TotalOverhead": 91.0, "DataMovementOverhead": 20.0,
 "SearcherOverhead": 1.0, "ValidationOverhead": 2.0, "ExtraDuration": 0.0, "ComputationResults": [],
 "Configuration": [{"Name": "BLOCK_SIZE_X", "Value": 64, "ValueType": "UnsignedInt"}]},
{"KernelName": "pnpoly", "Status": "ComputationFailed", "TotalDuration": 0.0, "TotalOverhead": 90.0,
 "ExtraDuration": 0.0, "ComputationResults": [],
 "Configuration": [{"Name": "BLOCK_SIZE_X", "Value": 992, "ValueType": "UnsignedInt"}]}
]}
"""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def matches(self, source: LogSource) -> bool:
        own = (b'"Metadata"', b'"Results"', b'"ComputationResults"', b'"Configuration"')
        return re.match(rb"\s*\{", source.head) is not None and all(word in source.head for word in own)

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        document = read_document(
            source, "Results", lambda value: isinstance(value, dict) and isinstance(value.get("Configuration"), list)
        )
        metadata = document.header.get("Metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        unit = str(source.hints.get("unit") or unit_of(metadata.get("TimeUnit")))
        if unit not in SECONDS:
            self._notes.append('The file does not say the unit of its times; taken: us (unit="…" for another).')
            unit = "us"
        device = str(source.hints.get("device") or metadata.get("Device") or "")
        seen: Counter[int] = Counter()
        for member in document.records:
            try:
                found = _evaluation(member, unit, device, str(source.hints.get("task") or ""))
            except UNREADABLE as error:
                source.fault(member.where, f"no record of KTT ({type(error).__name__})")
                continue
            seen[hash(repr(found.params))] += 1
            yield found
        again = sum(times > 1 for times in seen.values())
        if again:
            self._notes.append(f"{again} configurations occur more than once; all of their records are kept.")
        if not document.closed:
            self._notes.append("The file is not closed: it was cut off, or is being written.")

    def notes(self, source: LogSource) -> Sequence[str]:
        return self._notes


def _evaluation(member: Member, unit: str, device: str, task: str) -> Evaluation:
    record: dict[str, Any] = member.value
    second = SECONDS[unit]
    told = str(record["Status"])
    duration = record["TotalDuration"]
    status = STATUS.get(told, "unknown")
    if status == "ok" and not (is_number(duration) and 0 < duration < FAILED_AS_NUMBER):
        status = "unknown"
    total, compiling = record.get("TotalOverhead"), record.get("CompilationOverhead")
    if compiling is None and is_number(total) and all(is_number(record.get(name)) for name in _SPENT[:3]):
        compiling = total - sum(
            record.get(name, 0.0) for name in _SPENT
        )  # the rest, as KTT's own conversion to T4 has it
    known = {"Status", "Configuration", "TotalDuration", "KernelName", "ComputationResults"}
    return Evaluation(
        params={str(pair["Name"]): pair["Value"] for pair in record["Configuration"]}, status=status, told=told,
        value=float(duration) if status == "ok" else None, unit=unit, objective="TotalDuration", device=device,
        task=task or str(record.get("KernelName") or ""), compile_s=scaled(compiling, second),
        search_s=scaled(record.get("SearcherOverhead"), second), spent_s=scaled(total, second),
        verify_s=scaled(record.get("ValidationOverhead"), second),
        extra={name: value for name, value in record.items() if name not in known} | _counters(record),
        where=member.where, raw=record,
    )  # fmt: skip


def _counters(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what compiler and profiler say of the kernels; with the name of the kernel where there are several."""
    found: dict[str, Any] = {}
    kernels: list[Any] = record.get("ComputationResults") or []
    for kernel in kernels:
        before = f"{kernel['KernelFunction']}." if len(kernels) > 1 else ""
        for name, value in (kernel.get("CompilationData") or {}).items():
            found[before + str(name)] = value
        for counter in (kernel.get("ProfilingData") or {}).get("Counters") or []:
            found[before + str(counter["Name"])] = counter["Value"]
    return found


_HEADER = re.compile(rb"Kernel name,(Computation|Kernel) duration \((us|ms|ns|s)\),Global size,Local size,")
_KNOWN_COLUMNS = 4
"""Kernel name, duration, global size, local size; then the parameters."""

_COMPILED = (
    "Maximum work-group size",
    "Local memory size",
    "Private memory size",
    "Constant memory size",
    "Registers count",
)


@log_importer("ktt-csv")
class KttTable(LogImporter):
    """KTT's CSV: durations in µs, parameters and counters as columns, failures left out."""

    tuner = "KTT"
    tells_failures = False
    example = """Kernel name,Computation duration (us),Global size,Local size,block,dram__read.sum,Registers count
vectorAddition,77.408,1048576,32,32,262299,12
vectorAddition,63.52,1048576,64,64,262231,12
vectorAddition,38.336,1048576,128,128,262231,12
"""

    def matches(self, source: LogSource) -> bool:
        return _HEADER.match(source.head) is not None

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        names: list[str] = []
        for line in source.lines():
            text = line.raw.decode("utf-8", "replace").rstrip("\r\n")
            try:
                cells = next(csv.reader([text]), [])
                if not names:
                    names = cells
                    continue
                yield self._evaluation(source, names, cells, f"line {line.number}")
            except (*UNREADABLE, csv.Error):
                source.fault(line.number, "the line is cut off" if line.torn else "no row of this table")

    def _evaluation(self, source: LogSource, names: list[str], cells: list[str], where: str) -> Evaluation:
        row = dict(zip(names, cells, strict=True))
        unit = re.findall(r"\((\w+)\)", names[1])[0]
        parameters = [name for name in names[_KNOWN_COLUMNS:] if "__" not in name and name not in _COMPILED]
        others = [name for name in names[2:] if name not in parameters]
        return Evaluation(
            params={name: _value(row[name]) for name in parameters}, value=_time(row[names[1]]), unit=unit,
            objective=names[1].split(" (")[0], task=str(source.hints.get("task") or row[names[0]]),
            device=str(source.hints.get("device") or ""), extra={name: _value(row[name]) for name in others},
            where=where, raw=row,
        )  # fmt: skip


def _time(cell: str) -> float:
    if not 0 < (time := float(cell)) < FAILED_AS_NUMBER:
        raise ValueError("no time")
    return time


def _value(cell: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell
