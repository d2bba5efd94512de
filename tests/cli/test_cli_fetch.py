"""`scorer fetch`, against a server on this machine that answers as OpenAlex's API does."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import polars as pl
import pytest

from scorer.errors import ScorerError
from scorer.frame.fetch import FetchRequest, fetch

Run = Callable[..., Any]


class OpenAlex(ThreadingHTTPServer):
    """Serves works; `failing` holds answers to give first: (status, headers)."""

    works: dict[str, dict[str, Any]]
    failing: list[tuple[int, dict[str, str]]]
    asked: list[tuple[str, dict[str, str]]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: OpenAlex

    def do_GET(self) -> None:
        self.server.asked.append((unquote(self.path), dict(self.headers)))
        if self.server.failing:
            status, headers = self.server.failing.pop(0)
            self.give(status, {"error": "x"}, headers)
            return
        parts = urlsplit(self.path)
        if parts.path == "/works":
            query = parse_qs(parts.query)
            size, works = int(query["per-page"][0]), list(self.server.works.values())
            at = 0 if query["cursor"] == ["*"] else int(query["cursor"][0])
            after = str(at + size) if at + size < len(works) else None
            meta = {"count": len(works), "next_cursor": after}
            self.give(200, {"meta": meta, "results": works[at : at + size]})
            return
        work = self.server.works.get(unquote(parts.path).removeprefix("/works/"))
        self.give(200, work) if work else self.give(404, {"error": "not found"})

    def give(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(shared: Path) -> Iterator[OpenAlex]:
    today, older = (
        json.loads((shared / "openalex" / name).read_text(encoding="utf-8"))
        for name in ("W2741809807.json", "api_page.json")
    )
    with OpenAlex(("127.0.0.1", 0), Answer) as there:
        there.works = {"W2741809807": today, "https://doi.org/10.1103/old": older}
        there.failing, there.asked = [], []
        threading.Thread(target=there.serve_forever, args=(0.01,), daemon=True).start()
        yield there
        there.shutdown()


def test_works_by_id_and_doi_become_a_frame(scorer: Run, server: OpenAlex, tmp_path: Path) -> None:
    output = tmp_path / "works.parquet"
    words = ("https://openalex.org/W2741809807", "10.1103/old", "w2741809807")
    mail = ("--mail", "me@example.org")
    ended = scorer("fetch", *words, "-o", output, "--api-url", server.url, *mail)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{output}: works: 2\n"
    works = pl.read_parquet(output)
    assert works.columns == [
        *("id", "title", "abstract", "venue", "topic", "field", "lang", "type", "year")
    ]
    assert works["id"].to_list() == ["W2741809807", "W2755950973"]
    assert works["venue"].to_list() == ["PeerJ", "Physical Review Letters"]
    assert works["abstract"][0].startswith("Despite growing interest in Open Access")
    assert server.asked[0][1]["From"] == "me@example.org"
    assert [path for path, _ in server.asked][1] == "/works/https://doi.org/10.1103/old"


def test_a_search_is_paged_up_to_its_limit(server: OpenAlex) -> None:
    older = server.works["https://doi.org/10.1103/old"]
    server.works = {f"W{n}": older | {"id": f"https://openalex.org/W{n}"} for n in range(500)}
    fetched = fetch(FetchRequest(search="black holes", limit=450, api=server.url))
    assert fetched.works["id"].to_list() == [f"W{n}" for n in range(450)]
    assert len(server.asked) == 3
    assert "search=black" in server.asked[0][0]


def test_what_is_not_found_is_named_and_the_rest_written(
    scorer: Run, server: OpenAlex, tmp_path: Path
) -> None:
    output = tmp_path / "works.parquet"
    given = ("-o", output, "--api-url", server.url, "--quiet")
    ended = scorer("fetch", "W404", "W2741809807", "10.1/none", *given)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == (
        "Error: OpenAlex knows no W404, 10.1/none. The others were written.\nCheck the ids.\n"
    )
    assert pl.read_parquet(output)["id"].to_list() == ["W2741809807"]
    ended = scorer("fetch", "W404", *given, "--overwrite")
    assert ended.err == "Error: OpenAlex knows no W404. Nothing was written.\nCheck the ids.\n"
    assert pl.read_parquet(output).height == 1


def test_a_busy_server_is_asked_again_when_it_says(server: OpenAlex) -> None:
    server.failing = [(429, {"Retry-After": "0"}), (503, {})]
    request = FetchRequest(["W2741809807"], api=server.url, back_off=0.001)
    assert fetch(request).works.height == 1
    assert len(server.asked) == 3


def test_a_server_that_keeps_failing_is_given_up(server: OpenAlex) -> None:
    server.failing = [(500, {})] * 50
    with pytest.raises(ScorerError) as caught:
        fetch(FetchRequest(["W1"], api=server.url, back_off=0.001))
    assert str(caught.value) == (
        f"{server.url}: keeps failing, after 6 tries at most. Nothing was written.\n"
        "Try again later; with --mail ADDRESS, OpenAlex is kinder."
    )
    assert len(server.asked) == 6


def test_a_merged_work_is_told(scorer: Run, server: OpenAlex, tmp_path: Path) -> None:
    server.works["W9"] = server.works["W2741809807"]
    ended = scorer("fetch", "W9", "-o", tmp_path / "x.parquet", "--api-url", server.url)
    assert ended.err == (
        "Note: with --mail ADDRESS, OpenAlex answers faster and more surely.\n"
        "Note: W9 was merged into W2741809807.\n"
    )


def test_nothing_is_asked_where_the_words_do_not_fit(
    scorer: Run, server: OpenAlex, tmp_path: Path
) -> None:
    output = tmp_path / "x.parquet"
    given = ("-o", output, "--api-url", server.url, "-q")
    assert scorer("fetch", "A5048491430", *given).err == (
        "Error: A5048491430: no id of a work. Give W…, a DOI (10.…), or an address of either.\n"
    )
    assert scorer("fetch", *given).code == 2
    output.write_text("mine")
    ended = scorer("fetch", "W1", *given)
    assert (ended.code, output.read_text()) == (6, "mine")
    assert ended.err == (
        f"Error: {output} exists already. Say --overwrite, or name another with -o.\n"
    )
    assert server.asked == []


def test_no_server_is_told_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorer.frame.fetch._TRIES", 0)
    with pytest.raises(ScorerError, match=r"http://127\.0\.0\.1:9: cannot be reached"):
        fetch(FetchRequest(["W1"], api="http://127.0.0.1:9"))


def test_without_the_extra_it_is_named(
    scorer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyalex", None)
    ended = scorer("fetch", "W1", "-o", tmp_path / "x.parquet", "-q")
    assert ended.err == (
        "Error: Fetching needs pyalex, which is not installed.\n"
        "Install it: pip install 'scorer[fetch]'\n"
    )
    assert ended.code == 2
