"""Makes the modules beside this file (oracle, simulate, conformance) importable by every test."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
