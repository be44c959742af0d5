"""Shortens measurements of profiles, for tests in which the measured values do not matter."""

import pytest

from slowpath.contention.profiling import machine, profiler

_CACHE = 1 << 20
_LEVELS = 3


def shorten_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make measurements of profiles quick: small buffers, and no waits for a quiet processor.

    Otherwise, competitors' buffers are as large as the machine's cache, and other load on the
    machine delays each measurement. Real threads still run on the CPUs, next to each other.
    """
    sizes = machine.bubble_sizes
    monkeypatch.setattr(profiler, "bubble_sizes", lambda _cache, _count: sizes(_CACHE, _LEVELS))
    monkeypatch.setattr(machine, "_PROBES", (64 << 10, 64 << 10))
    monkeypatch.setattr(machine, "_OBSERVATIONS", 20)
    monitor = machine.CpuMonitor
    monkeypatch.setattr(profiler, "CpuMonitor", lambda cpus, _limit, **_: monitor(cpus, patience=0))
