"""The recipes for hosts without a batch system: by SSH, with an sshd of this machine's for a host; for Kubernetes, of which only the text is looked at."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ending import survivors, wait_until

sys.path.insert(0, str(Path(__file__).parent / "slurm"))
import psutil
from slurm_site import found, free_ports
from work import PAIRS, program, write_pairs

RECIPES = Path(__file__).parents[2] / "workflows"


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[str]:
    """Give the command that reaches this machine by SSH, as this user, with a key made for it."""
    if not found("sshd") or not shutil.which("ssh") or not shutil.which("openssl"):
        pytest.skip("no sshd, ssh or openssl (on Debian: apt-get install openssh-server openssl)")
    (port,) = free_ports(1)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    settings = [f"Port={port}", "ListenAddress=127.0.0.1", f"HostKey={tmp_path}/host", f"AuthorizedKeysFile={tmp_path}/user.pub", "StrictModes=no"]
    settings += [f"PidFile={tmp_path}/sshd.pid", "UsePAM=no", "PasswordAuthentication=no", "PermitRootLogin=prohibit-password"]
    Path("/run/sshd").mkdir(exist_ok=True)
    with (tmp_path / "sshd.log").open("wb") as log:
        daemon = subprocess.Popen([str(found("sshd")), "-D", "-e", "-f", "/dev/null", *(f"-o{each}" for each in settings)], stderr=log)
    client = f"ssh -F none -p {port} -i {tmp_path}/user -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    wait_until(lambda: subprocess.run([*client.split(), "localhost", "true"], check=False, capture_output=True).returncode == 0, daemon)
    yield client
    daemon.terminate()
    daemon.wait()


def test_hosts_that_ssh_reaches(ssh: str, tmp_path: Path) -> None:
    write_pairs(tmp_path)
    _programs(tmp_path)
    program(tmp_path, *PAIRS, "-o", "alone.sam")
    environment = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "SSH": ssh, "HOSTS": "localhost", "ADDRESS": "127.0.0.1"}
    command = [str(RECIPES / "ssh" / "ssh.sh"), *PAIRS, "-o", "out.sam", "--keep-run"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.sam").read_bytes() == (tmp_path / "alone.sam").read_bytes()
    assert '"workers": 0' not in (tmp_path / "out.sam.run" / "report.json").read_text()
    assert not list(tmp_path.glob(".tidalign-ssh-*"))  # the key is gone
    assert survivors([process for process in psutil.process_iter() if _is_of(process, tmp_path)]) == []


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl (on Debian: apt-get install openssl)")
def test_a_host_without_workers_is_named(tmp_path: Path) -> None:
    """With what the command that reaches it said, while the others work; and where none does, with what the scheduler said. No SSH is needed for that."""
    write_pairs(tmp_path)
    _programs(tmp_path)
    reach = tmp_path / "bin" / "reach"
    reach.write_text('#!/bin/sh\n[ "$1" = here ] && exec sh -c "$2"\necho "reach: $1: Connection refused" >&2\nexit 255\n')
    reach.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "SSH": "reach", "ADDRESS": "127.0.0.1"}
    for hosts, status in (("away here", 0), ("away", 69)):
        command = [str(RECIPES / "ssh" / "ssh.sh"), *PAIRS, "-o", f"{status}.sam"]
        done = subprocess.run(command, cwd=tmp_path, env=environment | {"HOSTS": hosts}, capture_output=True, text=True, timeout=600)
        assert done.returncode == status, done.stderr
        assert done.stderr.count("ssh.sh: away: workers ended with status 255: reach: away: Connection refused\n") == 1
        assert "ssh.sh: here:" not in done.stderr and ("ssh.sh: scheduler: " in done.stderr) == (status == 69)
        assert not list(tmp_path.glob(".tidalign-ssh-*"))
        assert survivors([process for process in psutil.process_iter() if _is_of(process, tmp_path)]) == []


def _programs(folder: Path) -> None:
    """Write programs that are those that are tested."""
    (folder / "bin").mkdir()
    for name, module in (("tidalign", "tidalign.workflows"), ("dask", "dask")):
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {sys.executable} -P -m {module} "$@"\n')
        (folder / "bin" / name).chmod(0o755)


def _is_of(process: psutil.Process, folder: Path) -> bool:
    """Tell whether the recipe started a process in a folder."""
    try:
        return f"{folder}/.tidalign-ssh-" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def test_what_kubernetes_is_given() -> None:
    """A cluster of the operator of dask-kubernetes, one GPU and one thread a worker, TLS from a secret, and a job that works with it on the same volume."""
    resources: list[Any] = list(yaml.safe_load_all((RECIPES / "kubernetes" / "cluster.yaml").read_text()))
    claim, settings, cluster, job = resources
    assert [each["kind"] for each in resources] == ["PersistentVolumeClaim", "ConfigMap", "DaskCluster", "Job"]
    dask = yaml.safe_load(settings["data"]["dask.yaml"])
    assert dask["distributed"]["comm"]["require-encryption"] is True
    worker, scheduler = (cluster["spec"][role]["spec"]["containers"][0] for role in ("worker", "scheduler"))
    (runs,) = job["spec"]["template"]["spec"]["containers"]
    assert worker["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert worker["args"][:4] == ["dask", "cuda", "worker", f"tls://{cluster['metadata']['name']}-scheduler:8786"]
    assert worker["args"][worker["args"].index("--nthreads") + 1] == "1"
    mounts = [{(mount["name"], mount["mountPath"]) for mount in each["volumeMounts"]} for each in (worker, scheduler, runs)]
    assert {("keys", "/keys"), ("settings", "/etc/dask")} <= mounts[0] & mounts[1] & mounts[2]
    assert ("work", "/data") in mounts[0] & mounts[2]
    assert f"tls://{cluster['metadata']['name']}-scheduler" in " ".join(runs["args"])
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
