"""Packets that a function receives itself: it is called once, and its loop polls ports for them.

`rte_eth_rx_burst` of the headers asks here (`rte_ethdev.h`). Each call brings the next packets of
the trace, as many as it asks for up to a burst, whichever port and queue it names. When none is
left, the function is left, wherever its loop is.
"""

import ctypes
from collections import Counter
from collections.abc import Mapping, Sequence

from slowpath.cli.errors import InputError
from slowpath.engine.captures import Captured
from slowpath.insights.porting.packets.arriving import Passed, Ready, Turns

_USED_UP = -1
"""What tells the headers to leave the function."""
_WORD = 8
_IDLE = 1000
"""Times that it may ask for no packet at all, one after the other."""
_ARGUMENTS = 5
"""Parameters of a loop, all of which are in registers (`slowpath_dpdk_loop`)."""


class Receiving:
    """A function whose loop receives."""

    def __init__(self, file: str, ready: Ready, lent: Mapping[int, int]) -> None:
        """`lent` are addresses, by place of a parameter; numbers are 0.

        Raises:
            InputError: when it has too many parameters.
        """
        self._file, self._ready = file, ready
        function = ready.entry.function
        if len(function.parameters) > _ARGUMENTS:
            reason = f"{function.shown} has {len(function.parameters)} parameters; {_ARGUMENTS} is"
            raise InputError(
                file, f"{function.place}: {reason} the most of one that receives packets itself"
            )
        self._given = (ctypes.c_uint64 * _ARGUMENTS)(*(lent.get(at, 0) for at in range(_ARGUMENTS)))
        self._arrive, self._left = ready.arrive(), ready.left()
        self._packets: Sequence[Captured] = ()
        self._ran, self._kept, self._idle = 0, 0, 0
        self._problem: BaseException | None = None

    def run(self, packets: Sequence[Captured], turns: Turns) -> Passed:
        """Has the function receive packets until they or the time is over."""
        self._packets, self._turns = packets, turns
        poll = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint32)(self._poll)
        asked = ctypes.c_void_p.from_address(self._ready.address("slowpath_dpdk_poll"))
        asked.value = ctypes.cast(poll, ctypes.c_void_p).value
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
        loop = kind(self._ready.address("slowpath_dpdk_loop"))
        function = self._ready.address(self._ready.entry.function.name)
        was_left = loop(function, ctypes.addressof(self._given))
        if self._problem is not None:
            raise self._problem
        if not was_left and self._ran:
            self._kept += self._left()
        return Passed(self._ran, self._kept, Counter(), returned=not was_left)

    def _poll(self, to: int, most: int) -> int:
        """Puts the addresses of the next packets somewhere: how many, or that none is left."""
        try:
            return self._next(to, most)
        except Exception as problem:  # noqa: BLE001 - raised when the function is left
            self._problem = problem
            return _USED_UP

    def _next(self, to: int, most: int) -> int:
        if self._ran:
            self._kept += self._left()
        else:
            self._turns.start()
        count = min(most, len(self._packets) - self._ran)
        if self._ran == len(self._packets) or not self._turns.go_on():
            return _USED_UP
        self._idle = 0 if count else self._idle + 1
        if self._idle > _IDLE:
            function = self._ready.entry.function
            reason = f"{function.shown} asks rte_eth_rx_burst for 0 packets, again and again"
            raise InputError(self._file, f"{function.place}: {reason}")
        if count:
            self._turns.begin(self._ran, count)
        for at in range(count):
            here = self._arrive(self._ran, self._packets[self._ran])
            ctypes.c_uint64.from_address(to + _WORD * at).value = here
            self._ran += 1
        return count
