"""Tests the search for the highest rate without packet loss, on simulated devices."""

import random
from collections.abc import Callable

import pytest

from slowpath.calibrate.load.search import RESOLUTION, Found, Offer, highest_rate


class Device:
    """A simulated device: a queue for `room` packets, and a server with constant service time."""

    def __init__(self, service: float, room: int, sender: float, pauses: float = 0.0) -> None:
        self.service, self.room, self.sender = service, room, sender
        self._pauses, self._random = pauses, random.Random(7)  # noqa: S311 - a simulation
        self.offered = list[float | None]()

    def __call__(self, rate: float | None) -> Offer:
        """Simulate 2,000 packets at a rate, one after the other; None: as fast as possible."""
        self.offered.append(rate)
        due = 2_000
        interval = 1 / min(rate or self.sender, self.sender)
        late = 0 if rate is None else round(due * max(0.0, 1 - self.sender / rate))
        sent, received, free = due - late, 0, 0.0
        if self._random.random() < self._pauses:
            free = 1000 * self.room * self.service  # the server pauses at the start
        for number in range(sent):
            now = number * interval
            waiting = max(0.0, free - now) / self.service
            if waiting < self.room:
                free = max(free, now) + self.service
                received += 1
        return Offer(due, sent, received, 1 / interval)

    def brute(self, tolerance: float) -> float:
        """Return the highest rate on a fine grid at which the loss is at most `tolerance`."""
        grid = (self.sender * step / 100 for step in range(1, 101))
        return max(rate for rate in grid if self(rate).loss <= tolerance)


def search(device: Callable[[float | None], Offer], tolerance: float = 0.001) -> Found:
    found = highest_rate(device, tolerance, lambda: False)
    assert found is not None
    return found


@pytest.mark.parametrize("capacity", [12_345, 200_000, 799_000])
@pytest.mark.parametrize("tolerance", [0.0, 0.001, 0.05])
def test_the_search_agrees_with_brute_force(capacity: int, tolerance: float) -> None:
    device = Device(1 / capacity, 16, 1e6)
    found = search(device, tolerance)
    assert found.limit == "program"
    best = Device(1 / capacity, 16, 1e6).brute(tolerance)
    assert found.rate == pytest.approx(best, rel=RESOLUTION, abs=device.sender / 100)
    assert device(found.rate).loss <= tolerance


def test_a_sender_that_is_slower_than_the_device_is_the_limit() -> None:
    found = search(Device(1e-7, 16, 1e6))
    assert (found.limit, found.rate) == ("sender", 1e6)


def test_single_disturbed_trials_do_not_change_the_result() -> None:
    quiet, disturbed = (search(Device(1 / 2e5, 16, 1e6, pauses)).rate for pauses in (0.0, 0.1))
    assert disturbed == pytest.approx(quiet, rel=2 * RESOLUTION)


def test_a_late_sender_proves_nothing() -> None:
    """Check that the search never returns a rate at which the sender was late.

    Such a rate was reached only in bursts, and proves nothing even without loss.
    """

    def device(rate: float | None) -> Offer:
        if rate is None:
            return Offer(1000, 1000, 500, 1e6)
        sent = min(1000, int(1000 * 3e5 / rate))
        return Offer(1000, sent, sent, rate)

    found = search(device)
    assert found.limit == "sender"
    assert found.rate == pytest.approx(3e5 / 0.95, rel=RESOLUTION)


def test_a_device_that_always_loses_packets_has_no_rate() -> None:
    found = search(lambda rate: Offer(1000, 1000, 900, rate or 1e6))
    assert (found.rate, found.limit) == (0.0, "program")


def test_a_stop_ends_the_search() -> None:
    device = Device(1 / 2e5, 16, 1e6)
    assert highest_rate(device, 0.001, lambda: len(device.offered) > 3) is None
    assert len(device.offered) == 4


def test_lost_packets_are_a_share_of_sent_ones() -> None:
    assert Offer(10, 8, 6, 1.0).loss == 0.25
    assert Offer(10, 0, 0, 1.0).loss == 0.0
    assert not Offer(100, 94, 94, 1.0).in_time
    assert Offer(100, 95, 95, 1.0).in_time
