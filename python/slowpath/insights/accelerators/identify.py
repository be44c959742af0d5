"""Searches a module for functions that an accelerator could replace.

The search calls functions with chosen inputs. It runs in its own process and makes these calls in
further processes, because the code may crash or hang.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Any

from slowpath.insights.accelerators.candidates import (
    companions,
    does_work,
    header_functions,
    looks_up,
    obstacle,
    user_functions,
)
from slowpath.insights.accelerators.groups import (
    names_fit,
    pairs,
    parts,
    share_state,
    streams,
    tables,
)
from slowpath.insights.accelerators.library_calls import uses
from slowpath.insights.accelerators.proofs import block_ciphers, stream_ciphers
from slowpath.insights.accelerators.proofs.digests import stream_attempts
from slowpath.insights.accelerators.proofs.harness import Bench
from slowpath.insights.accelerators.proofs.routing import Roles
from slowpath.insights.accelerators.proofs.routing_tables import lookup_attempts
from slowpath.insights.accelerators.proofs.stream_ciphers import rc4_attempts
from slowpath.insights.accelerators.singles import (
    attempts,
    incomplete_reason,
    unproved_lookup,
    unproved_reason,
)
from slowpath.insights.source.calls import reachable_functions
from slowpath.insights.source.unit import CompiledUnit
from slowpath.insights.trials import Attempt, CrashRecord, Series

_SECONDS = 8.0
"""CPU seconds for all attempts on one function."""
_HEADER_SECONDS = 4.0
"""CPU seconds for all attempts on one function of slowpath's headers."""
_GROUP_SECONDS = 4.0
"""CPU seconds for a group of functions."""
_TABLES_SECONDS = 6.0
"""CPU seconds for all functions that may belong to a routing table; likely functions come first."""
_ATTEMPTS_PER_PROCESS = 8
"""Number of attempts on routing tables in one process; the attempts never free their memory."""
Found = dict[str, Any]
"""A finding of `proofs`, with the further keys `function`, `together` and `part_of`."""


