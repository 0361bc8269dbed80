"""What the logs of TVM's tuners share, for their importers and their replays.

`records` has results and errors of AutoTVM and the auto-scheduler, `autotvm_templates` the templates' arguments and
knobs, `metaschedule_trace` the instructions of a trace, `metaschedule_text` the text logs beside a database.
"""
