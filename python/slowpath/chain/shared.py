"""Starts worker processes and writes object files, for commands that rewrite programs."""

from collections.abc import Callable, Iterator
from pathlib import Path

from slowpath.bounds.progress import WorkWatch
from slowpath.core import codes
from slowpath.core.engine.analyses import StageProgress
from slowpath.core.errors import OptionError
from slowpath.core.inputs import write_bytes, write_error
from slowpath.core.jobs import Message
from slowpath.core.jobs.isolated_job import IsolatedJob
from slowpath.core.jobs.stopping import Stopping


def run_watched(
    work: Callable[[Stopping], Iterator[Message]],
    watch: WorkWatch,
    stopping: Stopping,
    seconds: float | None,
    memory: int | None,
) -> tuple[Message | None, str | None]:
    """Run work in a worker process, limited to `seconds` and `memory` bytes, and show its stages.

    Return the last message of the work, if any, and the reason if the work ended early.

    Raises:
        InputError: if the work cannot be done.
    """
    results = list[Message]()

    def take(message: Message) -> None:
        match message:
            case ("doing", *stage):
                watch.take(StageProgress(*stage))
            case _:
                results.append(message)

    with IsolatedJob(memory, lambda _seconds, stopping: work(stopping)) as job:
        stopped = job.run(seconds, stopping, take, watch.look)
    return results[-1] if results else None, stopped


def check_folder(output: Path | None) -> None:
    """Check that the value of `--output` is a folder, or can become one.

    Raises:
        OptionError: if it, or what it is in, is an existing file.
    """
    if output is None:
        return
    existing = next(path for path in (output, *output.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise OptionError(
            codes.FOLDER_EXPECTED,
            "--output",
            f"{existing} is a file, not a folder; name another one",
        )


def object_file(folder: Path, name: str) -> Path:
    """Return the path in `folder` of the object file for a program of this name."""
    return folder / f"{name}.bpf.o"


def write_object(folder: Path, name: str, data: bytes) -> str:
    """Write an object file, creating its folder if necessary, and return its path.

    Raises:
        InputError: if the file cannot be written.
    """
    path = object_file(folder, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise write_error(str(path), problem) from None
    write_bytes(str(path), data)
    return str(path)
