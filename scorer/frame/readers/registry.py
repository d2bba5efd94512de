"""Every format that works are read from: kind -> reader. A new reader is one line here."""

from typing import Final

from scorer.frame.readers import arrow_ipc, bibtex, delimited, json_records, openalex, tagged
from scorer.frame.readers.base import Reader

READERS: Final[dict[str, Reader]] = {
    "arrow": arrow_ipc.read,
    "csv": delimited.read,
    "jsonl": json_records.read_lines,
    "json": json_records.read_values,
    "openalex": openalex.read,
    "ris": tagged.read_ris,
    "bibtex": bibtex.read,
    "medline": tagged.read_medline,
}
"""Kind, as `sniff` names it -> reader. Parquet has random access, and its own way in."""
