import bz2
import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from scorer.errors import InputError
from scorer.frame.files import LocalFile
from scorer.frame.readers.streams import opened

PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
NAMES = {"gz": "gzip", "bz2": "bzip2", "zst": "zstd"}
TEXT = b"".join(b"line %d of many\n" % number for number in range(50_000))
each = pytest.mark.parametrize("how", PACK)


def lines(path: Path, how: str | None) -> list[bytes]:
    with opened(LocalFile.at(path), how) as stream:
        return list(stream)


def written(tmp_path: Path, how: str, content: bytes) -> Path:
    path = tmp_path / f"x.csv.{how}"
    path.write_bytes(content)
    return path


def refusal(path: Path, how: str) -> str:
    with pytest.raises(InputError) as caught:
        lines(path, how)
    return str(caught.value).replace(f"{path.parent}/", "")


@each
def test_members_and_frames_one_after_the_other_are_one_text(tmp_path: Path, how: str) -> None:
    path = written(tmp_path, how, PACK[how](TEXT) + PACK[how](b"") + PACK[how](b"the end"))
    assert lines(path, how) == [*TEXT.splitlines(keepends=True), b"the end"]


def test_zstd_frames_to_be_skipped_are_skipped(tmp_path: Path) -> None:
    skipped = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
    path = written(tmp_path, "zst", skipped + PACK["zst"](b"a\n") + skipped + PACK["zst"](b"b\n"))
    assert lines(path, "zst") == [b"a\n", b"b\n"]


@each
@pytest.mark.parametrize("share", [0.5, 0.999])
def test_a_file_that_was_cut_off_is_told(tmp_path: Path, how: str, share: float) -> None:
    whole = PACK[how](TEXT)
    path = written(tmp_path, how, whole[: int(len(whole) * share)])
    assert refusal(path, how) == (
        f"x.csv.{how}: cut off: the {NAMES[how]} data ends early.\nCopy or make the file again."
    )


@each
def test_damage_is_told_after_the_sound_lines(tmp_path: Path, how: str) -> None:
    content = bytearray(PACK[how](TEXT) * 2)
    middle = len(content) * 3 // 4
    content[middle : middle + 40] = bytes(40)
    text = refusal(written(tmp_path, how, bytes(content)), how)
    assert text.startswith(f"x.csv.{how}: damaged {NAMES[how]} data (")
    assert text.endswith(").\nCopy or make the file again.")


def test_any_flipped_byte_in_gzip_is_told_as_damage_or_as_cut_off(tmp_path: Path) -> None:
    whole = PACK["gz"](TEXT)
    for place in range(10, len(whole), len(whole) // 60):
        content = bytearray(whole)
        content[place] ^= 0xFF
        text = refusal(written(tmp_path, "gz", bytes(content)), "gz")
        assert text.startswith(
            ("x.csv.gz: damaged gzip data (", "x.csv.gz: cut off: the gzip data")
        )


def test_a_file_that_is_not_compressed_is_read_as_it_is(tmp_path: Path) -> None:
    assert lines(written(tmp_path, "x", TEXT), None) == TEXT.splitlines(keepends=True)
