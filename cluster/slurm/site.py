"""The profile of a site: what its jobs ask Slurm for where nobody says otherwise, in ~/.config/tidalign/cluster.yaml."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidalign.cluster.allocation.processors import OF_A_GPU
from tidalign.cluster.errors import NoWorkers


@dataclass(frozen=True, slots=True)
class Profile:
    """Hold what a job asks for; None: what Slurm gives by itself.

    cpus_per_node: processors of each node, of which Slurm gives one by itself; None: the share of its GPUs (`with_share`), or all where no GPUs are asked for.
    time: as Slurm has it. notice: seconds before its end at which the run is told to stop. options: further ones of sbatch. before: lines of the script before
    the command, such as `module load cuda`.
    """

    partition: str | None = None
    account: str | None = None
    nodes: int = 1
    gpus_per_node: int = 0
    cpus_per_node: int | None = None
    time: str | None = None
    notice: int = 120
    options: tuple[str, ...] = ()
    before: str = ""

    @property
    def cpus(self) -> int | None:
        """Give the processors of each node, where a number of them is asked for."""
        return self.cpus_per_node or (None if self._says(*_OF_CPUS) else OF_A_GPU * self.gpus_per_node or None)

    @property
    def whole_nodes(self) -> tuple[str, ...]:
        """Give the options of sbatch that ask for all processors and all memory of each node, where nothing says how many."""
        if self.cpus or self._says(*_OF_CPUS):
            return ()
        return ("--exclusive",) if self._says("--mem") else ("--exclusive", "--mem=0")

    def _says(self, *names: str) -> bool:
        """Tell whether one of the further options begins so."""
        return any(option.startswith(names) for option in self.options)

    def override(self, given: Mapping[str, Any]) -> "Profile":
        """Replace what the profile says by what is given of `_GIVEN`; a command's own options may have names of others."""
        return replace(self, **{name: given[name] for name in _GIVEN if given.get(name) is not None})


_OF_CPUS = ("--exclusive", "--cpus-per", "-c", "--tres-per-task")
"""Begins of options of sbatch that say how many processors a job has."""

_GIVEN = ("nodes", "gpus_per_node", "cpus_per_node", "time", "partition", "account")
"""Names what options before a command say of its job."""

_TIME = re.compile(r"(\d+-)?\d+(:\d+){0,2}|UNLIMITED|INFINITE", re.IGNORECASE)
"""Times as Slurm has them: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S, or none."""

_LEAST = {"nodes": 1, "gpus_per_node": 0, "cpus_per_node": 1, "notice": 1}


def path(environment: Mapping[str, str] = os.environ) -> Path:
    """Give the place of the profile."""
    return Path(environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or "~").expanduser() / ".config", "tidalign", "cluster.yaml")


_TYPES: dict[str, tuple[type, ...]] = {
    "partition": (str,),
    "account": (str,),
    "nodes": (int,),
    "gpus_per_node": (int,),
    "cpus_per_node": (int,),
    "time": (str, int),
    "notice": (int,),
    "options": (list,),
    "before": (str,),
}


def read(file: Path) -> Profile:
    """Read a profile; what is not there is as Slurm has it. Raises NoWorkers where it is none, or somebody else may write to it: its lines are run."""
    import yaml

    try:
        with file.open() as opened:
            said = os.fstat(opened.fileno())  # of what is read, whatever has its name a moment later
            values = yaml.safe_load(opened)
        folder = file.parent.stat()
    except FileNotFoundError:
        return Profile()
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise NoWorkers(
            f"{file}: expected a profile in YAML, found one that cannot be read ({' '.join(str(error).split())[:100]}); mend or remove it"
        ) from error
    _see_who_may_write(file, said)
    _see_who_may_write(file.parent, folder)
    found = (values or {}).get("slurm") if isinstance(values or {}, dict) else None
    if not isinstance(found, dict):
        raise NoWorkers(f"{file}: expected `slurm:` with a job's options below it; `tidalign cluster init --new` writes one")
    named = {str(name).replace("-", "_"): value for name, value in found.items() if value is not None}
    for name, value in named.items():
        if name not in _TYPES:
            raise NoWorkers(f"{file}: {name!r} is not known; expected some of {', '.join(_TYPES).replace('_', '-')}")
        if not isinstance(value, _TYPES[name]) or isinstance(value, bool):
            raise NoWorkers(f"{file}: {name}: expected {' or '.join(kind.__name__ for kind in _TYPES[name])}, found {value!r}")
    if isinstance(named.get("time"), int):  # YAML 1.1 reads 4:00:00 as a number of base 60
        raise NoWorkers(f"{file}: time: {named['time']}: put it in quotes, as in time: '4:00:00'")
    for name, least in _LEAST.items():
        if named.get(name, least) < least:
            raise NoWorkers(f"{file}: {name}: expected {least} or more, found {named[name]}")
    if not _TIME.fullmatch(time := named.get("time", "0")):
        raise NoWorkers(f"{file}: time: expected minutes, H:M:S, D-H:M:S or the like, found {time!r}")
    if "time" in named and time[0].isdigit() and not re.search("[1-9]", time):
        raise NoWorkers(f"{file}: time: expected more than 0, as for Slurm that is no limit, found {time!r}; write UNLIMITED, or leave it out")
    for option in named.get("options", ()):
        _see_option(file, option)
    typed: dict[str, Any] = {name: tuple(value) if name == "options" else value for name, value in named.items()}
    return Profile(**typed)


