"""Runs the command `slowpath contention train`."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slowpath.contention.options import quiet_libraries, read_recipe
from slowpath.contention.profiling.folder import Declared, declared_by
from slowpath.core import codes
from slowpath.core.command import STANDARD_OUTPUT
from slowpath.core.errors import Coded, ExitCode, InputError, OptionError
from slowpath.core.extras import need_contention
from slowpath.core.formats import Reporter, warn
from slowpath.core.inputs import check_output, write_text
from slowpath.core.terminal import out

if TYPE_CHECKING:
    from slowpath.contention.columns import MemoryProfile, Mixes
    from slowpath.contention.model import FunctionModel, Pattern, Profiles, Reason


_HAVE = {
    "accelerator": "request times",
    "contention": "contention that the function causes",
    "mixes": "mixes with clients of an accelerator",
}
_COMPLETION = "run-to-completion"


def train(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run the command `slowpath contention train`: train a model on tables, and write it.

    Raises:
        InputError: if a table cannot be used, or the model cannot be written.
        OptionError: if an option has a wrong value.
    """
    need_contention()
    from slowpath.contention.saved import written

    tables = tables_of(given.table)
    check_output("--output", given.output, tables)
    declared = declared_by(given.table)
    with quiet_libraries():
        model = learned(tables, given, declared)
    warnings = [*_warnings(model, declared)]
    if given.output == STANDARD_OUTPUT:
        out(written(model, warnings))
        warn(warnings)
    else:
        if given.output is not None:
            write_text(given.output, written(model, warnings) + "\n")
        reporter.write(model, warnings, warnings=warnings)
    return ExitCode.FINE


def _warnings(model: "FunctionModel", declared: "Declared | None") -> Iterator[Coded]:
    """Yield a warning if the evidence for the execution pattern is contradictory or missing.

    `declared` is the pattern in the record of the profile; None if it has none.
    """
    reason = model.pattern_reason
    if reason is None:
        return
    found = None if reason.detected is None else reason.detected.pattern
    if reason.source == "given":
        if found not in (None, model.pattern):
            yield Coded(
                codes.PATTERN_UNCERTAIN, f"{_detection(reason)}, contrary to the option --pattern"
            )
    elif found is not None and declared is not None and found != declared.pattern:
        text = (
            f"the record declares the pattern {declared.pattern}, but {_detection(reason)}; "
            "training uses the latter"
        )
        yield Coded(codes.PATTERN_UNCERTAIN, f"{declared.file}: {text}; set it with --pattern")
    elif reason.source == "assumed" and model.request_time is not None:
        yield Coded(
            codes.PATTERN_UNCERTAIN,
            f"{model.memory.origin.files[0]}: the execution pattern is unknown, so "
            f"{model.pattern} is assumed; set it with --pattern",
        )


def _detection(reason: "Reason") -> str:
    """Return a text with the detected execution pattern and its confidence; empty without one."""
    found = reason.detected
    if found is None:
        return ""
    return (
        f"{found.co_runs} mixes indicate {found.pattern} ({100 * found.confidence:.0f} % "
        "confidence)"
    )


def tables_of(names: Sequence[str]) -> list[str]:
    """Return the named files. A folder of `slowpath contention profile` stands for its tables.

    Raises:
        InputError: if a folder has no tables.
    """
    from slowpath.contention.profiling.folder import TABLES

    found = list[str]()
    for name in names:
        if not Path(name).is_dir():
            found.append(name)
            continue
        inside = [str(Path(name) / table) for table in TABLES if (Path(name) / table).is_file()]
        if not inside:
            raise InputError(
                codes.NOT_A_PROFILE,
                name,
                f"the folder lacks the tables of a profile: {', '.join(TABLES)}",
            )
        found += inside
    return found


