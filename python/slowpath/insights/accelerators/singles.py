"""Tries to prove which algorithm a single function computes.

If no proof is found, this module states the reason for the report.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from slowpath.core.terminal import first_few
from slowpath.insights.accelerators.candidates import is_substantial, looks_up, undefined_callees
from slowpath.insights.accelerators.library_calls import LibraryUse, credited_function
from slowpath.insights.accelerators.proofs.block_ciphers import (
    direct_attempts,
    number_attempts,
    schedule_attempts,
)
from slowpath.insights.accelerators.proofs.crc import prove_crc
from slowpath.insights.accelerators.proofs.digests import block_attempts, prove_whole
from slowpath.insights.accelerators.proofs.harness import (
    MOST_PARAMETERS,
    Bench,
    BoundFunction,
    Interpretation,
    Slot,
    interpretations,
    number_for,
    polynomials,
    sized_interpretations,
)
from slowpath.insights.accelerators.proofs.hashes import keyed_attempts, prove_hash
from slowpath.insights.accelerators.proofs.oracles import Oracle, digest_oracles
from slowpath.insights.accelerators.proofs.reference_sums import reverse
from slowpath.insights.accelerators.proofs.routing import entries_attempts
from slowpath.insights.accelerators.proofs.step_oracles import (
    Stepping,
    step_oracles,
    steppings,
    table_oracles,
    words_oracles,
)
from slowpath.insights.accelerators.proofs.stream_ciphers import (
    cipher_attempts,
    core_attempts,
    rc4_attempts,
)
from slowpath.insights.accelerators.proofs.sums import prove_sum, prove_update
from slowpath.insights.source.functions import Function
from slowpath.insights.source.sources import is_framework
from slowpath.insights.trials import Attempt

_BULK_NAME = re.compile("bulk|burst|multi|x[248]$", re.IGNORECASE)
"""Names of library functions that look up several items in one call."""
_FEW = 3
"""Maximum number of functions that a reason names."""
_NO_REFERENCE = "the results of the function agree with no known accelerator"
_BULK = "the function looks up several keys at once, which slowpath does not examine"
_FRAMEWORK = "the function needs packets, ports or tables, which do not exist when it runs alone"
_GIVEN_UP = (
    "slowpath stopped examining the function, because calls took too long or too many calls crashed"
)


def unproved_reason(
    functions: Mapping[str, Function], name: str, refused: str | None, known: frozenset[str]
) -> str:
    """Return the reason why the algorithm of the function `name` is not proved, for a report.

    `refused` is the reason why the function cannot be run; None if it can. `known` are the symbols
    of the functions that the module defines.
    """
    return _cannot(functions, name, refused, known) or _NO_REFERENCE


def incomplete_reason(
    functions: Mapping[str, Function],
    name: str,
    refused: str | None,
    known: frozenset[str],
    hopeless: Collection[str],
) -> str | None:
    """Return the reason why some attempts to prove the algorithm of a function did not run.

    `refused` is the reason why the function cannot be run; None if it can. `known` are the defined
    functions. `hopeless` are functions whose attempts were given up after too many crashes or too
    much time.

    Return None if all attempts ran, or if the function does little work. The work of inline
    assembly is unknown, so a function with inline assembly never counts as doing little work.
    """
    if not is_substantial(functions[name]) and functions[name].assembly is False:
        return None
    reason = _cannot(functions, name, refused, known)
    return _GIVEN_UP if reason is None and name in hopeless else reason


def unproved_lookup(
    function: Function, refused: str | None, uses: Sequence[LibraryUse], proved: Collection[str]
) -> str | None:
    """Return the reason why a library function for lookups was not proved to be replaceable.

    `refused` is the reason why the function cannot be run, `uses` are all uses of library
    functions, and `proved` are the replaceable functions. Return None if the function was proved,
    or is not a lookup.
    """
    calls = [use for use in uses if function.name in use.symbols]
    if not looks_up(function) or all(credited_function(use, proved) is not None for use in calls):
        return None
    if refused is not None:
        return f"the function was not run: {refused}"
    return _BULK if _BULK_NAME.search(function.shown) else _NO_REFERENCE


def _cannot(
    functions: Mapping[str, Function], name: str, refused: str | None, known: frozenset[str]
) -> str | None:
    """Return the reason why the function `name` cannot be run alone; None if no reason is known.

    `refused` is a reason found earlier, and `known` are the symbols of the defined functions.
    """
    if refused is not None:
        return f"the function was not run: {refused}"
    count = len(functions[name].parameters)
    if count > MOST_PARAMETERS:
        return f"the function takes {count} arguments; slowpath tries at most {MOST_PARAMETERS}"
    missing = undefined_callees(functions, name, known)
    others = [one for one in missing if not is_framework(one)]
    if others:
        return f"the function calls {first_few(others, _FEW)}, without a definition in the source"
    return _FRAMEWORK if missing else None


_NUMBER = re.compile(r"(?<![\w%.@-])(-?\d{3,})\b")
_MOST_NUMBERS = 24


def attempts(bench: Bench, name: str) -> list[Attempt]:
    """Return all attempts to prove the algorithm of the function `name`, in the order of running.

    An attempt calls the function and returns a description of the algorithm, or None.
    """
    function = bench.functions[name]
    numbers = constants(function)
    return [
        *(partial(_digest, bench, name, one, numbers) for one in interpretations(function)),
        *(partial(_step, bench, name, one, numbers) for one in steppings(function)),
        partial(_words, bench, name, numbers),
        partial(_table, bench, name),
        partial(prove_update, bench, name),
        *chain(
            block_attempts(bench, name),
            keyed_attempts(bench, name),
            direct_attempts(bench, name),
            number_attempts(bench, name),
            core_attempts(bench, name),
            schedule_attempts(bench, name),
            cipher_attempts(bench, name),
            rc4_attempts(bench, name, name),
            entries_attempts(bench, name),
        ),
        *(partial(_sized, bench, name, one) for one in sized_interpretations(function)),
        *(
            partial(_of_text, bench, name, one, numbers)
            for one in interpretations(function)
            if one.extent == "length"
        ),
        *(
            partial(_blank, bench, name, one)
            for one in interpretations(function)
            if _may_have_register(one)
        ),
    ]


def constants(function: Function) -> tuple[int, ...]:
    """Return the constants in a function's code that may be seeds of hash functions."""
    found = dict[int, None]()
    for block in function.blocks:
        for instruction in block.instructions:
            for text in _NUMBER.findall(instruction.text):
                found[int(text) & 0xFFFFFFFFFFFFFFFF] = None
    return tuple(found)[:_MOST_NUMBERS]


