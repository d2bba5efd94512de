"""Which columns of a frame a student reads, and which of them are not there."""

from collections.abc import Collection

from scorer.student.bundle import Student


def columns_not_found(student: Student, found: Collection[str]) -> list[str]:
    """Return the columns that a student reads and a frame, which has those `found`, lacks."""
    either = "abstract" in found or "abstract_inverted_index" in found
    return [
        name
        for name in student.manifest.encoder.fields()
        if name not in found and not (name == "abstract" and either)
    ]


def columns_read(student: Student) -> list[str]:
    """Return the columns of a frame that a student needs, where they are there."""
    wanted = ["id", "title", *student.manifest.encoder.fields()]
    if "abstract" in wanted:
        wanted.append("abstract_inverted_index")
    return list(dict.fromkeys(wanted))
