"""WFA2-lib (through pywfa) and edlib as the golden files and compare_real.py call them. Needs the `oracle` extra."""

from pywfa import WavefrontAligner

from tidalign.kernels.scoring.penalties import Penalties

OUR_LETTERS = str.maketrans("MID", "=DI")
"""WFA2-lib writes M for equal letters, and its I consumes the text: our D."""

MODELS = {"edit": "levenshtein", "linear": "linear", "affine": "affine", "affine2p": "affine2p"}


def wfa2(penalties: Penalties, memory_mode: str = "high") -> WavefrontAligner:
    """Make an exact end-to-end aligner; "high", "medium" and "low" memory give the same CIGARs, "biwfa" others of the same penalty."""
    options = {"distance": MODELS[penalties.model], "heuristic": None, "span": "end-to-end", "memory_mode": memory_mode}
    if penalties.model != "edit":
        options |= {"match": 0, "mismatch": penalties.mismatch, "gap_opening": penalties.pieces[0][0], "gap_extension": penalties.pieces[0][1]}
    if penalties.model == "affine2p":
        options |= {"gap_opening2": penalties.pieces[1][0], "gap_extension2": penalties.pieces[1][1]}
    return WavefrontAligner(**options)


def wfa2_align(aligner: WavefrontAligner, query: bytes, target: bytes) -> tuple[int, str]:
    """Penalty and CIGAR in our letters: the pattern is the query, the text (pywfa's first argument) the target."""
    aligner.wavefront_align(target.decode(), query.decode())
    if aligner.status != 0:
        raise RuntimeError(f"WFA2-lib gave up with status {aligner.status}")
    return abs(aligner.score), aligner.cigarstring.translate(OUR_LETTERS)


def edlib_distance(query: bytes, target: bytes, mode: str = "NW") -> int:
    """Edit distance; mode HW: both ends of the target are free."""
    import edlib

    return int(edlib.align(query, target, mode=mode, task="distance")["editDistance"])
