"""Caches complete results of analyses for later commands.

Only analyses of one program from a file are cached. Their result depends on the content of the
file, the target, the options and the kernel types, and on nothing else of the machine. Each field
of `analyses.Options` is part of the key, except for the limits of time and memory: a complete
result does not depend on them.
"""

import json
from typing import TYPE_CHECKING

from slowpath.core import codes
from slowpath.core.engine import analyses, as_text, targets
from slowpath.core.engine.cache import Cache, default_folder, digest
from slowpath.core.errors import OptionError, with_code
from slowpath.core.terminal import note

if TYPE_CHECKING:
    from argparse import Namespace

    from slowpath.bounds.plan import Task
    from slowpath.core.programs.loading import KernelBtf

_LIMITS = ("deadline_seconds", "memory_bytes")
"""Options that only end analyses early; results of such analyses are not cached."""
_REPLACED = ("metric",)
"""Options that the engine does not use, because the task has its own value of them."""
_TEXTS = 2
"""Number of texts in a cache entry: the result without the file's name, and its details."""


def _warn(text: str) -> None:
    note(with_code(f"warning: {text}", codes.CACHE_UNUSABLE))


def open_cache(folder: str | None = None, *, off: bool = False) -> Cache | None:
    """Open the cache of results in `folder`, by default the user's cache.

    Return None if the cache is off or has no folder.

    Raises:
        OptionError: if a folder is given, although the cache is off.
    """
    if off and folder is not None:
        raise OptionError(codes.CONFLICTING_OPTIONS, "--no-cache-dir", "conflicts with --cache-dir")
    if off:
        return None
    place = folder or default_folder()
    return None if place is None else Cache(place, _warn)


def cache_of(args: "Namespace") -> Cache | None:
    """Open the cache that the options of a command choose; None if there is no cache.

    Raises:
        OptionError: if the options contradict each other.
    """
    return open_cache(args.cache_dir, off=args.no_cache_dir)


def without_limits(options: analyses.Options, *omitted: str) -> dict[str, object]:
    """Return the options that can change a complete result; time and memory limits cannot.

    Options named in `omitted` are left out, too.
    """
    known = (*_LIMITS, *omitted)
    return {name: value for name, value in options._asdict().items() if name not in known}


class KeptOutcomes:
    """Finds and stores cached outcomes of analyses that share one target and set of options."""

    def __init__(
        self,
        cache: Cache | None,
        target: targets.Description,
        options: analyses.Options,
        btf: "KernelBtf",
    ) -> None:
        """Store the data that all analyses share; if `cache` is None, nothing is cached."""
        self._cache = cache
        self._btf = btf
        self._shared = [as_text(target.name), target.text, without_limits(options, *_REPLACED)]
        self._digests: tuple[bytes, str] | None = None  # content of the last file, and its digest

    def find(self, task: "Task") -> analyses.Outcome | None:
        """Return the cached outcome of a task; None if there is none."""
        found = self._find(task)
        return None if found is None else found[1]

    def find_answer(self, task: "Task") -> analyses.Answer | None:
        """Return the cached outcome of a task as JSON texts, which need less memory than objects.

        None if the cache has no outcome of this task.
        """
        found = self._find(task)
        return None if found is None else found[0]

    def _find(self, task: "Task") -> tuple[analyses.Answer, analyses.Outcome] | None:
        key = self._key(task)
        if key is None or self._cache is None:
            return None
        texts = self._cache.find(key, _TEXTS)
        if texts is None:
            return None
        rest, detail = texts
        answer = analyses.Answer(_head(task) + rest, detail, complete=True)
        try:
            return answer, analyses.outcome(answer)
        except ValueError:  # an entry of another format
            return None

    def keep(self, task: "Task", outcome: analyses.Outcome) -> None:
        """Store the outcome of a task in the cache, if it is complete."""
        head = _head(task)
        if self._cache is None or not outcome.complete or not outcome.text.startswith(head):
            return
        key = self._key(task)
        if key is not None:
            detail = json.dumps(outcome.detail, ensure_ascii=False, separators=(",", ":"))
            self._cache.keep(key, [outcome.text.removeprefix(head), detail])

    def close(self) -> None:
        """Delete results that were not used for a long time, unless this was done recently."""
        if self._cache is not None:
            self._cache.prune()

    def _key(self, task: "Task") -> str | None:
        """Return the cache key of a task; None if its result must not be cached."""
        if self._cache is None or task.data is None or task.error is not None:
            return None
        # A listing's program has the name of its file.
        number, name, needs_kernel = 0, as_text(task.file), False
        if task.program is not None:
            number, name, needs_kernel = task.program.number, "", task.program.needs_kernel
        types = self._btf.digest(needed=needs_kernel)
        subject = [self._digest(task.data), number, name, task.metric, types]
        return self._cache.key("analysis", [subject, self._shared])

    def _digest(self, data: bytes) -> str:
        if self._digests is None or self._digests[0] is not data:
            self._digests = (data, digest(data))
        return self._digests[1]


def _head(task: "Task") -> str:
    """Return the start of a result's JSON text, which contains the name of the file.

    The cache omits it, because equal files with different names share the rest of the text.
    """
    return f'{{"file":{json.dumps(as_text(task.file), ensure_ascii=False)},'
