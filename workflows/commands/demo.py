"""`tidalign demo`: align real reads and genomes and search real proteins, which come with the package, and say in words what came out."""

import argparse
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.search.results import SearchResults
from tidalign.workflows.answer import answer
from tidalign.workflows.commands.genome import align_genomes
from tidalign.workflows.commands.pairs import align_pairs
from tidalign.workflows.commands.search import search_files
from tidalign.workflows.progress import Progress
from tidalign.workflows.status import Exit

DATA = Path(__file__).parents[1] / "demo"
"""Real data, and a page on where they come from."""

FLANK = 16
"""Letters of the genome on either side of where a read lies in its window; the alignment leaves them out at no cost."""

EXAMPLES = 6

BITS = 100
"""Score from which on the demo calls two proteins alike: here the E-value of such a hit is below 10^-20."""


def command(args: argparse.Namespace) -> Exit:
    """Align the reads and the genomes, search the proteins, write files of each, show some of it."""
    folder, progress = Path(args.output), Progress()
    told = None if args.quiet else progress
    with closing(progress):
        results = align_pairs(DATA / "reads.fastq.gz", DATA / "windows.fasta.gz", out=folder / "run", ends_free=(0, 0, FLANK, FLANK), progress=told)
    results.export(folder / "alignments.sam")
    results.export(folder / "alignments.tsv")
    answer(summary(results))
    with closing(progress):
        genomes = align_genomes(DATA / "fly_melanogaster.fa.gz", DATA / "fly_pseudoobscura.fa.gz", out=folder / "flies", progress=told)
    genomes.export(folder / "flies.maf")
    answer(summary_of_genomes(genomes))
    with closing(progress):
        proteins = search_files(DATA / "queries.faa.gz", DATA / "proteins.faa.gz", out=folder / "proteins", scoring="blosum62", progress=told)
    proteins.export(folder / "hits.m8")
    answer(summary_of_search(proteins))
    answer(
        f"""
Written: {folder}/alignments.sam, {folder}/alignments.tsv, {folder}/flies.maf, {folder}/hits.m8 and the run directories {folder}/run, {folder}/flies and
{folder}/proteins.
Next:
  tidalign export {folder}/run -o reads.paf
  python -c 'import tidalign; print(tidalign.Results("{folder}/run").to_table())'
  tidalign pairs YOUR_READS.fastq YOUR_TARGETS.fasta -o out.sam
  tidalign plot {folder}/flies -o flies.svg
  tidalign genome YOUR_TARGET.fa YOUR_QUERY.fa -o out.maf
  tidalign search YOUR_QUERIES.fa YOUR_DATABASE.fa -o hits.m8"""
    )
    return Exit.COMPLETE


def summary(results: Results) -> str:
    """Say what the alignments tell of the reads, and show the first of them that differ from the genome."""
    table = results.to_table()
    edits = pc.add(table["mismatches"], table["gap_letters"]).fill_null(0).to_numpy()
    letters = int(table["query_length"].to_numpy().sum())
    lines = [
        f"{len(table):,} reads of E. coli DSM 30083, each with its place in the genome of another strain, K-12 MG1655.",
        f"{edits.sum() / letters:.1%} of their {letters:,} letters differ; an exact alignment says where:",
        "",
        "  differences  reads",
    ]
    for number in range(5):
        reads = int((edits == number).sum() if number < 4 else (edits >= number).sum())
        lines.append(f"  {number if number < 4 else '4 or more':>11}  {reads:>5,}  {'#' * round(40 * reads / len(table))}")
    lines += ["", f"  {'read':<17} {'genome, first aligned letter':<29} {'penalty':>7}  CIGAR"]
    for row in table.take(np.flatnonzero(edits >= 2)[:EXAMPLES]).to_pylist():
        sequence, _, window = row["target_name"].partition(":")
        place = int(window.partition("-")[0]) + row["target_start"]
        lines.append(f"  {row['query_name']:<17} {f'{sequence} {place:,}':<29} {row['penalty']:>7}  {row['cigar']}")
    return "\n".join(lines)


def summary_of_genomes(results: GenomeResults) -> str:
    """Say what the alignments of the flies are, the longest first."""
    table = results.to_table()
    target, query = results.genomes()
    lines = [
        "",
        f"{int(target.lengths.sum()):,} bases of Drosophila melanogaster (2R) and {int(query.lengths.sum()):,} of D. pseudoobscura:",
        f"{len(table)} alignments, those that LASTZ finds, the best first.",
        "",
        f"  {'melanogaster':<16} {'pseudoobscura':<24} {'score':>7}  identity",
    ]
    for row in sorted(table.to_pylist(), key=lambda row: -int(row["score"])):
        identity = row["matches"] / (row["matches"] + row["mismatches"])
        places = f"{row['target_start']:,}-{row['target_end']:,}", f"{row['query_name']} {row['query_start']:,}-{row['query_end']:,} {row['strand']}"
        lines.append(f"  {places[0]:<16} {places[1]:<24} {row['score']:>7,}  {identity:.1%}")
    return "\n".join(lines)


def summary_of_search(results: SearchResults) -> str:
    """Say what the proteins are alike to, the best hit of each."""
    rows = results.to_table().to_pylist()
    alike = Counter(row["query_name"] for row in rows if row["bits"] >= BITS)
    lines = [
        "",
        f"{len({row['query_name'] for row in rows})} proteins of UniProt against 240 others, by Smith-Waterman with BLOSUM62; the best hit of each:",
        "",
        f"  {'protein':<24} {'best hit':<24} {'bits':>6} {'E-value':>8}  identity  hits of {BITS} bits",
    ]
    for row in (row for row in rows if row["rank"] == 1):
        names = (row[name].split("|")[-1] for name in ("query_name", "target_name"))
        quality = f"{row['bits']:>6.1f} {row['evalue']:>8.1e}  {row['identity']:>8.1%}  {alike[row['query_name']]:>{len(f'hits of {BITS} bits')}}"
        lines.append(f"  {next(names):<24} {next(names):<24} {quality}")
    return "\n".join(lines)
