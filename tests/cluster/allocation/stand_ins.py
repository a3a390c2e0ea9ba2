"""Stand-ins for pbs_tmrsh, pbsdsh and blaunch: they start tasks on this machine, under the name of another node, as the batch systems' do.

A task is no child of what started it, which only waits for it. It has the environment that the system gives it, nothing on its standard input, the home folder
as its own, and a mask that lets nobody else read. PBS adds what a task says to the job's output, LSF hands it on.
"""

import shlex
import shutil
import subprocess
from pathlib import Path

NODES = ("node1", "node2")

TASK = """#!/bin/sh
# task HOST NAME=VALUE .. -- COMMAND ..
host=$1; shift
setsid env -i HOME=/ PATH=/usr/bin:/bin "$@" &
wait $!
"""

INSIDE = """#!/bin/sh
hostname "$1"; shift
umask 077
cd /
exec "$@"
"""

PROGRAMS = {
    "pbs_tmrsh": """#!/bin/sh
[ -n "$PBS_ENVIRONMENT" ] || { echo "pbs_tmrsh: not executing under PBS" >&2; exit 255; }
host=$1; shift
grep -qx "$host" "$PBS_NODEFILE" && [ "$host" != gone ] || { echo "pbs_tmrsh: host \\"$host\\" is not a node in job <$PBS_JOBID>" >&2; exit 255; }
FOLDER/task "$host" PBS_JOBID="$PBS_JOBID" PBS_TASKNUM=00000002 NCPUS=2 CUDA_VISIBLE_DEVICES=1,0 \\
    unshare --uts FOLDER/inside "$host" "$@" < /dev/null >> FOLDER/output 2>&1
""",
    "pbsdsh": """#!/bin/sh
[ "$1" = -u ] || { echo "usage: pbsdsh -u program" >&2; exit 1; }
shift
for host in $(sort -u "$PBS_NODEFILE"); do
    FOLDER/task "$host" PBS_JOBID="$PBS_JOBID" PBS_TASKNUM=2 unshare --uts FOLDER/inside "$host" "$@" < /dev/null >> FOLDER/output 2>&1 &
done
wait
""",
    "blaunch": """#!/bin/sh
[ "$1 $2" = "-n -z" ] || { echo "blaunch: expected -n -z" >&2; exit 1; }
hosts=$3; shift 3
number=0
for host in $hosts; do
    number=$((number + 1))
    FOLDER/task "$host" LSB_JOBID="$LSB_JOBID" LSF_PM_TASKID=$number unshare --uts FOLDER/inside "$host" sh -c "$*" < /dev/null &
done
wait
""",
}


def objection() -> str | None:
    """Say what keeps processes from having the names of nodes here, or None."""
    if missing := [program for program in ("unshare", "setsid", "hostname") if not shutil.which(program)]:
        return f"{', '.join(missing)} not found"
    tried = subprocess.run(["unshare", "--uts", "hostname", "node1"], capture_output=True, text=True, check=False)
    return f"no process can have another node's name: {tried.stderr.strip()}" if tried.returncode else None


def install(program: str, folder: Path, slots: int = 1) -> dict[str, str]:
    """Write a stand-in into a folder; gives what a job has in its environment whose nodes have so many processors each."""
    texts = {"task": TASK, "inside": INSIDE, program: PROGRAMS[program].replace("FOLDER", shlex.quote(str(folder)))}
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "hosts").write_text("".join(f"{name}\n" * slots for name in NODES))
    path = {"PATH": f"{folder}:/usr/bin:/bin"}
    if program == "blaunch":
        return path | {"LSB_JOBID": "7", "LSB_DJOB_HOSTFILE": str(folder / "hosts")}
    return path | {"PBS_JOBID": "7.head", "PBS_NODEFILE": str(folder / "hosts"), "PBS_ENVIRONMENT": "PBS_BATCH", "PBS_TASKNUM": "1", "PBS_NODENUM": "0"}