def _see_who_may_write(place: Path, found: os.stat_result) -> None:
    """Raise NoWorkers where somebody else may change a profile, or the folder that it is in."""
    if found.st_uid not in (os.getuid(), 0):
        way_out = "set XDG_CONFIG_HOME to a folder of yours, in which `tidalign cluster init` writes another"
        raise NoWorkers(f"{place}: expected one of your own, as the profile's lines are run as you, found one of user {found.st_uid}; {way_out}")
    if found.st_mode & 0o022:
        raise NoWorkers(f"{place}: others may write to it, and the profile's lines are run as you: chmod go-w {place}")


_SAID = ("--output", "--error", "--signal", "--chdir", "--open-mode", "--requeue", "--no-requeue", "-o", "-e", "-D")
"""Options of sbatch with which tidalign finds a job's log, tells it that its time is over, and has it start again."""


def _see_option(file: Path, option: object) -> None:
    """Raise NoWorkers for what is no option of sbatch, or one that a job's script has already."""
    if not isinstance(option, str) or not re.match("-[a-zA-Z]|--[a-z]", option) or "\n" in option:
        raise NoWorkers(f"{file}: options: expected options of sbatch, as --qos=normal, found {option!r}")
    if (name := re.split("[= ]", option)[0] if option.startswith("--") else option[:2]) in _SAID:
        way_out = "leave it out; --requeue stands before the command, and `notice` says how long before its end a job is told"
        raise NoWorkers(f"{file}: options: {name} is said by tidalign itself in a job's script; {way_out}")


_SHOWN = "%P|%a|%D|%c|%G|%l"
"""Columns that sinfo is asked for: partition, with a star at the default one, up or down, nodes, processors, GPUs among other resources, longest time."""


def suggest() -> str:
    """Write a profile for this site, of what sinfo says. Raises NoWorkers where there is no Slurm."""
    if not shutil.which("sinfo"):
        raise NoWorkers("no Slurm here: sinfo is not found; run this on a login node of the cluster, or set PATH to Slurm's commands")
    asked = subprocess.run(["sinfo", "--noheader", f"--format={_SHOWN}"], capture_output=True, text=True, check=False)
    rows = [line.strip().split("|") for line in asked.stdout.splitlines() if line.count("|") == 5]
    rows = [row for row in rows if row[1] == "up"]
    if asked.returncode or not rows:
        raise NoWorkers(f"sinfo names no partition that is up: {' '.join((asked.stderr or asked.stdout).split())[:120]}; ask the site which one to use")
    # The default one, but one with GPUs before those without.
    name, _, nodes, cpus, resources, longest = max(rows, key=lambda row: (_gpus(row[4]), row[0].endswith("*")))
    lines = [
        "# What jobs of `tidalign --cluster slurm` ask for; options before the command override it. Written by `tidalign cluster init`, of what sinfo says:"
    ]
    lines += [f"#   {row[0]:<12} {row[2]} nodes of {row[3]} processors, {_gpus(row[4]) or 'no'} GPUs each, at most {row[5]}" for row in rows]
    longest = longest if re.fullmatch(r"[\d:-]+", longest) else "1-00:00:00"
    lines += ["slurm:", f"  partition: '{name.rstrip('*')}'", "  nodes: 1", f"  gpus-per-node: {_gpus(resources)}", f"  cpus-per-node: {cpus.rstrip('+')}"]
    lines += [f"  time: '{longest}'", "  notice: 120           # seconds before the end of the time at which a run stops in good order"]
    lines += ["  # account: name", "  # options: [--qos=normal, --exclusive]", "  # before: |", "  #   module load cuda"]
    return "\n".join(lines) + "\n"


def with_share(profile: Profile) -> Profile:
    """Have a job with GPUs, of which nobody says how many processors it has, ask for its share of a node: what sinfo says of those with as many GPUs, else
    `OF_A_GPU` each. A job that asks for more than a node has may wait for ever."""
    if profile.cpus_per_node or not profile.cpus or not shutil.which("sinfo"):
        return profile
    of = [f"--partition={profile.partition}"] if profile.partition else []
    asked = subprocess.run(["sinfo", "--noheader", f"--format={_SHOWN}", *of], capture_output=True, text=True, check=False)
    rows = [line.strip().split("|") for line in asked.stdout.splitlines() if line.count("|") == 5]
    nodes = [(int(row[3].rstrip("+")), _gpus(row[4])) for row in rows if of or row[0].endswith("*")]
    wanted = profile.gpus_per_node
    shares = [cpus * wanted // gpus for cpus, gpus in nodes if gpus >= wanted]
    return replace(profile, cpus_per_node=max(1, min(shares))) if shares else profile


def _gpus(resources: str) -> int:
    """Count the GPUs of a node in what sinfo says of its resources, as gpu:h200:4(S:0-1),shm."""
    return sum(int(count) for count in re.findall(r"\bgpu:(?:[^,:()]+:)?(\d+)", resources))
