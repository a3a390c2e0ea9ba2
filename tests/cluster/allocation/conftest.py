"""Give the tests of other systems' jobs what those of Slurm's have."""

import sys
from pathlib import Path

for folder in (Path(__file__).parent, Path(__file__).parents[1] / "slurm"):
    sys.path.insert(0, str(folder))