class Identification:
    """A search for the functions of one module that accelerators could replace."""

    def __init__(self, unit: CompiledUnit, until: float, begun: Collection[str] = ()) -> None:
        """Select the functions to examine: all, or only those that calls from `begun` reach.

        `begun` are the symbols of functions at which execution starts; if it is empty, all
        functions are examined. Other functions run only if they prepare tables or keys for an
        examined one. `until` is the deadline on the clock of `time.monotonic`.
        """
        self.functions = unit.functions
        users = [
            name for name in user_functions(self.functions) if not self.functions[name].supports
        ]
        roots = [one for one in begun if one in self.functions]
        inside = {name for one in roots for name in reachable_functions(self.functions, one)}
        examined = [name for name in users if not roots or name in inside]
        needed = bool(roots) or len(users) < len(self.functions)
        self.uses = uses(self.functions, unit.metadata, examined) if needed else []
        # Inlined functions have no visible caller.
        inside |= {name for use in self.uses for name in use.within}
        self.own = [name for name in users if not roots or name in inside]
        """Functions of the user's source to examine."""
        self.headers = header_functions(self.functions, self.uses)
        """Functions of slowpath's headers that `own` calls; they are examined as well."""
        self._examined = frozenset((*self.own, *self.headers))
        self._known = frozenset(self.functions)
        named = (*users, *self.headers)
        self.refused = {
            name: reason for name in named if (reason := obstacle(self.functions, name)) is not None
        }
        self._until = until
        self._bench = Bench(unit.module, self.functions)
        self._able = [name for name in users if name not in self.refused]
        self._proved = dict[str, Found]()
        self._hopeless = set[str]()

    @property
    def names(self) -> list[str]:
        """Symbols of all examined functions, in the order of the module."""
        return [name for name in self.functions if name in self._examined]

    def run(self) -> Iterator[Found]:
        """Examine the functions, and yield a finding for each one that is proved to be replaceable.

        A finding describes the algorithm of an accelerator that the function was proved to compute.
        """
        block_ciphers.prepare()
        stream_ciphers.prepare()
        before = self._initialisers()
        for finding in self._findings(before):
            if finding["function"] in self._examined:
                yield finding

    def _findings(self, before: Sequence[str]) -> Iterator[Found]:
        for name in self._able:
            if name in self._examined and self._computes(name):
                found = self._single(name, before, _SECONDS)
                if found is not None:
                    yield self._keep(name, found)
        for each in (self._streams, self._pairs, self._tables, self._header_functions):
            yield from each(before)
        for inner, outer in list(parts(self.functions, list(self._proved))):
            if inner in self.own:
                found = self._proved[outer]
                part = {"part_of": outer, "inputs": 0, "together": []}
                yield self._keep(inner, {**found, **part})

    def why(self, name: str) -> str:
        """Return the reason why the function `name` was not proved to compute a known algorithm."""
        return unproved_reason(self.functions, name, self.refused.get(name), self._known)

    def incomplete(self) -> Iterator[tuple[str, str]]:
        """Yield the symbol of each function that was not fully examined, and the reason.

        Call this method after `run`.
        """
        for name in self.names:
            if name in self._proved:
                continue
            function, refused = self.functions[name], self.refused.get(name)
            if name in self.headers:
                reason = unproved_lookup(function, refused, self.uses, self._proved)
            else:
                reason = incomplete_reason(
                    self.functions, name, refused, self._known, self._hopeless
                )
            if reason is not None:
                yield name, reason

    def _keep(self, name: str, found: Found) -> Found:
        kept = {"together": [], "part_of": None, **found, "function": name}
        self._proved.setdefault(name, kept)
        return kept

    def _computes(self, name: str) -> bool:
        return any(
            does_work(self.functions[one]) for one in reachable_functions(self.functions, name)
        )

    def _initialisers(self) -> list[str]:
        """Return the functions without parameters that fill global variables and then return.

        Other functions may need these variables, such as tables of a CRC. A trial run shows that
        the functions return.
        """
        named = [
            name
            for name in self._able
            if not self.functions[name].parameters and self._bench.variables(name)
        ]

        def ends(name: str) -> Found | None:
            self._bench.prepare([name])
            return {"ends": True}

        tried: list[Attempt] = [partial(ends, name) for name in named]
        return [named[at] for at, _ in Series(tried, _GROUP_SECONDS, self._until).successes()]

    def _single(self, name: str, before: Sequence[str], seconds: float) -> Found | None:
        tried = attempts(self._bench, name)
        series = Series(tried, seconds, self._until, self._bench.prepare)
        found = series.first()
        if found is None and series.given_up:
            self._hopeless.add(name)
            return None
        variables = {one.address for one in self._bench.variables(name)}
        earlier = [
            one
            for one in before
            if one != name and variables & {each.address for each in self._bench.variables(one)}
        ]
        if found is None and earlier:
            prepare = partial(self._bench.prepare, earlier)
            found = Series(tried, seconds, self._until, prepare).first()
            if found is not None:
                found["together"] = earlier
        return found

    def _unproved(self) -> list[str]:
        return [name for name in self._able if name not in self._proved]

    def _fit(self, group: Sequence[str]) -> bool:
        """Return true if it is worth running the functions of the group together.

        It is not if attempts on one of them alone were given up, after too many crashes or too much
        time. But if the group shares state, another function may prepare the memory that it needs.
        """
        return not self._hopeless.intersection(group) or share_state(self._bench, group)

    def _streams(self, before: Sequence[str]) -> Iterator[Found]:
        for group in streams(self._bench, self._unproved()):
            if not self._examined.intersection(group):
                continue
            known = [name for name in group if name in self._proved]
            # Several digests may share the function that adds data.
            if group[-1] in known or (known and not share_state(self._bench, group)):
                continue
            if self._fit(group):
                tried = list(stream_attempts(self._bench, *group))
                named = [name for name in group if name not in known]
                yield from self._together(group, named, tried, before)

    def _pairs(self, before: Sequence[str]) -> Iterator[Found]:
        working = [
            name for name in self._unproved() if name in self._examined and self._computes(name)
        ]
        if not working:
            return
        starts = {name: found for name in self._able if (found := self._starts(name, before))}
        for begin, work in pairs(self._bench, list(starts), working):
            if work in self._proved or not self._fit((begin, work)):
                continue
            attempts_of = list(
                block_ciphers.pair_attempts(self._bench, begin, work, starts[begin])
            ) + list(rc4_attempts(self._bench, begin, work))
            named = [work] if begin in self._proved else [begin, work]
            yield from self._together((begin, work), named, attempts_of, before)

    def _starts(self, name: str, before: Sequence[str]) -> list[list[int]]:
        """Return the argument lists with which the function `name` may set up a key.

        Each list leaves other content in memory. The functions `before` run first, because they
        fill global variables.
        """
        tried = list(block_ciphers.start_attempts(self._bench, name))
        prepare = partial(self._bench.prepare, [one for one in before if one != name])
        series = Series(tried, _GROUP_SECONDS, self._until, prepare)
        return block_ciphers.distinct(one for _, one in series.successes())

    def _tables(self, before: Sequence[str]) -> Iterator[Found]:
        yield from self._routes(tables(self._bench, self._unproved()), before)

    def _routes(self, groups: Sequence[Roles], before: Sequence[str]) -> Iterator[Found]:
        """Prove that groups of functions implement a routing table; yield a finding per function.

        Each of `groups` assigns functions to roles. It always has a function that adds routes,
        because the table is empty without it. The functions `before` run first, to fill global
        variables.
        """
        end = _children_seconds() + _TABLES_SECONDS
        for roles in groups:
            if _children_seconds() >= end:
                return
            if roles.look in self._proved or not self._examined.intersection(
                (roles.add, roles.look)
            ):
                continue
            named = [one for one in (roles.add, roles.look) if one not in self._proved]
            group = [one for one in (roles.make, roles.begin, roles.add, roles.look) if one]
            tried, fates = lookup_attempts(self._bench, roles)
            # An attempt must not see variables that an earlier attempt has changed.
            count = _ATTEMPTS_PER_PROCESS if self._bench.restorable((roles.add, roles.look)) else 1
            for at in range(0, len(tried), count):
                batch = tried[at : at + count]
                proved = list(self._together(group, named, batch, before, fates))
                yield from proved
                if proved or monotonic() >= self._until or _children_seconds() >= end:
                    break

    def _header_functions(self, before: Sequence[str]) -> Iterator[Found]:
        """Prove that accelerators could replace functions of slowpath's headers; yield findings.

        Each function is run alone, then together with functions that take the same structure. The
        functions `before` run first, to fill global variables.
        """
        # Lookups come first: a proved lookup also proves the function that fills its table.
        for name in sorted(self.headers, key=lambda one: not looks_up(self.functions[one])):
            if name in self.refused or name in self._proved:
                continue
            partners = [
                one
                for one in companions(self.functions, name)
                if one not in self._proved and obstacle(self.functions, one) is None
            ]
            if looks_up(self.functions[name]):
                groups = [
                    roles
                    for roles in tables(self._bench, [name, *partners])
                    if roles.look == name and names_fit(self.functions, roles)
                ]
                yield from (one for one in self._routes(groups, before) if one["function"] == name)
                continue
            found = self._single(name, before, _HEADER_SECONDS)
            if found is not None:
                yield self._keep(name, found)
                continue
            for group in streams(self._bench, [name, *partners]):
                if name in group and name not in self._proved:
                    named = [one for one in group if one not in self._proved]
                    tried = list(stream_attempts(self._bench, *group))
                    yield from self._together(group, named, tried, before)

    def _together(
        self,
        group: Sequence[str],
        named: Sequence[str],
        tried: Sequence[Attempt],
        before: Sequence[str],
        fates: CrashRecord | None = None,
    ) -> Iterator[Found]:
        """Run the functions of `group` together, to prove which algorithm they compute.

        `tried` has the calls to try, and `fates` the crashes of earlier calls. The functions
        `before` run first, to fill global variables. If a try succeeds, yield a finding for each of
        `named`.
        """
        earlier = [one for one in before if one not in group]
        prepare = partial(self._bench.prepare, earlier)
        found = Series(tried, _GROUP_SECONDS, self._until, prepare, fates).first()
        if found is None:
            return
        for name in named:
            others = [one for one in group if one != name]
            yield self._keep(name, {**found, "together": others})


def _children_seconds() -> float:
    """Return the total CPU seconds of all child processes that have ended."""
    used = os.times()
    return used.children_user + used.children_system
