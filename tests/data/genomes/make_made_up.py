"""Write what LASTZ finds by any score in the two sequences that `tidalign check` aligns on a GPU; run where LASTZ is installed.

python tests/data/genomes/make_made_up.py
"""

import re
import subprocess
import tempfile
from pathlib import Path

from tidalign.pipeline.genome.units import made_up

OPTIONS = ("--strand=plus", "--hspthresh=1", "--gappedthresh=1", "--format=general-:score,zstart1,end1,zstart2,end2,cigarx")


def main() -> None:
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("target.fa", "query.fa")]
        for path, letters in zip(paths, made_up(), strict=True):
            path.write_bytes(b">%s\n%s\n" % (path.stem.encode(), letters))
        lines = subprocess.run(["lastz", *map(str, paths), *OPTIONS], check=True, capture_output=True, text=True).stdout
    rows = re.sub(r"(?<![0-9])(?=[=XID])", "1", lines)  # LASTZ leaves out the counts of single letters
    Path(__file__).with_name("made_up.tsv").write_text(f"# {version}: {' '.join(OPTIONS)}\n{rows}")


if __name__ == "__main__":
    main()
