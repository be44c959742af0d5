"""A pool of the workers of a cluster, by Dask distributed (the extra `fleet`).

Work of a worker that dies is done by others; Dask knows that. What calls have in common is a task
like others, not scattered, so that it is made again where it got lost.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from slowpath.cli.errors import OptionError, UnavailableError

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")

_SECONDS = 10
_RETRIES = 3


class ClusterPool:
    """The workers that a scheduler has."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - of Dask, which has no types
        self._client = client

    def map(
        self, work: Callable[[Common, Item], Result], common: Common, items: Sequence[Item]
    ) -> list[Result]:
        """What `work` says of each item; see `Pool`.

        Raises:
            UnavailableError: when workers die again and again, or cannot do this work.
        """
        from distributed import KilledWorker

        # Keys are new each time: a scheduler may still know the result of an earlier run.
        shared = self._client.submit(
            pickle.loads, pickle.dumps((work, common)), pure=False, retries=_RETRIES
        )
        futures = [
            self._client.submit(_call, shared, item, pure=False, retries=_RETRIES) for item in items
        ]
        try:
            found: list[Result] = self._client.gather(futures)
        except KilledWorker as dead:
            reason = f"workers of the cluster die again and again: {dead}"
            raise UnavailableError(reason) from None
        except ModuleNotFoundError as missing:
            reason = f"the cluster's workers lack {missing.name}"
            raise UnavailableError(f"{reason}; install the same slowpath there") from None
        return found


def _call(shared: tuple[Callable[[Any, Any], Any], Any], item: object) -> Any:  # noqa: ANN401
    work, common = shared
    return work(common, item)


@contextmanager
def connected(scheduler: str) -> Iterator[ClusterPool]:
    """The pool of a scheduler, by its address.

    Raises:
        OptionError: when it cannot be reached.
        UnavailableError: when Dask is not installed.
    """
    try:
        from distributed import Client
    except ImportError:
        reason = "distributed is not installed; pip install slowpath[fleet]"
        raise UnavailableError(reason) from None
    try:
        client: Any = Client(scheduler, timeout=_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise OptionError("--scheduler", f"{scheduler!r}: {reason}") from None
    try:
        yield ClusterPool(client)
    finally:
        client.close()
