"""What packaging/ says of versions, dependencies, files and the command line is so; the wrapper and the scripts of the modules do what they are for."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = {"dask": "dask-core", "isal": "python-isal"}
"""Names that conda-forge has for packages of other names."""

LETTERS = "ACGTTGCATTGACCATGCAAGTCCATTAGGACTTAGCATCAGGATTTACCAGCATTAGGCCAGTATTACCAGGATCCATTGACA"
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, letters in (("reads", LETTERS), ("windows", LETTERS), ("target", LETTERS * 3), ("query", LETTERS)):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    return tmp_path


def test_the_recipe_has_the_project_s_dependencies() -> None:
    text = (PACKAGING / "conda" / "meta.yaml").read_text()
    recipe = yaml.safe_load(re.sub(r"{{.*?}}", "x", re.sub(r"{%.*?%}", "", text)))
    wanted = {CONDA.get(name, name): least for name, least in (re.fullmatch(r"([\w-]+)>=([\d.]+)", each).groups() for each in PROJECT["dependencies"])}  # type: ignore[union-attr]
    found = dict(each.split(" >=") for each in recipe["requirements"]["run"])
    assert found.pop("python") == PROJECT["requires-python"].removeprefix(">=") and found == wanted
    assert recipe["build"]["entry_points"] == [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert f'version = "{PROJECT["version"]}"' in text and (PACKAGING / "conda" / recipe["source"]["path"]).resolve() == ROOT


def test_the_image_takes_what_is_there() -> None:
    lines = (PACKAGING / "container" / "Dockerfile").read_text().splitlines()
    copied = {word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]}
    assert all((ROOT / name).exists() for name in copied)
    needed = {".src", "kernels", "pipeline", "cluster", "workflows", "pyproject.toml", PROJECT["readme"], *PROJECT["license-files"]}
    assert needed <= copied
    let_in = {line[1:] for line in (PACKAGING / "container" / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}
    assert let_in == copied
    assert any("tidalign check --compile" in line for line in lines)
    for extra in re.findall(r"\bcuda\d+\b", "\n".join(lines)):
        assert extra in PROJECT["optional-dependencies"]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("command", "inputs", "output", "extra"),
    [
        ("pairs", ("reads", "windows"), "out.bam", "--sort"),
        ("genome", ("target", "query"), "out.maf", "--step=2"),
        ("search", ("reads", "windows"), "out.m8", ""),
    ],
)
def test_the_wrapper_runs_its_command(
    named: bool, command: str, inputs: tuple[str, str], output: str, extra: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a stand-in for Snakemake: what a wrapper may ask of it, and nothing else."""
    roles = {"pairs": ("queries", "targets"), "genome": ("target", "query"), "search": ("queries", "database")}[command]

    class Named(list[str]):
        def get(self, name: str, default: Any = None) -> Any:
            return dict(zip(roles, self, strict=True)).get(name, default) if named else default

    job = SimpleNamespace(
        input=Named(f"{name}.fa" for name in inputs),
        output=[output],
        params={"command": command, "extra": extra},
        resources={},
        threads=2,
        log_fmt_shell=lambda stdout, stderr: "2> job.log" if stderr and not stdout else "",
    )
    lines: list[str] = []

    def shell(line: str) -> None:
        lines.append(line)
        subprocess.run(line, shell=True, check=True, cwd=folder, env=ENVIRONMENT)

    module = ModuleType("snakemake.shell")
    vars(module)["shell"] = shell
    monkeypatch.setitem(sys.modules, "snakemake", ModuleType("snakemake"))
    monkeypatch.setitem(sys.modules, "snakemake.shell", module)
    runpy.run_path(str(PACKAGING / "snakemake" / "wrapper.py"), {"snakemake": job})
    assert len(lines) == 1 and "--threads 2" in lines[0] and "--device cpu" in lines[0]
    assert (folder / output).stat().st_size and "tidalign:" in (folder / "job.log").read_text()
    assert (folder / f"{output}.bai").exists() == (extra == "--sort")


