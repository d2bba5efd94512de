"""Frames behind addresses: found, read in ranges, and every way in which that can fail."""

import gzip
import io
import pickle
import random
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from http.client import HTTPMessage
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
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

from scorer.errors import InputError, UsageError
from scorer.frame.files import FrameFile
from scorer.frame.remote import find, is_remote
from scorer.frame.remote.reader import FIRST, MOST, reader
from scorer.frame.remote.web import _Redirects

LARGE = random.Random(0).randbytes(12_000_000)
CLOSED = "http://127.0.0.1:9"  # the port of a service that nobody runs


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with s3_server() as running:
        running.put("large.bin", LARGE)
        yield running


@pytest.fixture
def s3(server: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> S3:
    only_these(monkeypatch, tmp_path, **keys_for(server.url))
    return server


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WebSite]:
    only_these(monkeypatch, tmp_path, SCORER_ALLOW_HTTP="1")
    with web_server() as site:
        yield site


def table(rows: int = 200_000) -> pa.Table:
    chance = random.Random(1)
    return pa.table(
        {
            "id": pa.array(range(rows)),
            "title": pa.array([f"{chance.getrandbits(64):x}" for _ in range(rows)]),
            "other": pa.array([chance.random() for _ in range(rows)]),
        }
    )


def parquet(content: pa.Table, rows: int = 50_000) -> bytes:
    out = io.BytesIO()
    pq.write_table(content, out, row_group_size=rows)
    return out.getvalue()


def failure(url: str) -> str:
    with pytest.raises(InputError) as caught:
        find(url)
    return str(caught.value)


# Addresses


@pytest.mark.parametrize(
    ("text", "remote"),
    [
        ("s3://bucket/x.parquet", True),
        ("https://host/x", True),
        ("ftp://host/x", True),  # an address, of a kind that is not supported
        (str(Path("s3://bucket/x.parquet")), True),
        ("x.parquet", False),
        ("/tmp/x", False),
        ("C:/x", False),
        ("C://x", False),
        ("a:/x", False),
    ],
)
def test_an_address_is_told_from_a_path(text: str, remote: bool) -> None:
    assert is_remote(text) is remote


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "ftp://host/x",
            "ftp://host/x: ftp:// is not supported.\nUse s3://, gs://, az:// or https://.",
        ),
        (
            "s3:///x",
            "s3:///x: not a usable address.\n"
            "Expected s3://bucket/name, without empty or dotted parts.",
        ),
        (
            "gs://b/a//x",
            "gs://b/a//x: not a usable address.\n"
            "Expected gs://bucket/name, without empty or dotted parts.",
        ),
        (
            "http://host/x",
            "http://host/x: http:// is not encrypted, so it is not used.\n"
            "Use https://, or set SCORER_ALLOW_HTTP=1 for a network that you trust.",
        ),
        (
            "https://me:word@host/x",
            "https://me:word@host/x: not a usable address. "
            "Expected https://host/name, without a password.",
        ),
    ],
)
def test_a_bad_address_is_refused(text: str, says: str) -> None:
    assert failure(text) == says


