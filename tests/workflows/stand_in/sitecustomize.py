"""Python runs this when it starts with this folder on its path: kernels of the host then stand in for those of a GPU, under the names of the latter."""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

FILES = {f"tidalign.kernels.{name}.device": "gpu_kernels.py" for name in ("seed", "ungapped", "gapped")}
FILES["tidalign.kernels.pairwise.wavefront_device"] = "gpu_wavefronts.py"


class StandIns(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_file_location(name, Path(__file__).with_name(FILES[name])) if name in FILES else None


sys.meta_path.insert(0, StandIns())
