"""What the tests of Slurm's jobs have, for those of other systems' jobs."""

import sys
from pathlib import Path

for folder in (Path(__file__).parent, Path(__file__).parents[1] / "slurm"):
    sys.path.insert(0, str(folder))
