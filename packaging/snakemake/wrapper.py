"""Run tidalign for a rule: see meta.yaml."""

from shlex import quote

from snakemake.shell import shell

ROLES = {"pairs": ("queries", "targets"), "genome": ("target", "query"), "search": ("queries", "database")}

command = snakemake.params.get("command", "pairs")
if command not in ROLES:
    raise ValueError(f"params.command {command!r}: expected one of {', '.join(ROLES)}")
named = [snakemake.input.get(role) for role in ROLES[command]]
inputs = [str(each) for each in (named if any(named) else snakemake.input) if each]
device = "gpu" if snakemake.resources.get("gpu") else "cpu"
words = ["tidalign", command, *inputs, "-o", str(snakemake.output[0]), "--device", device, "--threads", str(snakemake.threads)]
extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=False, stderr=True)
shell(f"{' '.join(map(quote, words))} {extra} {log}")
