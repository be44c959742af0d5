"""Converts command-line options and arguments of `slowpath.bound` into requests to the engine.

The engine is the Rust library that analyses programs.
"""

import os.path
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from slowpath.bounds.default_target import (
    CALIBRATED,
    CARD,
    MEASURED_WITH_SWITCH,
    SWITCH,
    calibration,
    calibration_file,
    cpu_unlike,
    default_remark,
    default_target,
    nearest_target,
)
from slowpath.bounds.plan import Request
from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.engine import MapsFile, analyses, targets
from slowpath.core.errors import InputError, OptionError
from slowpath.core.inputs import check_page, check_writable, read_pipes_within, read_text
from slowpath.core.programs.selection import Selection
from slowpath.core.programs.sources import Clang, is_p4, is_source
from slowpath.core.schema.derived import metric_words
from slowpath.core.schema.rates import METRICS, Rate, Requirement

DEFAULT_DEADLINE = 60.0
"""Default of `--deadline`: seconds for each program."""
_DESCRIPTIONS = (".yaml", ".yml")
_MOST_ENTRIES = 2**32 - 1


T = TypeVar("T")
V = TypeVar("V")


class WrittenOptions(NamedTuple):
    """The options of an analysis as a user wrote them in a command or call, not yet parsed.

    Fields have the names of the options. `repeat` writes the options in the order of the fields.
    """

    selection: Selection = Selection()
    target: str | None = None
    metric: str | None = None
    cores: int | None = None
    unroll: int | str | None = None
    paths: int | str = 1
    mtu: int | None = None  # bytes of the longest packet; None: the longest that can arrive
    entries: int | str | None = None  # entries in maps, for times in cold caches; None: full maps
    deadline: float | None = None  # seconds for each program; None: the default, 0: none
    total_deadline: float | None = None  # seconds
    memory: int | str | None = None
    assume: str | None = None
    maps: str | None = None
    set: tuple[str, ...] = ()
    map_abi: str | None = None
    receive: str | None = None  # receiving environment; None: any device
    btf: str | None = None
    cflags: tuple[str, ...] = ()
    require: str | None = None
    accept_assumptions: bool = False


def parse_unroll(text: str) -> list[str]:
    """Split the value of `--unroll` into loop limits, each `N` or `N@LOCATION`.

    Raises:
        ValueError: if a limit is malformed.
    """
    pieces = [piece.strip() for piece in text.split(",")]
    for piece in pieces:
        if not _is_loop_limit(piece):
            raise ValueError(
                f"{piece!r} is not a loop limit; write N, or N@LOCATION,... "
                "with locations that slowpath prints, such as 10@filter.c:44"
            )
    return pieces


def _is_loop_limit(piece: str) -> bool:
    """Return true if the text is a loop limit, `N` or `N@LOCATION`."""
    limit, at, place = piece.partition("@")
    named = bool(place) and "@" not in place and len(place.split()) == 1
    return limit.isascii() and limit.isdigit() and (named or not at)


def parse_entries(text: str) -> tuple[int | None, dict[str, int]]:
    """Read the value of `--entries`, such as `1000,flows=5`.

    Return the number of entries in each map (None: not given), and the numbers for named maps.

    Raises:
        ValueError: if the text is malformed.
    """
    every: int | None = None
    named = dict[str, int]()
    for piece in text.split(","):
        name, _, number = piece.strip().rpartition("=")
        is_number = number.isascii() and number.isdigit() and len(number) <= len(str(_MOST_ENTRIES))
        is_number = is_number and 1 <= int(number) <= _MOST_ENTRIES
        if not is_number or name in named or (not name and ("=" in piece or every is not None)):
            raise ValueError(
                f"{piece.strip()!r} is not a number of entries; write N for all maps, from 1 to "
                f"{_MOST_ENTRIES:,}, and NAME=N once for each named map, such as "
                "1000,routes=100000"
            )
        if name:
            named[name] = int(number)
        else:
            every = int(number)
    return every, named


def parse_paths(text: str) -> int | None:
    """Read a number of paths; return None for the text `all`.

    Raises:
        ValueError: if the text is neither a positive number nor `all`.
    """
    if text == "all":
        return None
    if text.isascii() and text.isdigit() and 0 < int(text) < 1 << 64:
        return int(text)
    raise ValueError(f"{text!r} is not a number of paths; write 1 or more, or 'all'")


def choose_metric(metric: str | None, requirement: Requirement | None) -> str | None:
    """Return the metric to guarantee: that of `--metric`, else that of the requirement.

    If neither is given, return None, which stands for the target's first metric.

    Raises:
        ValueError: if both are given and differ.
    """
    if requirement is None:
        return metric
    if metric not in (None, requirement.metric):
        what = "the rate is a" if isinstance(requirement, Rate) else "the limit is for"
        raise ValueError(
            f"{what} {_words(requirement.metric)}, but --metric asks for {_words(metric or '')}; "
            "change one of them"
        )
    return requirement.metric


