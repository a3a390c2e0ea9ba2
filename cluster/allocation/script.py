"""Write the script that becomes node.py on a node, for batch systems that start a program there without the environment of who starts it."""

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_OF_NODE = re.compile(r"(PBS|LSB|LSF|LS|TM|BASH)_\w*|NCPUS|HOST|HOSTNAME|PWD|OLDPWD|SHLVL|_|DISPLAY|E?UID|PPID|SHELLOPTS|BASHOPTS")
"""Variables that a batch system, or a shell, gives each process anew; some of a shell's cannot be set, which would end it."""


def write(folder: Path, program: Sequence[str], environment: Mapping[str, str] = os.environ) -> Path:
    """Write node.sh into a folder of this user's alone, as variables may hold secrets: what `program` says runs with this process's environment, folder and
    mask of modes, and adds what it says to a file of the folder that has the node's name.

    Which GPUs a job has is the node's own word where that has one. A temporary folder counts on nodes that have it.
    """
    umask = os.umask(0o077)
    os.umask(umask)
    said = {name: shlex.quote(value) for name, value in environment.items() if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and not _OF_NODE.fullmatch(name)}
    temporary, gpus = said.pop("TMPDIR", None), said.pop("CUDA_VISIBLE_DEVICES", None)
    lines = ["#!/bin/sh", f'exec < /dev/null >> {shlex.quote(str(folder))}/"$(uname -n)".log 2>&1', f"cd {shlex.quote(str(Path.cwd()))}", f"umask {umask:04o}"]
    lines += [f"export {name}={value}" for name, value in said.items()]
    lines += [f"[ ! -d {temporary} ] || export TMPDIR={temporary}"] if temporary else []
    lines += [f'[ -n "${{CUDA_VISIBLE_DEVICES+set}}" ] || export CUDA_VISIBLE_DEVICES={gpus}'] if gpus else []
    lines += [f"exec {shlex.join(program)}"]
    path = folder / "node.sh"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write("\n".join([*lines, ""]).encode(sys.getfilesystemencoding(), "surrogateescape"))
    return path
