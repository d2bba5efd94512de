"""A run on Ray ends in the bytes of a local run, whatever happens to workers, nodes and driver.

Ray brings pandas along, so it has an environment of its own, with the same versions of all else:
SCORER_RAY_PYTHON names its Python.
"""

import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from remote_servers import keys_for, only_these, s3_server

import scorer.engine.job
from scorer.engine.executor import executor
from scorer.engine.files import sha256
from scorer.engine.manifest import read_manifest
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.engine.verify import verify
from scorer.errors import UsageError

WORKS, SHARD = 640, 64
PYTHON = os.environ.get("SCORER_RAY_PYTHON") or (
    sys.executable if importlib.util.find_spec("ray") else None
)
SECONDS = 300  # more than any command here takes on a busy machine
# A lost node is noticed in seconds instead of half a minute; one that is only slow is no lost one.
QUICK = {"RAY_health_check_initial_delay_ms": "0", "RAY_health_check_period_ms": "500"}
# Nobody else on this machine may send work, and Ray need not keep a token in the home folder.
GUARDED = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
on_ray = pytest.mark.skipif(
    PYTHON is None, reason="needs Ray: SCORER_RAY_PYTHON=a Python with scorer[ray]"
)

pytestmark = pytest.mark.usefixtures("small_shards")


