"""Presets of genome runs: the options that pipelines give LASTZ, in one word."""

from pathlib import Path

SCORES = Path(__file__).parent / "scores"
"""The folder of score files that come with tidalign."""

_CACTUS = "queryhspbest=100000 ambiguous=iupac,100,100"
_UCSC = "strand=both nochain gapped inner=2000"

_TEXTS = {
    "one": f"{_CACTUS} step=2 ydrop=3000 notransition",
    "two": f"{_CACTUS} step=5 ydrop=3000",
    "three": f"{_CACTUS} step=4 ydrop=3500 hspthresh=2800",
    "four": f"{_CACTUS} step=3 ydrop=3500 hspthresh=2600 gappedthresh=2800",
    "five": f"{_CACTUS} step=2 ydrop=4000 hspthresh=2400 gappedthresh=2600",
    "cactus-default": f"{_CACTUS} step=1 ydrop=4000 hspthresh=2200 gappedthresh=2400",
    "lastz-chains": "ydrop=9400 inner=2000 gappedthresh=3000 hspthresh=2400 allocate:traceback=800.0M",
    "ucsc-near": f"{_UCSC} seed=12of19 notransition gap=600,150 hspthresh=4500 gappedthresh=3000 ydrop=15000 scores=human_chimp.v2.q",
    "ucsc-primate": f"{_UCSC} seed=12of19 notransition gap=600,150 hspthresh=4500 gappedthresh=4500 ydrop=15000 scores=human_chimp.v2.q",
    "ucsc-medium": f"{_UCSC} seed=12of19 transition=1 gap=400,30 hspthresh=3000 gappedthresh=3000 ydrop=9400",
    "ucsc-far": f"{_UCSC} seed=12of19 notransition gap=400,30 hspthresh=2200 gappedthresh=6000 ydrop=3400 scores=HoxD55.q",
}
"""Of Cactus (one to five, by falling likeness, and what it takes beyond), of make_lastz_chains, and of UCSC's DEF files, less M=, which masks as it goes."""

PRESETS = tuple(_TEXTS)


def options(name: str) -> dict[str, str | bool]:
    """Give the long options that a preset stands for; score files by their paths."""
    made: dict[str, str | bool] = {}
    for word in _TEXTS[name].split():
        option, equals, value = word.partition("=")
        made[option] = (str(SCORES / value) if option == "scores" else value) if equals else True
    return made


def listed() -> str:
    """List the presets for --help, with what each stands for."""
    return "".join(f"  {name:<16}{' '.join(f'--{word}' for word in text.split())}\n" for name, text in _TEXTS.items())
