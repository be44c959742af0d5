"""The command line: commands, their options and help texts.

Nothing heavy is imported before a command runs, so that `--help` is quick.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from slowpath.cli_failures import failures_told
from slowpath.cli_objects import compile_object, show_objects
from slowpath.cli_options import (
    Assume,
    Cores,
    Deadline,
    KernelTypes,
    MapAbi,
    Maps,
    Metric,
    Mtu,
    Names,
    Sections,
    Target,
    Unroll,
)
from slowpath.cli_targets import targets_app

app = typer.Typer(
    name="slowpath",
    help="How fast is a packet-processing program guaranteed to run on a device, and which "
    "packet makes it slowest?",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from slowpath import engine

        typer.echo(f"slowpath {engine.version()}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command()
def bound(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="BPF objects (*.bpf.o) and NFP listings (*.asm)."),
    ],
    section: Sections = None,
    prog_name: Names = None,
    target: Target = None,
    metric: Metric = None,
    cores: Cores = None,
    unroll: Unroll = None,
    paths: Annotated[
        str, typer.Option(metavar="K|all", help="Report the K slowest satisfiable paths.")
    ] = "1",
    mtu: Mtu = 1500,
    deadline: Deadline = None,
    require: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Fail unless this rate is guaranteed: 40Gbit/s, 10Mpps."),
    ] = None,
    assume: Assume = None,
    maps: Maps = None,
    map_abi: MapAbi = None,
    btf: KernelTypes = None,
    form: Annotated[
        Literal["table", "json", "csv"],
        typer.Option("--format", help="Format of the output; json and csv are stable."),
    ] = "table",
    pcap: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the witness packets of all reported paths."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Add the path's instructions and statistics.")
    ] = False,
) -> None:
    """Guarantee a throughput: find the slowest path that any packet can take.

    Of objects, every XDP program is analysed as it runs on the target: compiled for it, as its
    driver does; with --target ebpf, instruction by instruction. Several programs give one row each,
    and a failure does not stop the rest. Ctrl-C ends with the bound reached so far.

    Exit codes: 0 fine, 1 --require not met, 2 wrong usage, 3 a file cannot be read, written or
    analysed, 4 stopped before --require was decided or before there was a bound. The worst of
    several files is the first of 3, 1, 4, 0.
    """
    from slowpath.bound import run
    from slowpath.options import Typed, make_job
    from slowpath.selection import Selection

    chosen = Selection(tuple(section or ()), tuple(prog_name or ()))
    typed = Typed(
        target,
        metric,
        cores,
        unroll,
        paths,
        mtu,
        deadline,
        require,
        assume,
        maps,
        map_abi,
        btf,
        chosen,
    )
    with failures_told(context):
        code = run(make_job(files, typed, form, pcap, verbose=verbose))
    raise typer.Exit(code)


@app.command()
def annotate(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="BPF objects (*.bpf.o) and NFP listings (*.asm)."),
    ],
    section: Sections = None,
    prog_name: Names = None,
    target: Target = None,
    metric: Metric = None,
    cores: Cores = None,
    unroll: Unroll = None,
    mtu: Mtu = 1500,
    deadline: Deadline = None,
    assume: Assume = None,
    maps: Maps = None,
    map_abi: MapAbi = None,
    btf: KernelTypes = None,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Show the instructions below each source line.")
    ] = False,
    form: Annotated[
        Literal["table", "json"],
        typer.Option("--format", help="Format of the output; json is stable."),
    ] = "table",
) -> None:
    """Show where the slowest path spends its time: every source line with its cost.

    Of objects with debug information it shows the source, else the instructions. Lines that only
    the source file has are read from it where it is there, under the name that the object has for
    it or beside the object, and agrees with the object.

    Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or analysed, 4 stopped before there
    was a bound.
    """
    from slowpath.annotate import Wanted, annotate
    from slowpath.options import Typed, make_work
    from slowpath.selection import Selection

    chosen = Selection(tuple(section or ()), tuple(prog_name or ()))
    typed = Typed(
        target=target,
        metric=metric,
        cores=cores,
        unroll=unroll,
        mtu=mtu,
        deadline=deadline,
        assume=assume,
        maps=maps,
        map_abi=map_abi,
        btf=btf,
        selection=chosen,
    )
    with failures_told(context):
        code = annotate(make_work(files, typed), Wanted(form, instructions))
    raise typer.Exit(code)


@app.command()
def diff(
    context: typer.Context,
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD", help="An object, a listing, or the output of bound --format json."
        ),
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another one, to compare with it.")],
    section: Sections = None,
    prog_name: Names = None,
    target: Target = None,
    metric: Metric = None,
    cores: Cores = None,
    unroll: Unroll = None,
    mtu: Mtu = 1500,
    deadline: Deadline = None,
    assume: Assume = None,
    maps: Maps = None,
    map_abi: MapAbi = None,
    btf: KernelTypes = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            "-f",
            metavar="EXPR",
            help="Show only programs that one of these fits: 'bitrate_pct < -5', "
            "'verdict_b == bound', a glob on names such as 'lb_*'; with ! in front, none of them.",
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,...",
            help="Order of the programs; ^ behind a column: ascending, v: descending, |COLUMN|: "
            "by magnitude.",
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="EXPR",
            help="Exit with 1 if this holds for a program, or cannot be told because a value is "
            "N/A: 'bitrate_pct < -5'. All programs count, shown or not.",
        ),
    ] = None,
    lines: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="So many lines that got dearer, and cheaper, per program."
        ),
    ] = 10,
    form: Annotated[
        Literal["table", "json", "csv", "markdown"],
        typer.Option("--format", help="Format of the output; json and csv are stable."),
    ] = "table",
) -> None:
    """Show what a change did to the guarantees: of every program, and line by line.

    Programs are matched by name; if there is one on either side, these are compared whatever they
    are called. Columns are named as in veristat's comparisons: _a is OLD, _b is NEW, _diff is
    b - a, _pct is 100 (b - a) / a; without a suffix, _b is meant. N/A stands for what a side does
    not have. Saved results are taken as they are: options of the analysis mean nothing to them.

    Exit codes: 0 fine, 1 --fail-on holds, 2 wrong usage, 3 a file cannot be read, or a program of
    NEW not be analysed, 4 stopped before there was a bound.
    """
    from slowpath.diff import Wanted, diff
    from slowpath.diff_sides import Sides
    from slowpath.options import Typed
    from slowpath.selection import Selection

    chosen = Selection(tuple(section or ()), tuple(prog_name or ()))
    typed = Typed(
        target=target,
        metric=metric,
        cores=cores,
        unroll=unroll,
        mtu=mtu,
        deadline=deadline,
        assume=assume,
        maps=maps,
        map_abi=map_abi,
        btf=btf,
        selection=chosen,
    )
    with failures_told(context):
        wanted = Wanted.of_words(form, keep or [], sort, fail_on or [], lines)
        code = diff(Sides(old, new, typed), wanted)
    raise typer.Exit(code)


app.command("compile")(compile_object)
app.command("show")(show_objects)
app.add_typer(targets_app, name="targets")
