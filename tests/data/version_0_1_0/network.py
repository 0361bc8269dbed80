# small: the whole network, written by the Schedule Workbench 0.1.0.
# Schedules of 1 of its 1 tasks; their times there, as often as they occur: 0.0094442 ms.
import sys
from pathlib import Path

import workbench as wb
from workbench.tune.database import Database
from workbench.tune.record import Record

MODEL = '/elsewhere/small.onnx'
TARGET = 'llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64 -mattr= -l1=32K -l2=1M -l3=32M -threads=1'

# the fastest schedule of each task, as a line of a tuning log has it
SCHEDULES = [
    {'task_key': '8e1e257b5570176d', 'task': 'dense 32x96→64 + bias + relu', 'trial': 0, 'variant': -1, 'latency_ms': 0.009444222222222222, 'spread': 0.0009770395701025978, 'caches': 'warm', 'origin': 'default', 'trace': [{'primitive': 'compute_inline', 'args': {'block': 'bias_add'}}, {'primitive': 'split', 'args': {'loop': 'i', 'factors': [1, 16, 2]}}, {'primitive': 'split', 'args': {'loop': 'j', 'factors': [4, 1, 16]}}, {'primitive': 'reorder', 'args': {'loops': ['i.0', 'j.0', 'i.1', 'j.1', 'k', 'i.2', 'j.2']}}, {'primitive': 'transform_layout', 'args': {'buffer': 'W', 'dim': 1, 'block': 16}}, {'primitive': 'reverse_compute_at', 'args': {'block': 'relu', 'loop': 'j.1'}}, {'primitive': 'unroll', 'args': {'loop': 'relu_i'}}, {'primitive': 'vectorize', 'args': {'loop': 'relu_j'}}, {'primitive': 'unroll', 'args': {'loop': 'i.2'}}, {'primitive': 'vectorize', 'args': {'loop': 'j.2'}}]},
]

if __name__ == "__main__":
    model = MODEL
    beside = Path(__file__).with_name(Path(MODEL).name)
    if beside.exists() and not Path(MODEL).exists():  # script and model were moved together
        model = str(beside)
    graph = wb.load_onnx(sys.argv[1] if sys.argv[1:] else model, {'x': (32, 96)})
    best = Database(Record.from_json({"status": "ok", "target": TARGET, **line}) for line in SCHEDULES)
    net = wb.compile(graph, best, TARGET)
    for task in net.untuned:
        print("not tuned:", task)
    print(net.benchmark())  # of random inputs; net.run(...) takes your own, net.export(path) makes a library