def learned(
    tables: Sequence[str], given: Namespace, declared: Declared | None = None
) -> "FunctionModel":
    """Train a model on tables. The columns of each table determine its kind.

    `given` are the options, `declared` is the execution pattern in the profile's record.

    Raises:
        InputError: if a table cannot be used, or two tables are of the same kind.
        OptionError: if an option has a wrong value.
    """
    from slowpath.contention.accelerators import fit_request_time
    from slowpath.contention.memory.recipes import RECIPES
    from slowpath.contention.methods import widening
    from slowpath.contention.model import choose, learn
    from slowpath.contention.options import interruptible
    from slowpath.contention.prediction import choose_pattern, detect_pattern

    profiles, mixes = _measured(tables)
    memory = profiles.memory
    if profiles.accelerator is not None:
        _check_match_ratio(memory, given.pattern, declared)
        # Report errors in request times before the slow choice of the model.
        fit_request_time(profiles.accelerator)
    recipe = None if given.recipe is None else RECIPES[read_recipe(given.recipe)]
    with interruptible("training") as line:
        choice = choose(memory, recipe, line.show)
    model = learn(profiles, choice, queues=given.queues or 1)
    found = None if mixes is None else detect_pattern(model, mixes)
    by_profile = None if declared is None else declared.pattern
    pattern, reason = choose_pattern(given.pattern, by_profile, found)
    model = model._replace(pattern=pattern, pattern_reason=reason)
    return model if mixes is None else model._replace(widening=widening(model, mixes))


def _measured(tables: Sequence[str]) -> "tuple[Profiles, Mixes | None]":
    """Read tables: the profiles of single resources, and the mixes with several competitors.

    Raises:
        InputError: if a table cannot be used, or two tables are of the same kind.
    """
    from slowpath.contention import reading
    from slowpath.contention.accelerators import co_runs_of
    from slowpath.contention.model import Profiles
    from slowpath.contention.reading import read_mixes

    kinds = {file: reading.kind_of(file) for file in dict.fromkeys(tables)}
    memory_files = [file for file in tables if kinds[file] == "memory"]
    if not memory_files:
        others = ", ".join(f"{file} has {_HAVE[kinds[file]]}" for file in tables)
        reason = f"no table has a column 'throughput' with competitors for memory: {others}"
        raise InputError(codes.NOT_A_PROFILE, tables[0], reason)
    memory = reading.read_memory(memory_files)
    found, mixes = Profiles(memory), None
    by_kind = dict[str, str]()
    for file, kind in kinds.items():
        if kind in by_kind:
            raise InputError(
                codes.FILE_NAMED_TWICE,
                file,
                f"the table is of the same kind as {by_kind[kind]}; name only one of them",
            )
        if kind == "accelerator":
            found = found._replace(accelerator=reading.read_accelerator(file, memory.origin))
        elif kind == "contention":
            own = reading.read_own_contention(file, memory.origin)
            reading.check_columns(own, memory)
            found = found._replace(contention=own)
        elif kind == "mixes":
            mixes = read_mixes(file, memory)
            found = found._replace(co_runs=co_runs_of(mixes))
        if kind != "memory":
            by_kind[kind] = file
    return found, mixes


def _check_match_ratio(
    memory: "MemoryProfile", given: "Pattern | None", declared: Declared | None
) -> None:
    """Check that the memory profile states the match ratio if the execution pattern needs it.

    Raises:
        InputError, OptionError: if run-to-completion is declared or given, and the ratio unknown.
    """
    if memory.origin.mtbr is not None:
        return
    reason = "needs the match ratio of the memory rows; write `# mtbr: N` above them"
    if given == _COMPLETION:
        raise OptionError(codes.PROFILE_INSUFFICIENT, "--pattern", f"{given} {reason}")
    if given is None and declared is not None and declared.pattern == _COMPLETION:
        raise InputError(
            codes.PROFILE_INSUFFICIENT,
            declared.file,
            f"the record declares {_COMPLETION}, which {reason}",
        )
