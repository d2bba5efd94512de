"""How often a request is made before it counts as failed, and how long it waits in between.

A line that comes back within about ten seconds is ridden out; one that does not is told.
"""

from typing import Final

TRIES: Final = 7
FIRST_WAIT = 0.25
"""Seconds; doubled each time, and shortened by chance, so that many runs do not call as one."""
LONGEST_WAIT: Final = 10.0
SILENCE: Final = 30.0
"""Seconds without a byte, after which a connection counts as cut."""