@contextmanager
def node(environment: dict[str, str], *options: str) -> Iterator[None]:
    """Run one node of a cluster in processes of its own."""
    assert PYTHON is not None
    command = [Path(PYTHON).with_name("ray"), "start", "--block", "--num-cpus", "1", *options]
    command += ["--object-store-memory", "200000000", "--disable-usage-stats"]
    process = subprocess.Popen(
        [str(word) for word in command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # workers end with their node
        process.wait(SECONDS)


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


class Cluster:
    """A head, to which a second node may come."""

    def __init__(self, address: str, environment: dict[str, str]) -> None:
        self.address = address
        self.environment = environment

    @contextmanager
    def second_node(self) -> Iterator[None]:
        with node(self.environment, "--address", self.address):
            self.wait_for(2)
            yield

    def wait_for(self, nodes: int) -> None:
        code = (
            "import ray, sys, time\n"
            "ray.init(sys.argv[1], log_to_driver=False, logging_level='CRITICAL')\n"
            "while sum(n['Alive'] for n in ray.nodes()) != int(sys.argv[2]): time.sleep(0.2)"
        )
        subprocess.run(
            [PYTHON, "-c", code, self.address, str(nodes)],
            env=self.environment,
            check=True,
            timeout=SECONDS,
        )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    port = free_port()
    environment = os.environ | QUICK | GUARDED
    # Sockets lie in there, whose paths must be short.
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as at:
        head = ("--head", "--port", str(port), "--include-dashboard", "false", "--temp-dir", at)
        with node(environment, *head):
            ends = time.monotonic() + SECONDS
            while not answers(port):
                assert time.monotonic() < ends, "the cluster did not start"
                time.sleep(0.2)
            yield Cluster(f"127.0.0.1:{port}", environment)


def answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def frame(make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory):
    """A frame of ten shards."""
    path = tmp_path_factory.mktemp("ray") / "works.parquet"
    columns = ("id", "title", "venue", "topic", "field", "lang", "type", "year")
    make_labels(WORKS, seed=1).select(columns).write_parquet(path, row_group_size=SHARD)
    return path


class Runs:
    """Runs of one frame to one output."""

    def __init__(
        self, frame: Path | str, model: Path, folder: Path, environment: dict[str, str]
    ) -> None:
        self.frame, self.model, self.folder = frame, model, folder
        self.output = folder / "out.parquet"
        self.parts = folder / "out.parquet.parts"
        self.seen = folder / "seen"
        self.seen.mkdir()
        self._environment = environment

    def start(self, trouble: str, shard: int, *options: str | Path) -> subprocess.Popen[str]:
        """Start a run on Ray; see `ray_runs.py` for what may happen to it."""
        command = [
            *(PYTHON, Path(__file__).with_name("ray_runs.py"), trouble, shard, self.seen),
            *("run", self.frame, "--model", self.model, "-o", self.output, "--engine", "ray"),
            *options,
        ]
        return subprocess.Popen(
            [str(word) for word in command],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, trouble: str, shard: int, *options: str | Path) -> tuple[int, str, str]:
        """Run to the end; return exit code, standard output and error."""
        with self.start(trouble, shard, *options) as process:
            out, errors = process.communicate(timeout=SECONDS)
            return process.returncode, out, errors

    def nodes_seen(self) -> int:
        """Return how many nodes read shards."""
        return sum(path.name != "happened" for path in self.seen.iterdir())

    def request(self, **changes: object) -> RunRequest:
        """Return the same job for a local run."""
        settings = {"frame": self.frame, "model": str(self.model), "output": self.output}
        return RunRequest(**(settings | changes))

    def local(self, **changes: object) -> str:
        """Score the frame on this machine; return the sha256."""
        output = self.folder / "local.parquet"
        return run(self.request(output=output, **changes)).output.sha256


@pytest.fixture
def runs(cluster: Cluster, frame: Path, tiny_bundle: Path, tmp_path: Path) -> Runs:
    return Runs(frame, tiny_bundle, tmp_path, cluster.environment)


@on_ray
def test_two_nodes_make_the_bytes_of_a_local_run_though_a_worker_is_killed(
    cluster: Cluster, runs: Runs
) -> None:
    with cluster.second_node():
        ended = runs.end("die-once", 3, "--address", cluster.address, "--quiet")
    assert ended == (0, "", "")
    assert (runs.seen / "happened").exists()
    assert runs.nodes_seen() == 2
    assert sha256(runs.output) == runs.local()
    assert [check.name for check in verify(runs.output) if check.offending] == []
    assert not runs.parts.exists()


@on_ray
def test_the_second_stage_of_a_run_is_scored_by_the_cluster_too(
    cluster: Cluster, runs: Runs, second_bundle: Path
) -> None:
    options = ("--refine", second_bundle, "--refine-share", "20%", "--address", cluster.address)
    ended = runs.end("none", 0, *options, "--quiet")
    assert ended == (0, "", "")
    assert sha256(runs.output) == runs.local(refine=str(second_bundle), refine_share=0.2)
    assert [check.name for check in verify(runs.output) if check.offending] == []


@on_ray
def test_a_lost_node_costs_no_work(cluster: Cluster, runs: Runs) -> None:
    with cluster.second_node():
        ended = runs.end("lose-node", 2, "--address", cluster.address, "--quiet")
    assert ended == (0, "", "")
    assert (runs.seen / "happened").exists()
    assert sha256(runs.output) == runs.local()


@on_ray
def test_a_shard_that_kills_every_worker_is_named_and_those_before_it_are_kept(
    cluster: Cluster, runs: Runs
) -> None:
    code, out, errors = runs.end("die", 4, "--address", cluster.address, "--quiet")
    assert (code, out) == (1, "")
    assert errors == (
        "Error: shard 4 (works 256 to 319): the worker process died, 5 times.\n"
        "Finished parts are kept: give the same command again.\n"
    )
    assert not runs.output.exists()
    manifest = run(runs.request())  # what killed the workers is gone; the rest is done locally
    assert manifest.resumed_rows == 4 * SHARD
    assert manifest.output.sha256 == runs.local()


@on_ray
def test_a_killed_driver_is_resumed_and_a_local_run_by_ray(cluster: Cluster, runs: Runs) -> None:
    with runs.start("hold", 3, "--address", cluster.address) as driver:
        assert driver.stdout.readline() == "holding\n"
        driver.send_signal(signal.SIGKILL)
    assert len(list(runs.parts.glob("part-*.parquet"))) == 3
    ended = runs.end("none", 0, "--address", cluster.address, "--quiet")
    assert ended == (0, "", "")
    manifest = read_manifest(runs.output)
    assert (manifest.resumed_rows, manifest.output.sha256) == (3 * SHARD, runs.local())


@on_ray
def test_ctrl_c_keeps_the_finished_parts_and_leaves_the_cluster_running(
    cluster: Cluster, runs: Runs
) -> None:
    with runs.start("hold", 2, "--address", cluster.address) as driver:
        assert driver.stdout.readline() == "holding\n"
        driver.send_signal(signal.SIGINT)
        while not driver.stderr.readline().startswith("Stopping when the part in work"):
            assert driver.poll() is None
        driver.send_signal(signal.SIGINT)
        _, errors = driver.communicate(timeout=SECONDS)
    assert (driver.returncode, errors) == (
        130,
        "Interrupted. The same command goes on from the finished parts.\n",
    )
    cluster.wait_for(1)  # node: the cluster lives
    manifest = run(runs.request())
    assert (manifest.resumed_rows, manifest.output.sha256) == (2 * SHARD, runs.local())


@pytest.fixture
def damaged(frame: Path, tmp_path: Path) -> Path:
    """A copy of the frame whose fifth shard cannot be read."""
    path = tmp_path / "damaged.parquet"
    content = bytearray(frame.read_bytes())
    titles = pq.ParquetFile(frame).metadata.row_group(4).column(1)
    start = titles.dictionary_page_offset or titles.data_page_offset
    content[start : start + titles.total_compressed_size] = bytes([255]) * (
        titles.total_compressed_size
    )
    path.write_bytes(content)
    return path


@on_ray
def test_what_a_worker_finds_wrong_with_the_frame_is_told_as_in_a_local_run(
    cluster: Cluster, damaged: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    runs = Runs(damaged, tiny_bundle, tmp_path, cluster.environment)
    code, out, errors = runs.end("none", 0, "--address", cluster.address, "--quiet")
    assert (code, out) == (3, "")
    assert not runs.output.exists()
    with pytest.raises(scorer.errors.InputError) as local:
        run(runs.request(output=tmp_path / "local.parquet"))
    assert errors == f"Error: {local.value}\n"
    assert str(local.value).startswith("damaged.parquet: damaged near row 256, in row group 4 (")


@on_ray
def test_an_error_is_told_though_a_thread_of_rays_lets_go_of_its_references_late(
    cluster: Cluster, damaged: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    runs = Runs(damaged, tiny_bundle, tmp_path, cluster.environment)
    code, out, errors = runs.end("linger", 0, "--address", cluster.address, "--quiet")
    assert (runs.seen / "happened").exists()
    assert (code, out) == (3, "")
    assert errors.startswith("Error: damaged.parquet: damaged near row 256, in row group 4 (")


@on_ray
def test_a_ray_of_its_own_scores_what_is_no_parquet_and_knows_labels_and_excluded_works(
    frame: Path,
    tiny_bundle: Path,
    label_files: dict[str, Path],
    excluded_ids: Path,
    tmp_path: Path,
) -> None:
    table = tmp_path / "works.csv"
    pl.read_parquet(frame).write_csv(table)
    runs = Runs(table, tiny_bundle, tmp_path, os.environ | GUARDED)
    options = ("--direct", f"gemma={label_files['gemma']}", "--exclude-ids", excluded_ids)
    code, _, errors = runs.end("none", 0, *options, "--threads", "1")
    assert code == 0, errors
    assert errors.splitlines()[0] == "Ray: 1 processor, 1 node."
    here = runs.local(direct={"gemma": label_files["gemma"]}, exclude_ids=excluded_ids)
    there, local = read_manifest(runs.output), read_manifest(tmp_path / "local.parquet")
    assert there.output.sha256 == here
    assert there.counts == local.counts
    assert (there.direct, there.excluded) == (local.direct, local.excluded)
    assert there.direct["gemma"].labels_without_work == 0


@on_ray
def test_workers_read_a_frame_in_a_store(
    frame: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as s3:
        only_these(monkeypatch, tmp_path, **keys_for(s3.url))
        there = s3.put("in/works.parquet", frame.read_bytes())
        runs = Runs(there, tiny_bundle, tmp_path, os.environ | GUARDED)
        ended = runs.end("none", 0, "--quiet")
    assert ended == (0, "", "")
    assert sha256(runs.output) == runs.local(frame=frame)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1:1", "no Ray there ([Errno 111] Connection refused)."),
        ("nonsense", "no Ray there (Invalid address format: nonsense)."),
        ("ray://head:10001", "a Ray Client address; Ray Data runs from within the cluster."),
    ],
)
@on_ray
def test_an_address_without_a_cluster_is_told(
    frame: Path, tiny_bundle: Path, tmp_path: Path, address: str, reason: str
) -> None:
    runs = Runs(frame, tiny_bundle, tmp_path, os.environ | GUARDED)
    code, out, errors = runs.end("none", 0, "--address", address)
    assert (code, out) == (2, "")
    assert errors.splitlines()[0] == f"Error: --address {address}: {reason}"
    assert not list(tmp_path.glob("out.parquet*"))


def test_an_address_is_for_ray_alone(request_for: Callable[..., RunRequest]) -> None:
    request = request_for(address="auto")
    with pytest.raises(UsageError) as refused:
        run(request)
    assert str(refused.value) == (
        "--address auto: for --engine ray alone.\nGive both, or leave the address out."
    )
    assert not request.output.parent.joinpath("out.parquet.parts").exists()


def test_ray_that_is_not_installed_is_told(
    request_for: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "scorer.engine.ray", raising=False)
    with (
        pytest.raises(UsageError) as refused,
        executor(request_for(engine="ray"), Silence()),
    ):
        raise AssertionError("there is no such executor")
    assert str(refused.value) == (
        "--engine ray needs Ray Data, which is not installed.\n"
        "Install the extra: pip install 'scorer[ray]'"
    )
