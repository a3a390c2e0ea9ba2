"""SIGKILLs at random times for a run of a command that hires workers; taken up again until it ends."""

import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))
from ending import survivors


def killed_again_and_again(command: Sequence[str], kills: int, slow: float, seed: int) -> dict[str, Any]:
    """Run the command with TIDALIGN_TEST_SLOW, killed up to `kills` times, every second time its client and else one of its workers or what they are forked
    from; gives what happened."""
    environment = {**os.environ, "TIDALIGN_TEST_SLOW": str(slow)}
    rng = random.Random(seed)
    done = resumes = 0
    began = time.monotonic()
    client = psutil.Popen(command, env=environment)
    while done < kills:
        try:
            client.wait(rng.uniform(0.2, 6))
        except psutil.TimeoutExpired:
            pass
        else:
            break
        workers = [child for child in client.children(recursive=True) if forked(child)]
        at_client = done % 2 == 1
        if not at_client and not workers:
            continue
        victim = client if at_client else rng.choice(workers)
        victim.kill()
        done += 1
        if at_client:
            client.wait()
            assert survivors(workers) == [], "workers outlived their client"
            resumes += 1
            client = psutil.Popen(command, env=environment)
    status = client.wait()
    return {"kills": done, "resumes": resumes, "status": status, "seconds": round(time.monotonic() - began, 1)}


def forked(process: psutil.Process) -> bool:
    """Tell whether it is a worker, or what workers are forked from."""
    try:
        return "forkserver" in " ".join(process.cmdline())
    except psutil.Error:  # it has just died
        return False