def _digest(
    bench: Bench, name: str, reading: Interpretation, numbers: tuple[int, ...]
) -> dict[str, Any] | None:
    bound = BoundFunction(bench, name, reading.binding)
    found = _first(digest_oracles(bound, reading), numbers) or prove_whole(bound, reading)
    named = polynomials(bench.functions[name])
    if found is None or found["kind"] != "crc" or not named:
        return found
    return _with_polynomial(bench, name, reading, found, named[0])


def _sized(bench: Bench, name: str, reading: Interpretation) -> dict[str, Any] | None:
    """Test whether a function computes a digest (such as BLAKE2) whose size is an argument.

    Return a description of the digest, or None. `reading` assigns roles to the parameters.
    """
    return prove_whole(BoundFunction(bench, name, reading.binding), reading)


def _of_text(
    bench: Bench, name: str, reading: Interpretation, numbers: tuple[int, ...]
) -> dict[str, Any] | None:
    """Test whether a function computes a hash of a text that ends with a zero byte.

    Return a description of the hash, or None. `reading` assigns roles to the parameters, and
    `numbers` are constants in the code that may be seeds.
    """
    for oracle in digest_oracles(BoundFunction(bench, name, reading.binding), reading):
        oracle.text = True
        found = prove_hash(oracle, numbers)
        if found is not None:
            found["parameters"]["data"] = "without zero bytes"
            return _with_result_location(found, oracle)
    return None


def _blank(bench: Bench, name: str, reading: Interpretation) -> dict[str, Any] | None:
    """Test whether a function updates a CRC register in memory that starts as zero.

    Return a description of the CRC, or None. `reading` assigns roles to the parameters.
    """
    bound = BoundFunction(bench, name, reading.binding, blank=True)
    for oracle in digest_oracles(bound, reading):
        found = prove_crc(oracle)
        if found is not None:
            return _with_result_location(found, oracle)
    return None


def _may_have_register(reading: Interpretation) -> bool:
    """Return true if a function may take a CRC register in memory, given the roles in `reading`."""
    return reading.extent == "length" and any(one.role == "memory" for one in reading.binding)


def _with_polynomial(
    bench: Bench, name: str, reading: Interpretation, found: dict[str, Any], at: int
) -> dict[str, Any] | None:
    """Test whether argument `at` of a CRC function is the polynomial.

    For this, the function must compute the CRC with a second polynomial, too. `found` describes the
    CRC with the first one. Return a corrected description, or None if the test fails.
    """
    parameter = bench.functions[name].parameters[at]
    other = number_for(parameter, 0, choice=1)
    binding = list(reading.binding)
    first, binding[at] = binding[at].value, Slot("number", other)
    changed = reading._replace(binding=tuple(binding))
    second = _first(digest_oracles(BoundFunction(bench, name, changed.binding), changed), ())
    values = [int(one["parameters"]["polynomial"], 16) for one in (found, second) if one]
    width = int(found["parameters"]["width"])
    argument = parameter.described.name if parameter.described else ""
    if values == [first, other]:
        shown = argument
    elif values == [reverse(one & (1 << width) - 1, width) for one in (first, other)]:
        shown = f"{argument}, with its bits in reverse order"
    else:
        return None
    parameters = {**found["parameters"], "polynomial": shown}
    return {**found, "algorithm": f"CRC-{width}", "parameters": parameters}


def _step(
    bench: Bench, name: str, stepping: Stepping, numbers: tuple[int, ...]
) -> dict[str, Any] | None:
    return _first(step_oracles(bench, name, stepping), numbers, sums=False)


def _words(bench: Bench, name: str, numbers: tuple[int, ...]) -> dict[str, Any] | None:
    """Test whether a function computes a hash of several numeric arguments.

    Return a description of the hash, or None. `numbers` are constants in the code that may be
    seeds.
    """
    tried = (prove_hash(oracle, numbers) for oracle in words_oracles(bench, name))
    return next((found for found in tried if found is not None), None)


def _table(bench: Bench, name: str) -> dict[str, Any] | None:
    for oracle in table_oracles(bench, name):
        found = prove_crc(oracle)
        if found is not None:
            return found | {"algorithm": f"{found['algorithm']} table"}
    return None


def _first(
    oracles: Iterator[Oracle], numbers: tuple[int, ...], *, sums: bool = True
) -> dict[str, Any] | None:
    for oracle in oracles:
        found = prove_crc(oracle) or (prove_sum(oracle) if sums else None)
        found = found or prove_hash(oracle, numbers)
        if found is not None:
            return _with_result_location(found, oracle)
    return None


def _with_result_location(found: dict[str, Any], oracle: Oracle) -> dict[str, Any]:
    """Return a description with the location of the result added, unless it is the return value.

    `found` describes the algorithm of the function that `oracle` calls.
    """
    if oracle.result:
        found["parameters"]["result"] = oracle.result
    return found
