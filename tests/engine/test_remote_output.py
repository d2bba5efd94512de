"""Outputs behind addresses: whole or absent, the manifest last, nothing replaced unasked."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from remote_servers import (
    BUCKET,
    S3,
    WebSite,
    bad_line,
    keys_for,
    only_these,
    s3_server,
    web_server,
)

from scorer.engine.job import Job
from scorer.engine.manifest import manifest_path
from scorer.engine.remote import Destination, exists, upload
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import OutputError, UsageError
from scorer.frame.remote.store import LEAST_PART, part_size

LARGE = random.Random(0).randbytes(20_000_000)
OUT = f"s3://{BUCKET}/out/scored.parquet"
AGAIN = "after 7 tries.\nGive the same command again: a run goes on from its finished parts."


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with s3_server() as running:
        yield running


@pytest.fixture
def s3(server: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> S3:
    server.empty()
    only_these(monkeypatch, tmp_path, **keys_for(server.url))
    monkeypatch.chdir(tmp_path)
    return server


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WebSite]:
    only_these(monkeypatch, tmp_path, SCORER_ALLOW_HTTP="1")
    monkeypatch.chdir(tmp_path)
    with web_server() as site:
        yield site


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.bin"
    path.write_bytes(LARGE)
    return path


def failure(act: Callable[[], object]) -> str:
    with pytest.raises(OutputError) as caught:
        act()
    assert caught.value.exit_code == 6
    return str(caught.value)


def staged(url: str = OUT, content: str = "scored", manifest: str = "manifest") -> Destination:
    """Return a destination whose file and manifest are written, ready to be sent."""
    destination = Destination.of(url)
    destination.prepare(overwrite=True)
    destination.local.write_text(content)
    manifest_path(destination.local).write_text(manifest)
    return destination


# One file


def test_a_large_file_goes_up_in_parts(s3: S3, large: Path) -> None:
    upload(large, f"s3://{BUCKET}/large.bin")
    assert s3.get("large.bin") == LARGE
    tag = s3.client.head_object(Bucket=BUCKET, Key="large.bin")["ETag"]
    assert tag.strip('"').endswith("-3")
    assert s3.unfinished() == []


def test_a_small_file_goes_up_at_once(s3: S3, tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"small")
    upload(tmp_path / "small", f"s3://{BUCKET}/a b/ü.txt")
    assert s3.get("a b/ü.txt") == b"small"
    assert "-" not in s3.client.head_object(Bucket=BUCKET, Key="a b/ü.txt")["ETag"]


@pytest.mark.parametrize("size", [0, 1, 10**9, 10**11, 5 * 10**12])
def test_parts_are_as_large_and_as_many_as_s3_takes(size: int) -> None:
    part = part_size(size)
    assert LEAST_PART >= 5 << 20
    assert part >= LEAST_PART
    assert -(-size // part) <= 10_000


def test_an_upload_survives_a_line_that_is_cut(
    s3: S3, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bad_line(s3.url, after=3_000_000, times=3, what="requests") as line:
        monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
        upload(large, f"s3://{BUCKET}/large.bin")
        assert line.times == 0
    assert s3.get("large.bin") == LARGE


def test_an_upload_that_fails_leaves_nothing(
    s3: S3, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bad_line(s3.url, after=3_000_000, times=10_000, what="requests") as line:
        monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
        said = failure(lambda: upload(large, f"s3://{BUCKET}/large.bin"))
    assert said == f"s3://{BUCKET}/large.bin: the connection failed (cut off) {AGAIN}"
    assert (s3.names(), s3.unfinished()) == ([], [])


def test_an_interrupted_upload_leaves_nothing(
    s3: S3, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, size: int) -> Iterator[bytes]:
        yield LARGE[:size]
        raise KeyboardInterrupt

    monkeypatch.setattr("scorer.frame.remote.store._parts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        upload(large, f"s3://{BUCKET}/large.bin")
    assert (s3.names(), s3.unfinished()) == ([], [])


def test_what_lies_there_is_measured_after_the_upload(web: WebSite, tmp_path: Path) -> None:
    web.keeps = 3
    (tmp_path / "x").write_bytes(b"content")
    assert failure(lambda: upload(tmp_path / "x", f"{web.url}/x")) == (
        f"{web.url}/x: 7 bytes were sent and 3 bytes arrived.\n"
        "Give the same command again: what is finished is kept."
    )


def test_an_output_is_known_to_exist(s3: S3) -> None:
    assert not exists(f"s3://{BUCKET}/x")
    s3.put("x", b"")
    assert exists(f"s3://{BUCKET}/x")


def test_a_missing_bucket_is_told(s3: S3, large: Path) -> None:
    says = "s3://nobucket/x: no such bucket: nobucket. Check the name."
    assert failure(lambda: exists("s3://nobucket/x")) == says
    assert failure(lambda: upload(large, "s3://nobucket/x")) == says


def test_missing_credentials_are_told_before_the_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only_these(monkeypatch, tmp_path, AWS_EC2_METADATA_DISABLED="true")
    monkeypatch.chdir(tmp_path)
    assert failure(lambda: Destination.of("s3://b/x").prepare(overwrite=False)) == (
        "s3://b/x: no credentials found.\n"
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile with keys "
        "in ~/.aws/credentials; for public data AWS_SKIP_SIGNATURE=true."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_takes_no_files_is_told(web: WebSite, large: Path) -> None:
    web.answers["/x"] = 403
    assert failure(lambda: upload(large, f"{web.url}/x")) == (
        f"{web.url}/x: access denied (403 Forbidden).\n"
        "http:// is used without credentials. Use a signed address, or download the file first."
    )


# An output and its manifest


def test_a_path_on_the_disk_is_its_own_destination(tmp_path: Path) -> None:
    destination = Destination.of(tmp_path / "out.parquet")
    assert (destination.local, destination.url) == (tmp_path / "out.parquet", None)
    destination.prepare(overwrite=False)
    destination.send()
    destination.clear()
    assert destination.finished("job") is None
    assert list(tmp_path.iterdir()) == []


def test_an_address_is_staged_in_the_working_folder_by_a_name_of_its_own() -> None:
    one, other = Destination.of(OUT), Destination.of(f"s3://{BUCKET}/scored.parquet")
    assert one.local.name == other.local.name == "scored.parquet"
    assert one.local != other.local
    assert str(one.local).startswith("scored.parquet.staged-")
    assert Destination.of(OUT) == one == Destination.of(Path(OUT))


@pytest.mark.parametrize("text", ["s3://bucket", "s3://bucket/folder/", "https://host/"])
def test_a_folder_is_no_output(text: str) -> None:
    assert failure(lambda: Destination.of(text)) == (
        f"{text}: a folder; name the file to write, for instance with -o."
    )


def test_a_signed_address_is_no_output() -> None:
    with pytest.raises(UsageError) as caught:
        Destination.of("https://host/x.parquet?sig=secret")
    assert str(caught.value) == (
        "https://host/x.parquet?…: a signed address stands for one file, and an output is two: "
        "itself and its manifest.\nUse s3://, gs:// or az:// with credentials."
    )


def test_an_output_that_is_there_is_refused(s3: S3, tmp_path: Path) -> None:
    s3.put("out/scored.parquet", b"somebody's")
    assert failure(lambda: Destination.of(OUT).prepare(overwrite=False)) == (
        f"{OUT}: exists already. Choose another output with -o, or say --overwrite."
    )
    assert list(tmp_path.iterdir()) == []


def test_the_manifest_goes_first_and_comes_last(web: WebSite) -> None:
    url = f"{web.url}/out.parquet"
    web.files |= {"/out.parquet": b"old", "/out.parquet.meta.json": b"old"}
    staged(url).send()
    writes = [(method, path) for method, path, _ in web.asked if method in ("PUT", "DELETE")]
    assert writes == [
        ("DELETE", "/out.parquet.meta.json"),
        ("PUT", "/out.parquet"),
        ("PUT", "/out.parquet.meta.json"),
    ]
    assert web.files == {"/out.parquet": b"scored", "/out.parquet.meta.json": b"manifest"}


def test_what_is_staged_goes_only_when_asked(s3: S3, tmp_path: Path) -> None:
    destination = staged()
    destination.send()
    assert s3.get("out/scored.parquet") == b"scored"
    assert s3.get("out/scored.parquet.meta.json") == b"manifest"
    assert destination.local.exists()
    destination.clear()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_what_is_staged_and_no_empty_folder(s3: S3, tmp_path: Path) -> None:
    destination = Destination.of(OUT)
    with pytest.raises(ZeroDivisionError), destination.staged(overwrite=False):
        assert destination.local.parent.is_dir()
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError), destination.staged(overwrite=False):
        destination.local.write_text("begun")
        raise ZeroDivisionError
    assert destination.local.read_text() == "begun"
    with destination.staged(overwrite=False):
        manifest_path(destination.local).write_text("manifest")
        destination.send()
    assert list(tmp_path.iterdir()) == []
    assert s3.get("out/scored.parquet") == b"begun"


def test_what_else_lies_beside_a_staged_output_stays_with_the_user(s3: S3, tmp_path: Path) -> None:
    destination = staged()
    aside = destination.local.with_name("scored.parquet.skipped.tsv")
    aside.write_text("a bad record")
    destination.send()
    destination.clear()
    assert [path.name for path in tmp_path.iterdir()] == [aside.name]
    assert (tmp_path / aside.name).read_text() == "a bad record"


def test_an_upload_cut_off_before_its_manifest_may_go_on(s3: S3) -> None:
    destination = staged()
    s3.put("out/scored.parquet", b"scored")
    destination.prepare(overwrite=False)
    destination.send()
    assert s3.names() == ["out/scored.parquet", "out/scored.parquet.meta.json"]


def test_an_upload_cut_off_before_it_cleared_up_is_done(s3: S3, tmp_path: Path) -> None:
    destination = staged()
    destination.send()
    assert failure(lambda: destination.prepare(overwrite=False)).startswith(f"{OUT}: exists alr")
    assert list(tmp_path.iterdir()) == []


def test_another_output_staged_for_an_address_is_kept(s3: S3) -> None:
    staged().send()
    destination = staged(manifest="another")
    assert failure(lambda: destination.prepare(overwrite=False)).startswith(f"{OUT}: exists alr")
    assert destination.local.exists()


# A run


def test_a_run_that_could_not_upload_sends_what_it_had_finished(
    s3: S3, request_for: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = Destination.of(OUT)
    destination.prepare(overwrite=False)
    request = request_for(output=destination.local, overwrite=True)
    job = Job.prepare(request).fingerprint()
    assert destination.finished(job) is None
    manifest = run(request)
    with bad_line(s3.url, after=0, times=10_000) as line, monkeypatch.context() as cut:
        cut.setenv("AWS_ENDPOINT_URL", line.url)
        failure(destination.send)
    assert s3.names() == []

    again = Destination.of(OUT)
    again.prepare(overwrite=False)
    assert again.finished("another job") is None
    assert again.finished(job) == manifest
    again.send()
    assert s3.get("out/scored.parquet") == again.local.read_bytes()
    assert manifest.output.name == "scored.parquet"
    again.local.write_bytes(b"damaged")
    assert again.finished(job) is None
