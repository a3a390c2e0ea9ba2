"""What --help says below the options: examples of each command, and the exit statuses."""

from tidalign.workflows.options import presets

PAIRS = """examples:
  tidalign pairs a.fasta b.fasta -o run                     end to end; the run directory `run`, which `tidalign export` and Python read
  tidalign pairs reads.fq windows.fa -o out.sam --ends-free 0,0,16,16       windows have 16 letters to spare at either end, which cost nothing
  tidalign pairs reads.fq windows.fa -o out.bam --ends-free 0,0,16,16 --strand both --lift genome.fa.fai --sort
  tidalign pairs pairs.parquet -o out.parquet --penalties edit
  tidalign pairs both.fastq.gz --interleaved -o out.paf --penalties affine2p:4,6,2,24,1
  tidalign pairs long_a.fq long_b.fa -o out.paf --heuristic adaptive        promising diagonals only, as WFA2-lib's wfadaptive
  tidalign pairs reads.fq windows.fa -o out.sam --scoring match:2,mismatch:-4,gap:4,2 --span local
  tidalign pairs a.faa b.faa -o out.tsv --matrix blosum62 --gap 11,1 --report score
  tidalign pairs a.fasta b.fasta -o run --scheduler tls://10.0.0.1:8786

A killed command goes on where it was when it is given again, from `run`, or from `out.sam.run`.
"""

ESTIMATE = """examples:
  tidalign check --calibrate                                               once for a machine: estimates then use its own figures
  tidalign estimate pairs reads.fastq windows.fasta -o out.sam --ends-free 0,0,16,16
  tidalign estimate --json genome target.fa query.fa -o out.maf
"""

PARTITION = """example:
  tidalign partition a.fasta b.fasta -o run && tidalign pairs a.fasta b.fasta -o run
"""

_PRESETS = f"""
presets:
{presets.listed()}"""

GENOME = f"""examples:
  tidalign genome target.fa query.fa -o out.maf                            what LASTZ prints; a killed command goes on from out.maf.run
  tidalign genome 'target.fa[unmask]' query.2bit -o out.paf --step=20 --notransition
  tidalign genome target.fa query.fa -o out.axt K=2400 L=3000 Y=9400 --scores=HoxD55.q
  tidalign genome target.fa query.fa --format=general:score,name1,zstart1,end1 | head
  tidalign genome target.fa query.fa -o run --keep hsps && tidalign plot run -o dotplot.png
{_PRESETS}"""

GENOMES = f"""examples:
  tidalign genomes jobs.tsv -o out --format axt --step=20                  out/NAME.axt for each line of jobs.tsv
  tidalign genomes --all-vs-all a.fa b.fa -o out --merge                   every sequence of a.fa with every one of b.fa, in out/all.maf
  tidalign genomes --all-vs-all a.fa -o out                                every sequence of a.fa with those after it
{_PRESETS}"""

GENOME_INDEX = f"""examples:
  tidalign genome-index target.fa -o target.tgx && tidalign genome target.tgx query.fa -o out.maf
  tidalign genome-index 'target.fa[unmask]' -o target.tgx --step=20 --seed=match12

Give it the options of the runs: --seed, --step, --maxwordcount and --ambiguous count; the others are taken, and change nothing.
{_PRESETS}"""

SEARCH = """examples:
  tidalign search genes.fa database.fa -o hits.m8                  the ten best of each gene, both strands, BLAST tabular
  tidalign search proteins.faa database.faa -o hits.tsv --matrix blosum62 --gap 11,1 --top 5
  tidalign index database.faa -o database.tidx --alphabet protein && tidalign search proteins.faa database.tidx -o run --alphabet protein
"""

PLOT = """examples:
  tidalign genome target.fa query.fa -o run && tidalign plot run -o dotplot.png
  tidalign plot out/run -o dotplot.html --pair human__mouse                a page to zoom in
  tidalign plot minimap2.paf.gz -o contigs.svg --sort                      contigs along the diagonal, names on hover
  tidalign plot run -o part.png --region chr22:1-2000000 --min-identity 80
"""

REPORT = """examples:
  tidalign report run                                   run/report.html and run/tidalign_mqc.json, as at the end of the run
  tidalign report run -o monday.html --multiqc monday_mqc.json

The page needs no network. MultiQC finds the table by its name: `multiqc FOLDER` shows a line for each run below FOLDER.
"""

EXPORT = """examples:
  tidalign export run -o out.sam
  tidalign export run -o out.paf --cigar M
  tidalign export run -o - --format tsv | head
  tidalign export genome_run -o out.maf
"""

SERVE = """examples:
  tidalign serve &                                  then calls of tidalign-lastz, by link also of lastz, find it by themselves
  tidalign serve --workers 8 --idle-timeout 1h
  tidalign serve --stop

Its socket is in $XDG_RUNTIME_DIR/tidalign, for this user alone. Output, messages and statuses are as without it, and calls outlive it.
"""

MERGE = """examples:
  tidalign pairs reads.fq windows.fa -o shard.1 --shard 1/2      and, on another machine, --shard 2/2 with -o shard.2
  tidalign merge shard.* -o out.sam
  tidalign merge shard.*/run -o out.maf                          of `tidalign genomes`, whose run directories lie in DIR/run
"""

COMPLETION = """examples:
  source <(tidalign completion bash)                                         in ~/.bashrc
  tidalign completion zsh > "${fpath[1]}/_tidalign"
  tidalign completion fish > ~/.config/fish/completions/tidalign.fish
"""

MANUAL = """examples:
  tidalign man | man -l -
  tidalign man > ~/.local/share/man/man1/tidalign.1
"""

EXITS = """exit status: 0 everything is aligned, 3 something was cut or given up (rows or report say why), 2 wrong usage, 65 bad input, 66 no input,
69 no usable GPU or workers, 73 cannot write, 74 disk full, 75 cluster lost, 78 the run directory is of other inputs, options or another version,
130 and 143 stopped by a signal, 141 nobody reads the output, 1 a bug. After 69 to 75, 130 and 143 the same command goes on where it was."""

SHORT = """tidalign aligns DNA by the batch, exactly, on cores, GPUs and clusters.

  tidalign pairs a.fa b.fa -o out.sam                each sequence of a.fa with its one of b.fa; also .bam, .paf, .tsv, .parquet
  tidalign genome target.fa query.fa -o out.maf      two genomes, as LASTZ does; `genomes` for many
  tidalign search queries.fa database.fa -o out.m8   the best hits of every query
  tidalign estimate genome t.fa q.fa -o out.maf      what a command would take
  tidalign export RUN -o out.paf                     a finished run in another format
  tidalign plot RUN -o dots.svg                      a dot plot; `report RUN` a page of what was done
  tidalign demo, tidalign check                      real data that come with it; what is installed
See: tidalign --help, tidalign COMMAND --help
"""
