"""Formats of genome alignments on the command line: their names, and the endings of files that mean one. Nothing heavy is imported before one is looked at."""

NAMES = ("maf", "maf+", "maf-", "axt", "axt+", "paf", "paf:wfmash", "sam", "softsam", "general", "mapping", "chain", "segments", "cigar", "parquet")
"""What --help names; with a minus at the end, those that have a header are written without it."""

SUFFIXES = {
    "maf": "maf",
    "axt": "axt",
    "paf": "paf",
    "sam": "sam",
    "chain": "chain",
    "cigar": "cigar",
    "segments": "segments",
    "tsv": "general",
    "parquet": "parquet",
}
"""The format that the ending of a file's name means."""

ELSEWHERE = {
    ".bam": "write .sam and convert it: samtools view -b",
    ".cram": "write .sam and convert it: samtools view -C",
    ".gz": "write it plain and compress it after",
    ".lav": "LAV is not to be had; write .maf or .axt",
    ".psl": "write .chain or .axt and convert it: axtToPsl",
    ".fa": "write .maf",
    ".csv": "write .tsv or .parquet",
    ".png": "draw it with `tidalign plot` from the run directory",
}
"""What to do about endings that mean no format here."""


def named(format: str) -> str | None:
    """What is wrong with the name of a format; None if nothing is."""
    from tidalign.pipeline.genome.formats.export import parse

    try:
        parse(format)
    except ValueError as error:
        return str(error)
    return None
