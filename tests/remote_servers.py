"""What the tests of remote storage talk to, all of it on loopback: S3, a web server, a bad line."""

import logging
import os
import re
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import boto3
import pytest
from moto.server import ThreadedMotoServer

BUCKET = "frames"


@dataclass(frozen=True)
class S3:
    """A real S3 API (moto's server), and a client of another make to look at it with."""

    host: str
    port: int
    client: Any

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def empty(self) -> None:
        """Start anew: moto keeps its buckets for as long as the process runs."""
        urllib.request.urlopen(f"{self.url}/moto-api/reset", data=b"").close()
        self.client.create_bucket(Bucket=BUCKET)

    def put(self, key: str, content: bytes) -> str:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)
        return f"s3://{BUCKET}/{key}"

    def get(self, key: str) -> bytes:
        return bytes(self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read())

    def names(self) -> list[str]:
        return [o["Key"] for o in self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])]

    def unfinished(self) -> list[str]:
        """Uploads in parts that were neither completed nor aborted."""
        found = self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
        return [each["Key"] for each in found]


@contextmanager
def s3_server() -> Iterator[S3]:
    """Serve an empty bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    running = S3(host, port, client)
    running.empty()
    try:
        yield running
    finally:
        server.stop()


def only_these(monkeypatch: pytest.MonkeyPatch, home: object, **variables: str) -> None:
    """Clear all that a cloud's libraries look at, set these variables; wait little for a retry."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("scorer.frame.remote.retry.FIRST_WAIT", 0.01)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def keys_for(url: str) -> dict[str, str]:
    """The variables that lead to a server of S3."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }


@dataclass
class BadLine:
    """Stands before a server and cuts the connection after some bytes, so many times.

    `what`: of which direction the bytes are counted, "answers" or "requests".
    """

    to: tuple[str, int]
    after: int
    times: int
    what: str = "answers"
    passed: int = 0
    """How many bytes of answers went through."""
    _server: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                server = socket.create_connection(self.to)
                for source, to, kind in (
                    (client, server, "requests"),
                    (server, client, "answers"),
                ):
                    threading.Thread(
                        target=self._pass, args=(source, to, kind), daemon=True
                    ).start()

    def _pass(self, source: socket.socket, to: socket.socket, kind: str) -> None:
        left = self.after
        with suppress(OSError):
            while content := source.recv(65536):
                if kind == self.what:
                    if self.times > 0 and len(content) > left:
                        self.times -= 1
                        to.sendall(content[:left])
                        break
                    left -= len(content)
                to.sendall(content)
                self.passed += len(content) if kind == "answers" else 0
        for end in (source, to):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@contextmanager
def bad_line(url: str, *, after: int, times: int, what: str = "answers") -> Iterator[BadLine]:
    """Run a `BadLine` before a server."""
    parts = urlsplit(url)
    line = BadLine((parts.hostname or "", parts.port or 80), after, times, what)
    threading.Thread(target=line.accept, daemon=True).start()
    try:
        yield line
    finally:
        line.close()


@dataclass
class WebSite:
    """Files by path; with ranges or without; it notes what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    answers: dict[str, int] = field(default_factory=dict)
    """Path -> the status that it gives instead of the file."""
    moved: dict[str, str] = field(default_factory=dict)
    """Path -> the one that it sends to."""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path with its query, range."""
    sent: int = 0
    keeps: int | None = None
    """How many bytes of an upload it keeps: a server that loses the rest."""
    url: str = ""


@contextmanager
def web_server() -> Iterator[WebSite]:
    """Serve a `WebSite`, which may be changed meanwhile."""
    site = WebSite()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


def _handler(site: WebSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, content = self._asked()
            if path in site.moved:
                self._say(302, b"", Location=site.moved[path])
                return
            if content is None or path in site.answers:
                self._say(site.answers.get(path, 404), b"")
                return
            match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            date = "Mon, 30 Nov 2026 12:00:00 GMT"
            tag = {"ETag": f'"{hash(content)}"', "Last-Modified": date}
            if not site.ranges or match is None:
                self._say(200, content, **tag)
            elif int(match[1]) >= len(content):
                self._say(416, b"", **tag, **{"Content-Range": f"bytes */{len(content)}"})
            else:
                start, end = int(match[1]), min(int(match[2]) + 1, len(content))
                where = {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}"}
                self._say(206, content[start:end], **tag, **where)

        do_HEAD = do_GET

        def do_PUT(self) -> None:
            path, _ = self._asked()
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if path in site.answers:
                self._say(site.answers[path], b"")
                return
            site.files[path] = content[: site.keeps]
            self._say(201, b"")

        def do_DELETE(self) -> None:
            path, content = self._asked()
            site.files.pop(path, None)
            self._say(404 if content is None else 204, b"")

        def _asked(self) -> tuple[str, bytes | None]:
            site.asked.append((self.command, self.path, self.headers.get("Range", "")))
            path = unquote(urlsplit(self.path).path)
            return path, site.files.get(path)

        def _say(self, status: int, content: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(b"" if self.command == "HEAD" else content)
                site.sent += len(content)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    return Handler
