"""One file of a web server: by ranges where the server gives them, else from end to end.

The standard library does it: object stores' clients encode a signed address's query away. Nothing
is listed here, and no credentials are sent.
"""

import http.client
import io
import random
import socket
import ssl
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import closing
from email.message import Message
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, Final, TypeAlias, TypeVar, cast

from scorer.frame.remote import retry
from scorer.frame.remote.address import Address, Failure
from scorer.frame.remote.reader import Seekable, reader
from scorer.frame.remote.store import Found
from scorer.frame.remote.words import changed, connection_failed

_BYTES: Final = "application/octet-stream"
_PIECE: Final = 1 << 20
_BUSY: Final = frozenset({408, 425, 429})
_PARTIAL, _BAD_RANGE, _SERVER = 206, 416, 500
_GONE: Final = frozenset({404, 410})
_NO_ACCESS: Final = frozenset({401, 403, 407})

Result = TypeVar("Result")
_Headers: TypeAlias = "Message[str, str]"


class Web:
    """The file behind one address."""

    def __init__(self, address: Address, fails: Failure) -> None:
        """Nothing is asked before the first call."""
        self._address = address
        self._fails = fails
        self._ranges = False

    def look(self) -> Found:
        """Return what is known of the file; raise where it is absent or its size is not told."""
        found = self.tried(self._look)
        if found is None:
            raise self._fails(f"{self._address.name}: no such file there. Check the address.")
        return found

    def exists(self) -> Found | None:
        """Return what is known of the file, None where it is absent."""
        return self.tried(self._look)

    def open_found(self, found: Found) -> BinaryIO:
        """Open the file for reading."""
        if self._ranges:
            return reader(partial(self._range, found), found.size)
        return cast(BinaryIO, io.BufferedReader(_Spilled(self, found), _PIECE))

    def put(self, path: Path) -> None:
        """Upload a file in one request."""

        def once() -> None:
            with path.open("rb") as file:
                size = str(path.stat().st_size)
                request = self._request("PUT", {"Content-Type": _BYTES})
                request.data = file
                # After the data: setting these takes the length away.
                request.add_header("Content-Length", size)
                self._sent(request).close()

        self.tried(once)

    def delete(self) -> None:
        """Remove the file, if it is there."""

        def once() -> None:
            try:
                self._sent(self._request("DELETE", {})).close()
            except urllib.error.HTTPError as error:
                if error.code not in _GONE:
                    raise

        self.tried(once)

    def _look(self) -> Found | None:
        # A range of one byte tells the size, and whether there are ranges; addresses that are
        # signed for reading do not answer to HEAD.
        try:
            answer = self._sent(self._request("GET", {"Range": "bytes=0-0"}))
        except urllib.error.HTTPError as error:
            if error.code in _GONE:
                return None
            if error.code != _BAD_RANGE:
                raise
            return self._noted(0, error.headers)  # what an empty file answers
        with closing(answer):
            self._ranges = answer.status == _PARTIAL
            if self._ranges:
                size = answer.headers.get("Content-Range", "").rpartition("/")[2]
            else:
                size = answer.headers.get("Content-Length", "")
            if not size.isdecimal():
                raise self._fails(
                    f"{self._address.name}: the server does not tell the file's size.\n"
                    "Download the file first."
                )
            return self._noted(int(size), answer.headers)

    def _noted(self, size: int, headers: _Headers) -> Found:
        return Found(self._address.name, self._address.key, size, _stamp(size, headers))

    def _range(self, found: Found, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`; what came before a cut is kept."""
        got = bytearray()

        def once() -> None:
            at = start + len(got)
            answer = self._sent(self._request("GET", {"Range": f"bytes={at}-{end - 1}"}))
            with closing(answer):
                self._check(found, answer)
                while len(got) < end - start and (piece := answer.read(_PIECE)):
                    got.extend(piece)
            if len(got) < end - start:
                raise http.client.IncompleteRead(b"", end - start - len(got))

        self.tried(once)
        return bytes(got)

    def from_start(self, found: Found, skip: int) -> http.client.HTTPResponse:
        """Return an open answer with the whole file, of which `skip` bytes are passed over."""
        answer = self._sent(self._request("GET", {}))
        if answer.status == _PARTIAL or _stamp(found.size, answer.headers) != found.stamp:
            raise self._fails(changed(found.name))
        while skip and (passed := len(answer.read(min(skip, _PIECE)))):
            skip -= passed
        return answer

    def tried(self, call: Callable[[], Result]) -> Result:
        """Return what a call gives, in as many tries as it takes; raise after the last of them."""
        why, wait = "", retry.FIRST_WAIT
        for _ in range(retry.TRIES):
            if why:
                time.sleep(wait * random.uniform(0.5, 1.0))
                wait = min(2 * wait, retry.LONGEST_WAIT)
            try:
                return call()
            except urllib.error.HTTPError as error:
                if error.code < _SERVER and error.code not in _BUSY:
                    raise self._fails(_refused(self._address, error)) from error
                why = f"the server says {error.code} {error.reason}"
            except (http.client.HTTPException, OSError) as error:
                why = _failure(error)
        raise self._fails(connection_failed(self._address.name, why))

    def _check(self, found: Found, answer: http.client.HTTPResponse) -> None:
        size = found.size
        said = answer.headers.get("Content-Range", "").rpartition("/")[2] or str(size)
        if answer.status != _PARTIAL or _stamp(int(said), answer.headers) != found.stamp:
            raise self._fails(changed(found.name))

    def _request(self, method: str, headers: Mapping[str, str]) -> urllib.request.Request:
        return urllib.request.Request(self._address.url, method=method, headers=dict(headers))

    def _sent(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        opener = urllib.request.build_opener(_Redirects(self._address.scheme))
        return cast(http.client.HTTPResponse, opener.open(request, timeout=retry.SILENCE))


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server to another place, but not out of encryption."""

    def __init__(self, scheme: str) -> None:
        self._scheme = scheme

    def redirect_request(  # noqa: PLR0917 - the library's own
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if self._scheme == "https" and not newurl.startswith("https://"):
            return None  # then the redirection itself is the error
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Spilled(Seekable):
    """A file that comes from end to end alone; what has come lies in a temporary file."""

    def __init__(self, web: Web, found: Found) -> None:
        super().__init__(found.size)
        self._web = web
        self._found = found
        self._held = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this file
        self._come = 0
        self._answer: http.client.HTTPResponse | None = None

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Fill the buffer, fetching up to there; 0 at the end."""
        wanted = min(len(buffer), self._size - self._at)
        if wanted <= 0:
            return 0
        while self._come < self._at + wanted:
            self._web.tried(self._fetch)
        self._held.seek(self._at)
        content = self._held.read(wanted)
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)

    def _fetch(self) -> None:
        if self._answer is None:
            self._answer = self._web.from_start(self._found, self._come)
        wanted = min(_PIECE, self._size - self._come)
        try:
            piece = self._answer.read(wanted)
        except (http.client.HTTPException, OSError):
            self._answer = None
            raise
        self._held.seek(self._come)
        self._held.write(piece)
        self._come += len(piece)
        if len(piece) < wanted:
            self._answer = None
            raise http.client.IncompleteRead(b"", wanted - len(piece))

    def close(self) -> None:
        """Let go of the connection and of the temporary file."""
        if self._answer is not None:
            self._answer.close()
        self._held.close()
        super().close()


def _stamp(size: int, headers: _Headers) -> str:
    return headers.get("ETag") or headers.get("Last-Modified") or str(size)


def _refused(address: Address, error: urllib.error.HTTPError) -> str:
    if error.code in _NO_ACCESS:
        return (
            f"{address.name}: access denied ({error.code} {error.reason}).\n"
            f"{address.scheme}:// is used without credentials. Use a signed address, or download "
            "the file first."
        )
    if error.code in _GONE:
        return f"{address.name}: no such place there. Check the address."
    return f"{address.name}: refused ({error.code} {error.reason}).\nCheck the address."


def _failure(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    match reason:
        case ConnectionRefusedError():
            return "connection refused"
        case socket.gaierror():
            return "no such host"
        case TimeoutError():
            return "no answer in time"
        case ssl.SSLCertVerificationError():
            return "its certificate is not trusted"
        case ConnectionError() | http.client.HTTPException():
            return "cut off"
    return str(reason)[:200]
