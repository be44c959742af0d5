"""Compares the tables in slowpath's DPDK headers with a Python model of their specification."""

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowpath.core.engine.objects import Captured
from slowpath.core.programs.sources import Clang
from slowpath.insights.source.entry import choose_entry
from slowpath.insights.source.sources import load_source
from slowpath.insights.source.unit import CompiledUnit
from slowpath.insights.trace import RunSettings
from slowpath.insights.trace.execution import Execution
from support import ROOT

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

FOLDER = ROOT / "tests/dpdk"
NO_ENTRY, INVALID, NO_SPACE = -2, -22, -28


class _Tables:
    """A Python model of a hash table, and of a table of address prefixes."""

    def __init__(self) -> None:
        self.keys = set[bytes]()
        self.prefixes = dict[tuple[int, int], int]()

    def may_return(self, one: bytes, found: int) -> bool:
        """Return true if the table operation of packet `one` can return `found`.

        In this case, apply the operation to the model.
        """
        return (self._of_keys if one[0] < 3 else self._of_prefixes)(one, found)

    def _of_keys(self, one: bytes, found: int) -> bool:
        key = one[1:6]
        there = key in self.keys
        if one[0] == 0:
            if found == NO_SPACE:  # a bucket of four can be full before the table has ten keys
                return not there and len(self.keys) >= 4
            self.keys.add(key)
            return found == len(self.keys) <= 10
        if one[0] == 1:
            self.keys.discard(key)
        return found == (len(self.keys) if there else NO_ENTRY)

    def _of_prefixes(self, one: bytes, found: int) -> bool:
        depth, hop, ip = one[1], one[2], int.from_bytes(one[6:10], "little")
        if one[0] == 5:
            known = sorted(self.prefixes.items())
            fit = [to for (bits, top), to in known if ip >> 32 - bits == top]
            return found == (fit[-1] if fit else -1)
        if not 1 <= depth <= 32:
            return found == INVALID
        prefix = depth, ip >> 32 - depth
        if one[0] == 4:
            return found == (INVALID if self.prefixes.pop(prefix, None) is None else 0)
        if prefix not in self.prefixes and len(self.prefixes) == 4:
            return found == NO_SPACE
        self.prefixes[prefix] = hop
        return found == 0


_IPS = st.sampled_from([b"\1\0\0\n", b"\2\0\0\n", b"\1\0\1\n", b"\1\2\3\xc0", b"\0\0\0\0"])
_OPERATIONS = st.lists(
    st.builds(
        lambda kind, key, ip: bytes([kind]) + key + ip + bytes(50),
        st.integers(0, 5),
        st.one_of(
            st.builds(lambda one: bytes([one, 0, 0, 0, 0]), st.integers(0, 30)),
            st.builds(
                lambda depth, hop: bytes([depth, hop, 0, 0, 0]),
                st.integers(0, 33),
                st.integers(0, 9),
            ),
        ),
        _IPS,
    ),
    min_size=1,
    max_size=60,
)


@cache
def tables_run() -> Execution:
    """Compile the function `touch` of `tables.cc` once, and return it ready to run on packets.

    Runs are in forked processes, so their tables are separate.
    """
    source = load_source(str(FOLDER / "tables.cc"), Clang(()))
    unit = CompiledUnit(source)
    chosen = choose_entry(source.file, unit.functions, None)
    return Execution(unit, chosen)


def results_of(sent: list[bytes]) -> list[int | None]:
    """Run the function `touch` on packets, and return its results."""
    return list(tables_run().each([Captured(one, len(one), None) for one in sent], RunSettings()))


@settings(max_examples=20)
@given(sent=_OPERATIONS)
def test_tables_return_permitted_results(sent: list[bytes]) -> None:
    tables_run()
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        results = pool.submit(results_of, sent).result()
    tables = _Tables()
    for one, found in zip(sent, results, strict=True):
        assert found is not None
        assert tables.may_return(one, found), (one, found)