@pytest.mark.skipif(not shutil.which("snakemake", path=os.environ.get("TIDALIGN_SNAKEMAKE") or ENVIRONMENT["PATH"]), reason="no snakemake here")
def test_snakemake_runs_the_wrapper(folder: Path) -> None:
    """TIDALIGN_SNAKEMAKE: the folder of a snakemake of another environment."""
    shutil.copytree(PACKAGING / "snakemake", folder / "wrapper")
    for name in ("reads", "windows", "target", "query"):
        shutil.copy(folder / f"{name}.fa", folder / "wrapper" / "test")
    program = str(shutil.which("snakemake", path=os.environ.get("TIDALIGN_SNAKEMAKE") or ENVIRONMENT["PATH"]))
    done = subprocess.run([program, "--cores", "2", "-q"], cwd=folder / "wrapper" / "test", env=ENVIRONMENT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in (folder / "wrapper" / "test" / "out").iterdir()} >= {"reads.bam", "reads.bam.bai", "flies.maf", "hits.m8"}


def module(name: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    place = PACKAGING / "nf-core" / "modules" / "tidalign" / name
    meta, environment = (yaml.safe_load((place / file).read_text()) for file in ("meta.yml", "environment.yml"))
    return (place / "main.nf").read_text(), meta, environment


@pytest.mark.parametrize("name", ["pairs", "genome"])
def test_a_module_has_what_nf_core_s_lint_looks_for(name: str) -> None:
    text, meta, environment = module(name)
    assert text.startswith(f"process TIDALIGN_{name.upper()} {{")
    sections = ["tag ", "label 'process_high'", "conda ", "container ", "input:", "output:", "when:", "script:", "stub:"]
    places = [text.index(section) for section in sections]
    assert places == sorted(places) and text.count('path "versions.yml", emit: versions') == 1
    assert text.count("{") == text.count("}") and text.count('"""') == 4
    assert meta["name"] == f"tidalign_{name}" and set(meta) >= {"description", "keywords", "tools", "input", "output", "authors", "maintainers"}
    inputs = [next(iter(each)) for each in meta["input"][0]]
    assert re.search(r"tuple val\((\w+)\), path\((\w+)\), path\((\w+)\)", text).groups() == tuple(inputs)  # type: ignore[union-attr]
    assert set(re.findall(r"emit: (\w+)", text)) == set(meta["output"])
    assert environment["dependencies"] == [f"bioconda::tidalign={version('tidalign')}"] and f"tidalign:{version('tidalign')}" in text


@pytest.mark.parametrize(("name", "inputs", "suffix"), [("pairs", ("reads", "windows"), "bam"), ("genome", ("target", "query"), "maf")])
@pytest.mark.parametrize("section", ["script", "stub"])
def test_a_module_s_script_runs(name: str, inputs: tuple[str, str], suffix: str, section: str, folder: Path) -> None:
    """As Nextflow would write it, with the variables of a task put in."""
    text, meta, _ = module(name)
    script = text[text.index(f"{section}:") :].split('"""')[1]
    values = dict(zip((next(iter(each)) for each in meta["input"][0][1:]), (f"{each}.fa" for each in inputs), strict=True))
    values |= {"prefix": "sample", "suffix": suffix, "task.cpus": "2", "device": "cpu", "args": "", "task.process": f"TIDALIGN_{name.upper()}"}
    written = re.sub(r"(?<!\\)\$\{([\w.]+)\}", lambda found: values[found[1]], script).replace("\\\\", "\\").replace("\\$", "$")
    indent = min(len(line) - len(line.lstrip()) for line in written.splitlines() if line.strip())
    written = "\n".join(line[indent:] for line in written.splitlines())
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", written], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr + written
    assert (folder / f"sample.{suffix}").exists() and bool((folder / f"sample.{suffix}").stat().st_size) == (section == "script")
    said = yaml.safe_load((folder / "versions.yml").read_text())
    assert said == {f"TIDALIGN_{name.upper()}": {"tidalign": version("tidalign")}}, json.dumps(said)