def test_the_extra_is_named_where_it_is_absent(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.exceptions", None)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(UsageError) as caught:
        find(f"s3://{BUCKET}/large.bin")
    assert str(caught.value) == (
        "s3:// needs obstore, which is not installed.\n"
        "Install the extra: pip install 'scorer[remote]'"
    )


def test_addresses_are_told_without_loading_the_library() -> None:
    code = (
        "import sys; from scorer.frame.remote import is_remote; "
        "print(is_remote('s3://b/x'), sorted({'obstore', 'pyarrow', 'polars'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "True []\n"


# Finding


def test_one_object_is_a_frame_file(s3: S3) -> None:
    url = s3.put("one/works.jsonl", b"{}\n")
    (found,) = find(url)
    file: FrameFile = found
    assert (file.name, file.size, file.local) == (url, 3, None)
    with file.open() as opened:
        assert opened.read() == b"{}\n"


def test_the_stamp_changes_with_the_content(s3: S3) -> None:
    url = s3.put("stamp.txt", b"one")
    before = find(url)[0].stamp
    assert find(url)[0].stamp == before
    s3.put("stamp.txt", b"two")
    assert find(url)[0].stamp != before


def test_a_path_made_of_an_address_still_finds_it(s3: S3) -> None:
    url = s3.put("one/folded.txt", b"x")
    assert [file.name for file in find(str(Path(url)))] == [url]


def test_a_prefix_gives_all_below_it_in_order(s3: S3) -> None:
    for name in ("b.parquet", "a.parquet", "deep/c.parquet", "_SUCCESS", ".x", "_tmp/d.parquet"):
        s3.put(f"prefix/{name}", b"x")
    s3.put("prefix/", b"")  # what a console's "make folder" leaves
    s3.put("prefixed.parquet", b"x")
    names = [
        file.name.removeprefix(f"s3://{BUCKET}/prefix/") for file in find(f"s3://{BUCKET}/prefix/")
    ]
    assert names == ["a.parquet", "b.parquet", "deep/c.parquet"]


def test_a_prefix_may_lack_its_slash_where_no_object_has_that_name(s3: S3) -> None:
    deep = s3.put("folder/x.txt", b"x")
    assert [file.name for file in find(f"s3://{BUCKET}/folder")] == [deep]
    assert [file.name for file in find(str(Path(f"s3://{BUCKET}/folder/")))] == [deep]
    itself = s3.put("folder", b"x")
    assert [file.name for file in find(f"s3://{BUCKET}/folder")] == [itself]
    s3.client.delete_object(Bucket=BUCKET, Key="folder")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("part-*.gz", ["part-1.gz", "part-2.gz"]),
        ("part-?.*", ["part-1.gz", "part-2.gz", "part-3.txt"]),
        ("part-[13].*", ["part-1.gz", "part-3.txt"]),
        ("part-[!13].*", ["part-2.gz"]),
        ("*/part-*.gz", ["deep/part-4.gz"]),
        ("**/part-*.gz", ["deep/part-4.gz", "deep/er/part-5.gz", "part-1.gz", "part-2.gz"]),
        ("d**.gz", ["deep/part-4.gz", "deep/er/part-5.gz"]),
        ("odd[1].txt", ["odd[1].txt"]),
    ],
)
def test_a_pattern_gives_what_matches_it(s3: S3, pattern: str, names: list[str]) -> None:
    for name in ("part-1.gz", "part-2.gz", "part-3.txt", "deep/part-4.gz", "deep/er/part-5.gz"):
        s3.put(f"glob/{name}", b"x")
    s3.put("glob/odd[1].txt", b"x")
    found = find(f"s3://{BUCKET}/glob/{pattern}")
    assert [file.name.removeprefix(f"s3://{BUCKET}/glob/") for file in found] == sorted(names)


@pytest.mark.parametrize("name", ["a b.txt", "ü é.txt", "a%20b.txt", "x+y&z=1.txt", "year=2020/a"])
def test_odd_names_are_found_and_read(s3: S3, name: str) -> None:
    (file,) = find(s3.put(f"odd/{name}", name.encode()))
    with file.open() as opened:
        assert opened.read() == name.encode()


# Reading


