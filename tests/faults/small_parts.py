"""`scorer` with parts of so many works, and a pause after each: for scenes on tiny frames.

small_parts.py WORKS SECONDS run FRAME ...
"""

import select
import sys

import scorer.cli.run
from scorer.cli.app import main


def with_small_parts(works: int, seconds: float) -> None:
    """Make parts smaller, and each take longer, so that something can happen meanwhile.

    The engine is loaded as late as the program itself does: under a limit of memory that matters.
    """
    run = scorer.cli.run._run

    def slowed(*arguments: object, **settings: object) -> None:
        import scorer.engine.job  # noqa: PLC0415
        from scorer.engine.checkpoint import Checkpoint  # noqa: PLC0415

        save = Checkpoint.save

        def saved(self: Checkpoint, index: int, content: object, *series: str) -> None:
            save(self, index, content, *series)
            select.select([], [], [], seconds)  # no clock can be set back under it

        Checkpoint.save = saved
        scorer.engine.job.TITLES_A_BATCH = scorer.engine.job.ABSTRACTS_A_BATCH = works
        run(*arguments, **settings)

    scorer.cli.run._run = slowed


if __name__ == "__main__":
    with_small_parts(int(sys.argv[1]), float(sys.argv[2]))
    sys.argv = ["scorer", *sys.argv[3:]]
    main()