def _words(metric: str) -> str:
    return {"bitrate": "bit rate", "packetrate": "packet rate"}.get(metric, metric_words(metric))


def check_metric(metric: str | None, target: targets.Target) -> str | None:
    """Return the metric unchanged if it is None, or a rate or count of the target.

    Raises:
        ValueError: if the metric is unknown.
    """
    if metric is None:
        return None
    counters = target.counters
    if metric in (*METRICS, *(counters or [])):
        return metric
    named = targets.target_names()
    others = [n for n in named if metric in (targets.builtin_target(n).counters or [])]
    # Most programs are BPF objects.
    hint = f"; use --target {'ebpf' if 'ebpf' in others else others[0]}" if others else ""
    from slowpath.core.spelling import did_you_mean

    known = counters or METRICS
    hint = hint or did_you_mean(metric, known)
    raise ValueError(
        f"{metric!r} is not a metric of target {target.name}"
        + (hint or f"; it has {', '.join(known)}")
    )


def check_required(requirement: Requirement | None, target: targets.Target) -> None:
    """Check that a target can be compared with a required rate or count.

    Targets that guarantee rates support rates. Targets that guarantee counts support these counts,
    and also packet rates if they estimate times.

    Raises:
        ValueError: if the target does not support the requirement.
    """
    if requirement is None:
        return
    counters = target.counters
    if isinstance(requirement, Rate):
        if target.machine is not None:
            if requirement.metric == "bitrate":
                what = f"target {target.name} estimates only packets per second"
                hint = f"write for example 5Mpps, or use --target {CARD}"
                raise ValueError(f"{what}; {hint}")
        elif counters is not None:
            example = f"'<=4000 {counters[0]}'"
            what = f"target {target.name} counts {' and '.join(counters)}"
            raise ValueError(f"{what}, not rates; write for example {example}")
    elif counters is None:
        raise ValueError(
            f"target {target.name} guarantees rates, not {metric_words(requirement.metric)}; "
            "require a rate such as 10Gbit/s, or use --target ebpf"
        )
    elif requirement.metric not in counters:
        what = f"target {target.name} counts {' and '.join(counters)}"
        raise ValueError(
            f"{what}, not {metric_words(requirement.metric)}; require one of these counts"
        )


def choose_target(name: str) -> targets.Target:
    """Return the built-in target with a name, or the target that a file describes.

    For `linux-xdp`, this machine's calibration is used if it exists, else the shipped target whose
    CPU is most like this machine's.

    Raises:
        ValueError: if the text is not the name of a target and does not look like a file name.
        InputError: if the file cannot be read, or this machine's calibration is invalid.
    """
    return targets.target_of(find_target(name))


def find_target(name: str) -> targets.Description:
    """Return the description of a target, given by its name or by a file.

    `linux-xdp` stands for this machine, as in `choose_target`.

    Raises:
        ValueError: as in `choose_target`.
        InputError: as in `choose_target`.
    """
    names = targets.target_names()
    if name == CALIBRATED:
        text = calibration()
        if text is not None:
            return _calibrated(text)
        nearest = nearest_target().target
        described = targets.target_text(nearest) or ""
        named = described.replace(f'name = "{nearest}"', f'name = "{name}"', 1)
        if named != targets.target_text(name):
            return targets.Description(name, named)
    if name in names:
        return targets.Description(name, None)
    if name.endswith(".toml") or "/" in name:
        return targets.Description(name, read_text(name))
    from slowpath.core.spelling import did_you_mean

    known = f"; choose one of {', '.join(names)}, or name a file that ends in .toml"
    raise ValueError(f"{name!r} is not a target{did_you_mean(name, names) or known}")


def _foreign_cpu(target: str) -> str | None:
    """Return this machine's CPU if the target was calibrated on a CPU of another family, else None.

    Only the targets `linux-xdp` and `dpdk-swx` stand for this machine. Other targets name their
    machine, so that None is returned.
    """
    if target == SWITCH:
        return cpu_unlike(MEASURED_WITH_SWITCH)
    if target != CALIBRATED or calibration() is not None:
        return None
    return nearest_target().foreign_cpu


def _calibrated(text: str) -> targets.Description:
    """Return this machine's calibration as a target description.

    Raises:
        InputError: if the calibration is invalid; the error names its file, because the command
            line does not.
    """
    found = targets.Description(CALIBRATED, text)
    try:
        check_valid(targets.target_of(found), calibration_file())
    except InputError as problem:
        what = "this machine's calibration is invalid; run slowpath calibrate again"
        raise InputError(problem.code, problem.file, f"{problem.reason} ({what})") from None
    return found


