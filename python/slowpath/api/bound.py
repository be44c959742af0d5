"""`slowpath.bound(...)`: what the command of that name does, for Python."""

import os
from collections.abc import Callable, Sequence
from typing import Literal

from slowpath.analysis.analyst import Audience
from slowpath.analysis.options import (
    DEFAULT_DEADLINE,
    WrittenOptions,
    read_request,
)
from slowpath.analysis.progress import Watcher
from slowpath.analysis.session import Session
from slowpath.api.results import Program, Results
from slowpath.engine.analyses import Progress, Run
from slowpath.programs.selection import Selection
from slowpath.schema.results import DESCRIBED_PATHS
from slowpath.work.stopping import heeding_signals

File = str | os.PathLike[str]
OnProgress = Callable[[str, Progress], None]
"""Is told the label of a program and how far its analysis is, ten times a second."""


def bound(  # noqa: PLR0913 - one for each option of the command
    *files: File,
    section: str | Sequence[str] = (),
    prog_name: str | Sequence[str] = (),
    cflags: Sequence[str] = (),
    target: str | None = None,
    metric: str | None = None,
    cores: int | None = None,
    require: str | None = None,
    accept_assumptions: bool = False,
    unroll: int | str | None = None,
    paths: int | Literal["all"] = 1,
    mtu: int | None = None,
    entries: int | None = None,
    deadline: float | None = DEFAULT_DEADLINE,
    total_deadline: float | None = None,
    memory: int | str | None = None,
    assume: File | None = None,
    maps: File | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the name of the option
    map_abi: str | None = None,
    receive: str | None = None,
    btf: File | None = None,
    progress: OnProgress | None = None,
) -> Results:
    """Guarantees how fast programs are: finds the slowest path that any packet can take.

    Args:
        files: BPF objects (`*.bpf.o`), C sources, which clang compiles, and NFP listings.
        section: globs on sections of objects, such as `xdp*`; by default every XDP program.
        prog_name: globs on names of programs.
        cflags: flags for clang.
        target: the device: the name of a built-in one, or the file of a description (`*.toml`); by
            default `linux-xdp`, a server, and `agilio-cx-2x40` where a file is a listing.
        metric: what is guaranteed: `bitrate`, `packetrate`, or what the target counts.
        cores: how many cores of the device; by default all.
        require: a rate or count to hold the guarantees against; see `Program.met`.
        accept_assumptions: lets `require` be met where limits of loops cut them short.
        unroll: the limit of loops whose limit is not known, or `N@FILE:LINE,...`.
        paths: how many of the slowest satisfiable paths.
        mtu: bytes of the longest packet, Ethernet header included, frame check sequence not; by
            default what `receive` delivers, on a SmartNIC what the target says.
        entries: of each map that has room for so many, for estimates of times; by default one.
        deadline: seconds for each program; None: no limit.
        total_deadline: seconds for all of them.
        memory: bytes for each analysis, or `500M`, `2G`; by default half of what is free.
        assume: a file with prices and values that are assumed (TOML).
        maps: a file with the content of maps (JSON).
        set: values of variables that a loader sets: `NAME=VALUE`, or `NAME=any`.
        map_abi: how programs on the card reach maps: `array-pointer` or `call`.
        receive: how packets arrive at programs in a kernel: `any`, `native-page`, `veth`,
            `generic`, `test-run`, or numbers (`head=0..216,length=60..1514`); by default as on any
            device.
        btf: a file with the types of the kernel; by default those of the running one.
        progress: is called while programs are analysed.

    Returns:
        One result for each program, also of those that could not be analysed (`Program.error`).

    Raises:
        OptionError: when an option makes no sense; it names the option of the command.
        InputError: when a file that an option names cannot be read.
        KeyboardInterrupt: on a second Ctrl-C; after the first one, results have what is known by
            then.
    """
    written = WrittenOptions(
        selection=Selection(_words(section), _words(prog_name)),
        cflags=_words(cflags),
        target=target,
        metric=metric,
        cores=cores,
        require=require,
        accept_assumptions=accept_assumptions,
        unroll=unroll,
        paths=paths,
        mtu=mtu,
        entries=entries,
        deadline=0 if deadline is None else deadline,
        total_deadline=total_deadline,
        memory=memory,
        assume=_path(assume),
        maps=_path(maps),
        set=_words(set),
        map_abi=map_abi,
        receive=receive,
        btf=_path(btf),
    )
    request = read_request([os.fspath(file) for file in files], written)
    session = Session(request)
    options = request.options._replace(path_details=DESCRIBED_PATHS)
    with heeding_signals() as stopping:
        audience = Audience(stopping, lambda label, *_: _Told(label, progress))
        return Results([Program(each, request) for each in session.analyse(audience, options)])


class _Told(Watcher):
    """Tells whoever wants to know how far an analysis is."""

    def __init__(self, label: str, progress: OnProgress | None) -> None:
        self._label = label
        self._progress = progress

    def look(self, run: Run) -> None:
        """As `Watcher` has it."""
        if self._progress is not None:
            self._progress(self._label, run.news)


def _words(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _path(file: File | None) -> str | None:
    return None if file is None else os.fspath(file)
