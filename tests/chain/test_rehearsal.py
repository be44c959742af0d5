"""Tests that rewritten programs are compared with their originals in the running kernel."""

import pytest

from oracles import compared
from running_kernel import needs_kernel
from slowpath.core.engine import kernel, objects
from slowpath.core.engine.kernel import RewrittenRefusedError
from slowpath.core.engine.report_types import RehearsalReport
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from support import ROOT

OBJECTS = ROOT / "crates/slowpath/tests/objects"
SEEN = '{"seen": [{"key": "00000000", "value": "0100000000000000"}]}'
"""Map content with which the second program returns a different action for IPv4 packets."""


def _content(name: str) -> bytes:
    return (OBJECTS / f"{name}.bpf.o").read_bytes()


def _seed() -> bytes:
    packet = bytearray(60)
    packet[12:14] = b"\x86\xdd"
    packet[20] = 7
    return bytes(packet)


def _rehearsed(
    rewritten: bytes, *, maps: str = "", upstream: bool = True, rounds: int = 0
) -> RehearsalReport:
    first, second = (objects.read_object(name, _content(name)) for name in _NAMES)
    stages = [kernel.Stage(first, 0, [2])] if upstream else []
    chain = kernel.Rehearsed(stages, (second, 0), rewritten, [_seed()], maps)
    rehearsing = kernel.Rehearsing(packets=3000, rounds=rounds)
    return kernel.rehearse(kernel.open_kernel(), chain, rehearsing, Stopping())


_NAMES = ("chain_first", "chain_second")


def test_a_program_does_what_it_does() -> None:
    needs_kernel()
    report = _rehearsed(_content("chain_second"), maps=SEEN, rounds=3)
    assert report["difference"] is None
    assert report["undetermined"] is None
    assert report["compared"] == 3000 < report["tried"]
    assert report["rate"]
    assert report["rate"]["packet"] == _seed().hex()
    assert 0.3 < report["rate"]["ratio"] < 3
    compared("kernel", report["compared"], "packets in rehearsals")


def test_another_program_does_something_else() -> None:
    needs_kernel()
    report = _rehearsed(_content("chain_first"), upstream=False)
    assert report["difference"]
    assert report["difference"]["what"].startswith("the runs ")
    assert report["rate"] is None


def test_maps_are_filled() -> None:
    needs_kernel()
    unknown = SEEN.replace("seen", "unseen")
    with pytest.raises(InputError, match="the original program: the object has no map unseen"):
        _rehearsed(_content("chain_second"), maps=unknown)
    with pytest.raises(InputError, match="the content of maps cannot be read"):
        _rehearsed(_content("chain_second"), maps="{")


def test_what_is_no_object_is_said() -> None:
    needs_kernel()
    with pytest.raises(InputError):
        _rehearsed(b"nothing")


def test_what_the_verifier_refuses_is_told_apart() -> None:
    needs_kernel()
    # Replace the last `exit` by a jump to itself.
    (before, behind) = _content("chain_second").rsplit(_EXIT, 1)
    endless = before + b"\x05\x00\xff\xff\x00\x00\x00\x00" + behind
    with pytest.raises(RewrittenRefusedError, match="infinite loop"):
        _rehearsed(endless)


_EXIT = b"\x95" + bytes(7)