def check_valid(target: targets.Target, file: str) -> None:
    """Check that a target description is complete enough for analyses.

    Raises:
        InputError: if it is not; the error describes the first problem.
    """
    if target.max_packet is None:
        raise InputError(codes.TARGET_FILE_INVALID, file, target.problems()[0])


def read_request(files: Sequence[str], written: WrittenOptions) -> Request:
    """Turn the options of a command into a request for analyses.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file that an option names cannot be read.
    """
    requirement = _read_requirement(written)
    name = default_target(files) if written.target is None else written.target
    description = read_option("--target", find_target, name)
    target = targets.target_of(description)
    metric = read_option("--metric", lambda name: check_metric(name, target), written.metric)
    # If the target estimates times, a required rate is compared with the estimate.
    if target.machine is None or not isinstance(requirement, Rate):
        metric = read_option(
            "--require",
            lambda name: choose_metric(name, requirement),
            metric,
            codes.METRIC_NOT_COMPARABLE,
        )
    read_option(
        "--require",
        lambda required: check_required(required, target),
        requirement,
        codes.METRIC_NOT_COMPARABLE,
    )
    total = read_option("--total-deadline", check_deadline, written.total_deadline)
    until = None if total is None else time.monotonic() + total
    foreign_cpu = None if target.machine is None else _foreign_cpu(name)
    options = read_options(written)._replace(metric=metric, foreign_cpu=foreign_cpu)
    if options.maps is not None and target.runs_pipelines and any(map(is_p4, files)):
        reason = (
            f"target {target.name} guarantees costs for all entries of tables; omit the option, or "
            "write the entries with slowpath compile --to swx --maps"
        )
        raise OptionError(codes.OPTION_WITHOUT_EFFECT, "--maps", reason)
    if options.maps is not None and written.maps is not None and len(files) == 1:
        maps = MapsFile(written.maps, options.maps)
        options = options._replace(maps=_maps_of(files[0], written.cflags, maps))
    named = {"--target": target.name, "--assume": written.assume, "--maps": written.maps}
    return Request(
        files=files,
        selection=written.selection,
        clang=Clang(written.cflags, options.deadline_seconds, until, options.memory_bytes),
        target=target,
        description=description,
        options=options,
        btf=written.btf,
        until=until,
        requirement=requirement,
        accept_assumptions=written.accept_assumptions,
        reproduce=repeat(written, target),
        remark=default_remark(files) if written.target is None else None,
        option_files={option: name for option, name in named.items() if name is not None},
    )


def _maps_of(file: str, flags: Sequence[str], maps: MapsFile) -> str:
    """Return the content of `--maps`. For a P4 program, convert table entries to map content.

    Raises:
        InputError: if an entry or the program has a fault.
    """
    if not file.endswith(".p4"):
        return maps.text
    from slowpath.core.programs.p4 import maps_of

    return maps_of(file, flags, maps)


def read_options(written: WrittenOptions) -> analyses.Options:
    """Convert the options of a command to options of the engine: parse texts, and read named files.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file that an option names cannot be read.
    """
    unroll, memory = written.unroll, written.memory
    deadline = read_option("--deadline", parse_deadline, written.deadline)
    read_pipes_within(deadline)
    every, named = None, dict[str, int]()
    if written.entries is not None:
        every, named = read_option("--entries", parse_entries, str(written.entries))
    read = {
        "entries": every,
        "entries_of": named,
        "unroll": [] if unroll is None else read_option("--unroll", parse_unroll, str(unroll)),
        "paths": read_option("--paths", parse_paths, str(written.paths)),
        "deadline_seconds": deadline,
        "memory_bytes": None
        if memory is None
        else read_option("--memory", parse_memory, str(memory)),
        "assume": None if written.assume is None else read_text(written.assume),
        "maps": None if written.maps is None else read_text(written.maps),
        "set": list(written.set),
    }
    plain = {name: v for name, v in written._asdict().items() if name in analyses.Options._fields}
    return analyses.Options(**(plain | read))


def _read_requirement(written: WrittenOptions) -> Requirement | None:
    """Read the requirement of `--require`.

    Raises:
        OptionError: if it is invalid, or `--accept-assumptions` is given without it.
    """
    if written.require is None:
        if written.accept_assumptions:
            reason = "needs --require"
            raise OptionError(codes.OPTION_NEEDS_OPTION, "--accept-assumptions", reason)
        return None
    from slowpath.bounds.requirement import parse_requirement

    return read_option("--require", parse_requirement, written.require)


