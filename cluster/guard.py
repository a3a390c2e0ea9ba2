"""See that a script may start processes: each imports it, and where its call of ours stands outside `if __name__ == "__main__":`, each would make that call."""

import ast
import multiprocessing
import sys
import threading
from pathlib import Path
from types import FrameType

from tidalign.cluster.errors import NoGuard


def see_guard() -> None:
    """Raise NoGuard, in a sentence, where the script that runs has no guard round what it is at. What is typed, a notebook and `python -c` need none."""
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if main is None or not path or (frame := _of_script(main.__dict__)) is None:
        return
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):  # no source, as of a frozen program
        return
    guards = [node for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)]
    if not any(node.lineno <= frame.f_lineno <= (node.end_lineno or node.lineno) for node in guards):
        raise NoGuard(
            f"{path}, line {frame.f_lineno}: worker processes import the script that starts them, which would do this once more: put it under "
            'if __name__ == "__main__": or give workers=0'
        )


def may_start() -> bool:
    """Tell whether this process may start others: it is no daemon, as Dask's workers are, and `see_guard` has nothing against the script."""
    if multiprocessing.current_process().daemon:
        return False
    try:
        see_guard()
    except NoGuard:
        return False
    return True


def _of_script(names: dict[str, object]) -> FrameType | None:
    """Find the outermost frame of the main thread in which the script's own lines run; None where there is none. (This one may be a thread that hires.)"""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    found = None
    while frame is not None:
        if frame.f_globals is names and frame.f_code.co_name == "<module>":
            found = frame
        frame = frame.f_back
    return found
