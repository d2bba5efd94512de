"""Works straight from OpenAlex's API, through pyalex: by id, by DOI, or by a search.

Works come one request each: OpenAlex counts those as the lightest, and follows merged ids to where
they went.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from scorer.errors import OutputError, ScorerError, UsageError
from scorer.frame.addresses import doi, openalex_id
from scorer.frame.contract import text
from scorer.frame.readers.base import Asked
from scorer.frame.readers.openalex_work import WorkColumns, mended

API: Final = "https://api.openalex.org"
_WANTED: Final = (
    *("id", "title", "abstract_inverted_index", "venue", "topic", "field", "lang", "type", "year"),
)
_COLUMNS: Final = ("id", "title", "abstract", "venue", "topic", "field", "lang", "type", "year")
_TRIES: Final = 5  # with the waits below: about half a minute before a failing server is given up
_BACK_OFF: Final = 1.0  # seconds, doubled at each try
_LONGEST_WAIT: Final = 60  # a server that asks for more says that the day's share is used up
_AGAIN: Final = (429, 500, 502, 503, 504)
_TIMEOUT: Final = (10, 60)  # seconds: to connect, to answer
_PAGE: Final = 200  # the most that the API gives at a time


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What to fetch, and how to behave."""

    ids: Sequence[str] = ()
    search: str | None = None
    limit: int | None = None
    mail: str | None = None
    api: str = API
    back_off: float = _BACK_OFF


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came back.

    `works`: contract columns, abstracts as running text; `missing`: the words without a work;
    `moved`: pairs of an id that was merged and the one that its work now has.
    """

    works: pl.DataFrame
    missing: Sequence[str]
    moved: Sequence[tuple[str, str]]


def fetch(request: FetchRequest) -> Fetched:
    """Fetch works from OpenAlex; each work once, in the order of the request.

    Raises `UsageError` for a word that is no id, or where pyalex is not installed; `ScorerError`
    where OpenAlex cannot be reached or keeps failing.
    """
    paths = [(word, _path(word)) for word in request.ids]
    if not paths and request.search is None:
        raise UsageError("Nothing to fetch: name works (W…, DOI), or say --search TEXT.")
    api = _Api(request)
    records: dict[str, dict[str, Any]] = {}
    missing, moved = [], []
    for word, path in paths:
        record = api.work(path)
        if record is None:
            missing.append(word)
            continue
        work = str(record.get("id")).rsplit("/", 1)[-1]
        if path.startswith("W") and work != path:
            moved.append((path, work))
        records.setdefault(work, record)
    if request.search is not None:
        for record in api.search(request.search, request.limit):
            records.setdefault(str(record.get("id")).rsplit("/", 1)[-1], record)
    return Fetched(_frame(list(records.values()), api.address), missing, moved)


def write(works: pl.DataFrame, output: Path) -> None:
    """Write a frame as Parquet, whole or not at all."""
    partial = output.with_name(f".{output.name}.partial")
    try:
        works.write_parquet(partial)
        partial.replace(output)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(f"{output}: cannot be written ({error.strerror}).") from error


def check_output(output: Path, *, overwrite: bool) -> None:
    """Refuse an output that cannot be written, before anything is asked of a server."""
    if output.is_dir():
        raise OutputError(f"{output}: a folder. Name a file.")
    if output.exists() and not overwrite:
        raise OutputError(f"{output} exists already. Say --overwrite, or name another with -o.")
    if not output.absolute().parent.is_dir():
        raise OutputError(f"{output.parent}: no such folder. Make it first.")


def _path(word: str) -> str:
    """Return what the API knows a work by."""
    if found := openalex_id(word):
        return found
    if found := doi(word):
        return f"https://doi.org/{found}"
    raise UsageError(f"{word}: no id of a work. Give W…, a DOI (10.…), or an address of either.")


def _frame(records: Sequence[dict[str, Any]], where: str) -> pl.DataFrame:
    columns = WorkColumns(Asked(_WANTED), where)
    columns.gather([columns.decode(mended(record)) for record in records])
    works = columns.piece().works
    abstracts = text(works, "abstract").alias("abstract")
    return works.with_columns(abstracts).select(_COLUMNS)


class _Api:
    """OpenAlex's API behind pyalex, with time limits and waits that pyalex leaves out."""

    def __init__(self, request: FetchRequest) -> None:
        try:
            import pyalex  # noqa: PLC0415 - an extra
            import requests  # noqa: PLC0415 - comes with it
        except ModuleNotFoundError as error:
            raise UsageError(
                "Fetching needs pyalex, which is not installed.\n"
                "Install it: pip install 'scorer[fetch]'"
            ) from error
        self.address = request.api.rstrip("/")
        self._errors = requests.exceptions
        config = pyalex.config
        config.email = request.mail
        config.max_retries = _TRIES
        config.retry_backoff_factor = request.back_off
        config.retry_http_codes = list(_AGAIN)
        session, address = _session(config), self.address

        class Works(pyalex.Works):  # type: ignore[misc]
            """Works at the address asked for: pyalex builds in OpenAlex's own."""

            def _get_from_url(self, url: str, _: Any = None) -> Any:  # noqa: ANN401
                return super()._get_from_url(url.replace(API, address, 1), session)

        self._works = Works

    def work(self, path: str) -> dict[str, Any] | None:
        """Return a work as the API gives it, None where it knows none."""
        try:
            return dict(self._asked(lambda: self._works()[path]))
        except self._errors.HTTPError as error:
            if getattr(error.response, "status_code", None) == 404:  # noqa: PLR2004
                return None
            raise self._failed(error) from error

    def search(self, words: str, limit: int | None) -> Iterator[dict[str, Any]]:
        """Yield the first `limit` works that a search finds, the best first; None: all."""
        size = min(limit or _PAGE, _PAGE)
        pages = self._works().search(words).paginate(per_page=size, n_max=limit)
        left = limit
        while True:
            try:
                page = self._asked(lambda: next(pages, None))
            except self._errors.HTTPError as error:
                raise self._failed(error) from error
            if not page:
                return
            taken = page if left is None else page[:left]
            yield from map(dict, taken)
            left = None if left is None else left - len(taken)

    def _asked(self, ask: Any) -> Any:  # noqa: ANN401 - pyalex has no types
        try:
            return ask()
        except self._errors.HTTPError:
            raise
        except self._errors.RetryError as error:
            raise self._failed(error) from error
        except (self._errors.ConnectionError, self._errors.Timeout) as error:
            raise ScorerError(
                f"{self.address}: cannot be reached. Nothing was written.\n"
                "Check the connection, and try again."
            ) from error
        except (ValueError, KeyError, TypeError) as error:  # pyalex on what is no answer of the API
            raise ScorerError(
                f"{self.address}: the answer is not of OpenAlex's form ({_line(error)}).\n"
                "Nothing was written. Try again later."
            ) from error

    def _failed(self, error: Exception) -> ScorerError:
        response = getattr(error, "response", None)
        status = f"answers {response.status_code}" if response is not None else "keeps failing"
        return ScorerError(
            f"{self.address}: {status}, after {_TRIES + 1} tries at most. Nothing was written.\n"
            "Try again later; with --mail ADDRESS, OpenAlex is kinder."
        )


def _session(config: Any) -> Any:  # noqa: ANN401 - requests has no types here
    """Return a session that waits as it is told to, and never for ever."""
    import requests  # noqa: PLC0415
    from urllib3.util import Retry  # noqa: PLC0415

    retries = Retry(
        total=config.max_retries,
        backoff_factor=config.retry_backoff_factor,
        status_forcelist=config.retry_http_codes,
        retry_after_max=_LONGEST_WAIT,
    )
    session: Any = requests.Session()
    for scheme in ("https://", "http://"):
        session.mount(scheme, requests.adapters.HTTPAdapter(max_retries=retries))
    session.get = functools.partial(session.get, timeout=_TIMEOUT)
    return session


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
