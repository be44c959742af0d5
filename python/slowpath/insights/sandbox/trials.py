"""Attempts in forked, confined processes."""

import json
import math
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from slowpath.insights.sandbox.confinement import limit, refuse_calls

Attempt = Callable[[], dict[str, Any] | None]
"""Something to try; what was found, in terms of JSON."""
_SILENT = 60.0
"""Seconds after which a process that says nothing is ended, whatever it waits for."""
_MEMORY = 512 << 20
_DEATHS, _HANGING = 128, 6
"""Processes that may die in one series, and of these, of calls that took too long."""
_CHUNK = 1 << 16


_DIED = frozenset(
    -one for one in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
)
"""How processes end whose code did what cannot be done."""


def nothing() -> None:
    """Nothing is prepared."""


class Fates:
    """Attempts that differ only in where they look for the result: one dies as the other does."""

    def __init__(self, calls: Mapping[Attempt, Hashable] | None = None) -> None:
        """By attempt, what it calls; those that are not there are like no other."""
        self._calls = calls or {}
        self._dead = set[Hashable]()

    def died(self, attempt: Attempt) -> None:
        """Says that one has died."""
        if attempt in self._calls:
            self._dead.add(self._calls[attempt])

    def doomed(self, attempt: Attempt) -> bool:
        """Whether one calls what another has died of."""
        return attempt in self._calls and self._calls[attempt] in self._dead


class Series:
    """Attempts, one after the other, within so many CPU seconds, whatever else the machine does."""

    def __init__(
        self,
        attempts: Sequence[Attempt],
        seconds: float,
        until: float,
        prepare: Callable[[], None] = nothing,
        fates: Fates | None = None,
    ) -> None:
        """Until a moment of the monotonic clock; `prepare` runs first in each process."""
        self._attempts, self._prepare = attempts, prepare
        self._fates = fates or Fates()
        self._seconds, self._until = seconds, until
        self.given_up = False
        """Whether calls took too long, or too many processes died: nothing more is to be had."""
        self.ended = 0
        """How the last process ended: its exit code, or minus the signal."""

    def first(self) -> dict[str, Any] | None:
        """What the first attempt that succeeds has found; the others are not tried any more."""
        return next((found for _, found in self.successes()), None)

    def successes(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Which attempts have succeeded, and what they found."""
        start, hanging, left = 0, 0, self._seconds
        for _ in range(_DEATHS):
            start = self._next(start)
            if start >= len(self._attempts):
                return
            last = None
            with _Fork((self._attempts, self._fates), start, self._prepare, left) as fork:
                for message in fork.messages(self._until):
                    if "defect" in message:
                        sys.stderr.write(message["defect"])
                    if "found" in message:
                        yield message["at"], message["found"]
                    last = message["at"]
                    start = last + 1
            hanging += fork.hung
            self.ended = fork.code
            left -= fork.seconds
            if last is not None and fork.code in _DIED:
                self._fates.died(self._attempts[last])
            if start >= len(self._attempts):
                return
            if hanging >= _HANGING or left <= 0 or time.monotonic() >= self._until:
                break
        self.given_up = True

    def _next(self, at: int) -> int:
        """The first attempt from one on that is not known to die."""
        left = range(at, len(self._attempts))
        return next(
            (one for one in left if not self._fates.doomed(self._attempts[one])),
            len(self._attempts),
        )


class _Fork:
    """A process that tries one attempt after the other, from one on."""

    def __init__(
        self,
        attempts: tuple[Sequence[Attempt], Fates],
        start: int,
        prepare: Callable[[], None],
        seconds: float,
    ) -> None:
        self._attempts, self._start, self._prepare = attempts, start, prepare
        self._most = max(1, math.ceil(seconds))
        self.hung = False
        self.code = 0
        self.seconds = 0.0
        """CPU seconds that it took."""

    def __enter__(self) -> "_Fork":
        self._answers, answers = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _try(self._attempts, self._start, self._prepare, self._most, answers)  # does not return
        os.close(answers)
        return self

    def __exit__(self, *_ended: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        _, status, used = os.wait4(self._pid, 0)
        self.seconds = used.ru_utime + used.ru_stime
        self.code = os.waitstatus_to_exitcode(status)
        self.hung = self.code == -signal.SIGPROF
        os.close(self._answers)

    def messages(self, end: float) -> Iterator[dict[str, Any]]:
        """What it says, until it is dead or out of time."""
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        buffer = b""
        while True:
            left = min(end - time.monotonic(), _SILENT)
            if left <= 0 or not poll.poll(1000 * left):
                return
            data = os.read(self._answers, _CHUNK)
            if not data:
                return
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                yield json.loads(line)


def _try(
    given: tuple[Sequence[Attempt], Fates],
    start: int,
    prepare: Callable[[], None],
    seconds: int,
    answers: int,
) -> None:
    """The other process."""
    (attempts, fates), at = given, start
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, signal.SIG_DFL)
        os.closerange(0, answers)
        os.closerange(answers + 1, answers + 64)
        limit(seconds, _MEMORY)
        refuse_calls()
        prepare()
        for at in range(start, len(attempts)):
            if fates.doomed(attempts[at]):
                continue
            _say(answers, {"at": at})
            found = attempts[at]()
            if found is not None:
                _say(answers, {"at": at, "found": found})
    except BaseException:  # noqa: BLE001 - whatever it is, the attempt has failed
        if "SLOWPATH_TRIALS" in os.environ:  # for whoever works on this
            _say(answers, {"at": at, "defect": traceback.format_exc()})
    finally:
        os._exit(0)


def _say(answers: int, message: dict[str, Any]) -> None:
    os.write(answers, json.dumps(message).encode() + b"\n")