_CODES = {
    **dict.fromkeys(("--target", "NAME"), codes.UNKNOWN_TARGET),
    "--metric": codes.UNKNOWN_METRIC,
    **dict.fromkeys(("--require", "--fail-on"), codes.INVALID_REQUIREMENT),
    **dict.fromkeys(("--html", "--output", "--pcap-out", "--plot"), codes.OUTPUT_IS_INPUT),
    "--fact": codes.INVALID_FACTS,
}
"""For some options, the code of an error that is more specific than `INVALID_VALUE`."""


def read_option(option: str, read: Callable[[V], T], value: V, code: Code | None = None) -> T:
    """Convert an option's value with `read`.

    Its errors become errors of the option, with `code` if given.

    Raises:
        OptionError: if `read` raises a ValueError; the error names the option.
    """
    try:
        return read(value)
    except ValueError as problem:
        code = code or _CODES.get(option, codes.INVALID_VALUE)
        raise OptionError(code, option, str(problem)) from None


def parse_deadline(seconds: float | None) -> float | None:
    """Return the deadline of one program in seconds; None means no deadline.

    The argument None stands for the default deadline, and 0 for no deadline.

    Raises:
        ValueError: if the deadline is invalid.
    """
    if seconds == 0:
        return None
    return DEFAULT_DEADLINE if seconds is None else check_deadline(seconds)


def parse_memory(size: str) -> int:
    """Return the memory limit of an analysis in bytes.

    Raises:
        ValueError: if the text is not a valid size.
    """
    from slowpath.core.jobs.memory import parse_size

    return parse_size(size)


def memory_or_share(size: int | str | None) -> int | None:
    """Return the memory limit in bytes; for None, the default share of free memory.

    Raises:
        OptionError: if the text is not a valid size.
    """
    from slowpath.core.jobs.memory import default_limit

    return default_limit() if size is None else read_option("--memory", parse_memory, str(size))


def check_deadline(seconds: float | None) -> float | None:
    """Check that a deadline, if given, is positive and finite, and return it.

    Raises:
        ValueError: if it is not.
    """
    if seconds is None or 0 < seconds < float("inf"):
        return seconds
    raise ValueError("a deadline must be positive, such as 10s")


def parse_cflags(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Split flags for clang as a shell would.

    `files` are the files of the command. Descriptions of chains and topologies count as sources,
    because they can name C files.

    Raises:
        ValueError: if a quotation is open, or no file is C or P4 source.
    """
    import shlex

    if not any(is_source(file) or file.endswith(_DESCRIPTIONS) for file in files):
        raise ValueError("no file is a C or P4 source, so the option has no effect; omit it")
    return tuple(shlex.split(text))


def join_flags(flags: Sequence[str]) -> str:
    """Join flags for clang into an option value that `parse_cflags` can read."""
    import shlex

    return shlex.join(flags)


def check_not_a_program(output: str, files: Sequence[str]) -> None:
    """Check that a command would not overwrite one of its programs with its output.

    This happens if the user forgets the value of an option, so that a program takes its place.

    Raises:
        ValueError: if `output` is one of the programs.
    """
    for file in files:
        if os.path.exists(output) and os.path.exists(file) and os.path.samefile(output, file):
            raise ValueError(
                f"{output!r} is the program {file} and would be overwritten; name another file"
            )


def check_page_file(file: str, files: Sequence[str]) -> None:
    """Check that the file of `--html` is new or an earlier page, and can be written.

    Raises:
        OptionError: if it is one of the programs, or has another extension.
        InputError: if it cannot be written.
    """
    check_page(file)
    read_option("--html", lambda path: check_not_a_program(path, files), file)
    check_writable(file)


def repeat(written: WrittenOptions, target: targets.Target) -> list[str]:
    """Return command-line options that repeat the analysis of one program on a target.

    They include the maximum packet length, because a later version of the target may have another
    one. The caller adds target and metric. The total deadline of all programs is left out.
    """
    if written.mtu is None and target.counters is None:
        written = written._replace(mtu=target.max_packet)
    words = written.selection.words()
    fields = zip(written._fields, written, WrittenOptions(), strict=True)
    for name, value, default in fields:
        if name in {"selection", "target", "metric", "total_deadline"}:
            continue
        if name == "set":
            words += [word for text in written.set for word in ("--set", text)]
        elif str(value) != str(default):
            words += _repeated(f"--{name.replace('_', '-')}", value)
    return words


def _repeated(option: str, value: object) -> list[str]:
    match value:
        case True:
            return [option]
        case float():
            return [option, f"{value:g}"]
        case tuple():
            return [option, join_flags(value)]
    return [option, str(value)]
