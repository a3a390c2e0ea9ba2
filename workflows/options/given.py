"""The options of a genome run that were given, together: whether they go with each other, and the parameters that they mean."""

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.genome.input.scores import ScoreFile, read_scores
from tidalign.pipeline.genome.parameters import GenomeParameters, genome_parameters
from tidalign.workflows.options.lastz import OPTIONS
from tidalign.workflows.options.option import Given


def check(given: Given) -> None:
    """Raise ValueError for options that do not go together. Reads no file."""
    for option in OPTIONS:
        if option.check and option.keyword in given:
            option.check(given)
    _derived(given, ScoreFile() if "scores" in given else None)


def check_many(given: Given, *, all_vs_all: bool) -> None:
    """Raise ValueError for options that are for one pair of genomes alone, or for pairs of files."""
    if given.get("with_itself"):
        raise ValueError("--self is for one genome: name a file as target and query, or use --all-vs-all")
    if all_vs_all and given.get("masking"):
        raise ValueError(
            "--masking counts the alignments of all queries of a file: --all-vs-all has pairs of sequences, each by itself; leave one of the two out"
        )


def parameters(given: Given) -> GenomeParameters:
    """Derive the parameters that options mean. Reads `scores`: raises InputError, MissingInput; and ValueError as `check` does."""
    if "scores" not in given:
        return _derived(given, None)
    scores = read_scores(given["scores"])
    try:
        return _derived(given, scores)
    except ValueError as error:
        raise InputError(str(given["scores"]), "scores that go with each other and with the options", str(error), "correct them") from error


def _derived(given: Given, scores: ScoreFile | None) -> GenomeParameters:
    fields = {name: value for name, value in given.items() if name not in ("scores", "segments")}
    return genome_parameters(scores=scores, **{**fields, "filters": tuple(given.get("filters", {}).values())})
