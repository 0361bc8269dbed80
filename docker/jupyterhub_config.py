"""JupyterHub for a course whose students measure on one machine; docs/teaching/jupyterhub.md explains it.

Make the queues first, each with processors of its own: ``workbench queue /srv/workbench/queue-1 --cores 60-63``.
"""

import json
import os
import zlib
from glob import glob

#: Folders of the queues. Students are dealt out to them; those of one queue measure one after the other.
QUEUES = sorted(glob(os.environ.get("COURSE_QUEUES", "/srv/workbench/queue*")))
if not QUEUES:
    raise SystemExit("There is no queue: run `workbench queue FOLDER --cores LIST`, or set COURSE_QUEUES")

measuring: set[int] = set()
for queue in QUEUES:
    with open(os.path.join(queue, "queue.json"), encoding="utf-8") as file:
        measuring |= set(json.load(file)["cores"])
others = sorted(os.sched_getaffinity(0) - measuring)
if not others:
    raise SystemExit("The queues have all processors: leave some for notebooks and compilers")


def queue_of(spawner):
    """Return the queue of a student, the same one every time."""
    return QUEUES[zlib.crc32(spawner.user.name.encode()) % len(QUEUES)]


c = get_config()  # noqa: F821 (JupyterHub defines it)

# Everything that a student starts keeps to these processors. A measurement leaves them for its turn.
c.Spawner.cmd = ["taskset", "--cpu-list", ",".join(map(str, others)), "jupyterhub-singleuser"]
c.Spawner.environment = {"WORKBENCH_MEASUREMENT_QUEUE": queue_of}
c.Spawner.default_url = "/lab"

# With containers: all of them see the queues, and none is confined by `cpuset_cpus` to fewer processors.
# c.JupyterHub.spawner_class = "dockerspawner.DockerSpawner"
# c.DockerSpawner.image = "schedule-workbench"
# c.DockerSpawner.volumes = {queue: queue for queue in QUEUES}
# c.DockerSpawner.mem_limit = "3G"