def test_parquet_is_read_by_columns_without_fetching_all(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = table()
    url = s3.put("works.parquet", raw := parquet(content))
    with bad_line(s3.url, after=0, times=0) as line:
        monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
        file = pq.ParquetFile(find(url)[0].open())
        assert file.metadata.num_rows == content.num_rows
        ids = file.read_row_group(1, columns=["id"])
        assert ids == content.select(["id"]).slice(50_000, 50_000)
        assert line.passed < len(raw) / 3
        assert file.read() == content


def test_a_compressed_stream_is_read_on_in_growing_steps() -> None:
    steps: list[int] = []

    def read(start: int, end: int) -> bytes:
        steps.append(end - start)
        return bytes(end - start)

    with reader(read, 40_000_000) as file:
        while file.read(10_000):
            pass
    assert steps[:5] == [2 * FIRST, 4 * FIRST, 8 * FIRST, 16 * FIRST, MOST]
    assert max(steps) == MOST
    assert sum(steps) == 40_000_000


def test_any_seek_and_read_gives_what_a_file_on_disk_gives() -> None:
    chance = random.Random(3)
    file, same = reader(lambda start, end: LARGE[start:end], len(LARGE)), io.BytesIO(LARGE)
    for _ in range(300):
        at, size = chance.randrange(len(LARGE) + 10), chance.choice([0, 1, 100, 70_000, 9_000_000])
        assert file.seek(at) == same.seek(at)
        assert file.read(size) == same.read(size)
    assert file.seek(-5, io.SEEK_END) == len(LARGE) - 5
    assert file.read() == LARGE[-5:]
    with pytest.raises(ValueError, match=r"^seek to -1: before the start of the file$"):
        file.seek(-1)


def test_a_gzip_stream_is_decompressed_on_the_way(s3: S3) -> None:
    lines = b"".join(b'{"id": %d}\n' % number for number in range(100_000))
    (file,) = find(s3.put("works.jsonl.gz", gzip.compress(lines)))
    with gzip.open(file.open()) as opened:
        assert opened.read() == lines


def test_an_empty_object_is_empty(s3: S3) -> None:
    (file,) = find(s3.put("empty.jsonl", b""))
    with file.open() as opened:
        assert opened.read() == b""


def test_a_file_that_was_found_can_be_sent_to_another_process(s3: S3) -> None:
    (file,) = find(s3.put("sent.txt", b"content"))
    with pickle.loads(pickle.dumps(file)).open() as opened:
        assert opened.read() == b"content"


def test_a_change_under_way_is_told(s3: S3) -> None:
    url = s3.put("moving.txt", b"one" * 10)
    (file,) = find(url)
    s3.put("moving.txt", b"two" * 10)
    with file.open() as opened, pytest.raises(InputError) as caught:
        opened.read()
    assert str(caught.value) == (
        f"{url}: changed while it was read.\nGive the command again when the file is finished."
    )


# What fails, and how it is told


def test_a_missing_object_is_told(s3: S3) -> None:
    assert failure(f"s3://{BUCKET}/nope.txt") == (
        f"s3://{BUCKET}/nope.txt: no such object. Check the name."
    )


def test_a_missing_bucket_is_told(s3: S3) -> None:
    says = "no such bucket: nobucket. Check the name."
    assert failure("s3://nobucket/x.txt") == f"s3://nobucket/x.txt: {says}"
    assert failure("s3://nobucket/x/") == f"s3://nobucket/x/: {says}"
    assert failure("s3://nobucket/x/*.gz") == f"s3://nobucket/x/: {says}"


def test_a_prefix_or_pattern_without_objects_is_told(s3: S3) -> None:
    for url in (f"s3://{BUCKET}/void/", f"s3://{BUCKET}/void/*.gz"):
        assert failure(url) == f"{url}: no object lies there. Check the name."


NO_CREDENTIALS = {
    "s3": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile with keys "
    "in ~/.aws/credentials; for public data AWS_SKIP_SIGNATURE=true.",
    "gs": "Set GOOGLE_APPLICATION_CREDENTIALS to a service account's file, or sign in with "
    "gcloud auth application-default login; for public data GOOGLE_SKIP_SIGNATURE=true.",
    "az": "Set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or "
    "AZURE_STORAGE_SAS_TOKEN (after az login AZURE_USE_AZURE_CLI=true); for public data "
    "AZURE_SKIP_SIGNATURE=true.",
}


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_missing_credentials_are_told_with_where_they_are_looked_for(
    scheme: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Nobody answers where machines of a cloud get theirs.
    only_these(monkeypatch, tmp_path, AWS_METADATA_ENDPOINT=CLOSED)
    if scheme == "az":
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "somebody")
    assert failure(f"{scheme}://bucket/x.gz") == (
        f"{scheme}://bucket/x.gz: no credentials found.\n{NO_CREDENTIALS[scheme]}"
    )


def test_a_missing_azure_account_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only_these(monkeypatch, tmp_path, AZURE_STORAGE_ACCOUNT_KEY="a2V5")
    assert failure("az://bucket/x.gz") == (
        f"az://bucket/x.gz: no storage account is named.\n{NO_CREDENTIALS['az']}"
    )


def test_half_a_pair_of_keys_is_told(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert failure("s3://b/x") == (
        "s3://b/x: AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not.\nSet both."
    )


def test_keys_and_region_come_from_a_profile(
    s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = s3.put("profile.txt", b"x")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_PROFILE", "work")
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "config").write_text("[profile work]\nregion = ca-central-1\n")
    assert failure(url) == (
        f"{url}: AWS_PROFILE=work: no such profile with keys in ~/.aws/credentials.\n"
        'For a profile of another kind: eval "$(aws configure export-credentials --format env)"'
    )
    (folder / "credentials").write_text(
        "[work]\naws_access_key_id = test\naws_secret_access_key = te%st\n"
    )
    assert [file.size for file in find(url)] == [1]


def test_keys_that_are_not_accepted_are_told(s3: S3) -> None:
    set_checking(s3, after=0)
    try:
        says = (
            "the credentials are not accepted (InvalidAccessKeyId).\n"
            "Looked at: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE "
            "in ~/.aws/credentials, the machine's role."
        )
        assert failure(f"s3://{BUCKET}/large.bin") == f"s3://{BUCKET}/large.bin: {says}"
        assert failure(f"s3://{BUCKET}/x/") == f"s3://{BUCKET}/x/: {says}"
    finally:
        set_checking(s3, after=float("inf"))


def set_checking(s3: S3, after: float) -> None:
    """Have moto check credentials after so many requests."""
    urllib.request.urlopen(
        urllib.request.Request(
            f"{s3.url}/moto-api/reset-auth",
            data=str(after).encode(),
            headers={"Content-Type": "text/plain"},
        )
    ).close()


def test_access_that_is_denied_is_told(web: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in keys_for(web.url).items():
        monkeypatch.setenv(name, value)
    web.files["/secret/x.gz"], web.answers["/secret/x.gz"] = b"x", 403
    assert failure("s3://secret/x.gz") == (
        "s3://secret/x.gz: access denied (403 Forbidden).\n"
        "The credentials that were found may not do this. Looked at: AWS_ACCESS_KEY_ID, "
        "AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE in ~/.aws/credentials, "
        "the machine's role."
    )


def test_an_endpoint_that_is_no_address_is_told(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "localhost:9000")
    assert failure("s3://b/x") == (
        "AWS_ENDPOINT_URL=localhost:9000: not an address.\n"
        "Expected for instance https://storage.example.org:9000"
    )


AGAIN = "after 7 tries.\nGive the same command again: a run goes on from its finished parts."


def test_a_server_that_is_not_there_is_told(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", CLOSED)
    assert failure("s3://b/x") == f"s3://b/x: the connection failed (connection refused) {AGAIN}"


def test_a_line_that_is_cut_in_mid_read_is_taken_up_again(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bad_line(s3.url, after=700_000, times=3) as line:
        monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
        (file,) = find(f"s3://{BUCKET}/large.bin")
        with file.open() as opened:
            assert opened.read() == LARGE
        assert line.times == 0


def test_a_line_that_is_cut_for_ever_is_told_and_reading_can_start_again(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{BUCKET}/large.bin"
    with bad_line(s3.url, after=1_000, times=10_000) as line:
        monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
        (file,) = find(url)
        with file.open() as opened, pytest.raises(InputError) as caught:
            opened.read()
        assert str(caught.value) == f"{url}: the connection failed (cut off) {AGAIN}"
        line.times = 0
        with file.open() as opened:
            assert opened.read() == LARGE


def test_the_error_of_a_cut_line_comes_through_pyarrow(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = s3.put("cut.parquet", parquet(table()))
    with bad_line(s3.url, after=0, times=0) as line:
        monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
        opened = pq.ParquetFile(find(url)[0].open())
        line.after, line.times = 1_000, 10_000
        with pytest.raises(InputError) as caught:
            opened.read()
    assert str(caught.value) == f"{url}: the connection failed (cut off) {AGAIN}"


# The other stores: the same code, another library store; a plain server stands for them.


def test_azure_and_google_are_read_the_same_way(
    web: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.files["/account/box/x.txt"] = web.files["/box/x.txt"] = b"content"
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"{web.url}/account")
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("GOOGLE_BASE_URL", web.url)
    for url in ("az://box/x.txt", "gs://box/x.txt"):
        (file,) = find(url)
        with file.open() as opened:
            assert (file.name, opened.read()) == (url, b"content")


# https:// (plain http, on loopback, by the setting that allows it)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_web_server_is_read_with_ranges_or_without(web: WebSite, ranges: bool) -> None:
    content = table()
    web.ranges = ranges
    web.files["/d/works.parquet"] = raw = parquet(content)
    web.files["/works.gz"] = gzip.compress(LARGE, 1)
    (file,) = find(f"{web.url}/d/works.parquet")
    assert (file.name, file.size) == (f"{web.url}/d/works.parquet", len(raw))
    assert pq.ParquetFile(file.open()).read(columns=["title"]) == content.select(["title"])
    with gzip.open(find(f"{web.url}/works.gz")[0].open()) as opened:
        assert opened.read() == LARGE


def test_ranges_spare_what_is_not_read(web: WebSite) -> None:
    web.files["/works.parquet"] = raw = parquet(table())
    pq.ParquetFile(find(f"{web.url}/works.parquet")[0].open()).read_row_group(0, columns=["id"])
    assert web.sent < len(raw) / 2


def test_a_signature_is_sent_but_not_named(web: WebSite) -> None:
    web.files["/x.txt"] = b"x"
    (file,) = find(f"{web.url}/x.txt?sig=a%2Fb")
    assert file.name == f"{web.url}/x.txt"
    with file.open() as opened:
        assert opened.read() == b"x"
    assert {path for _, path, _ in web.asked} == {"/x.txt?sig=a%2Fb"}


def test_a_web_server_may_send_elsewhere_but_not_out_of_encryption(web: WebSite) -> None:
    web.files["/new.bin"], web.moved["/old.bin"] = LARGE, "/new.bin"
    (file,) = find(f"{web.url}/old.bin")
    assert file.name == f"{web.url}/old.bin"
    with file.open() as opened:
        opened.seek(5_000_000)
        assert opened.read(10) == LARGE[5_000_000:5_000_010]
    request = urllib.request.Request("https://host/x")
    asked = (request, io.BytesIO(), 302, "Found", HTTPMessage())
    assert _Redirects("https").redirect_request(*asked, "http://host/y") is None
    assert _Redirects("https").redirect_request(*asked, "https://host/y") is not None


def test_an_empty_file_of_a_web_server_is_empty(web: WebSite) -> None:
    web.files["/x.txt"] = b""
    (file,) = find(f"{web.url}/x.txt")
    assert (file.size, file.open().read()) == (0, b"")


@pytest.mark.parametrize("ranges", [True, False])
def test_a_web_server_that_is_cut_off_is_asked_again(web: WebSite, ranges: bool) -> None:
    web.ranges = ranges
    web.files["/x.bin"] = LARGE
    with bad_line(web.url, after=900_000, times=3) as line:
        (file,) = find(f"{line.url}/x.bin")
        line.times = 3
        with file.open() as opened:
            assert opened.read() == LARGE
        assert line.times == 0
        line.after, line.times = 1_000, 10_000
        with file.open() as opened, pytest.raises(InputError) as caught:
            opened.read()
        assert str(caught.value) == f"{line.url}/x.bin: the connection failed (cut off) {AGAIN}"


def test_what_a_web_server_refuses_is_told(web: WebSite) -> None:
    url = f"{web.url}/x"
    assert failure(url) == f"{url}: no such file there. Check the address."
    web.files["/x"], web.answers["/x"] = b"x", 403
    assert failure(url) == (
        f"{url}: access denied (403 Forbidden).\n"
        "http:// is used without credentials. Use a signed address, or download the file first."
    )
    web.answers["/x"] = 503
    assert failure(url) == (
        f"{url}: the connection failed (the server says 503 Service Unavailable) {AGAIN}"
    )


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_changes_on_a_web_server_is_told(web: WebSite, ranges: bool) -> None:
    web.ranges = ranges
    web.files["/x"] = b"one"
    (file,) = find(f"{web.url}/x")
    web.files["/x"] = b"two"
    with file.open() as opened, pytest.raises(InputError) as caught:
        opened.read()
    assert str(caught.value) == (
        f"{web.url}/x: changed while it was read.\n"
        "Give the command again when the file is finished."
    )
