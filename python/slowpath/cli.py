"""The command line: commands, their options and help texts.

Nothing heavy is imported before a command runs, so that `--help` is quick.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

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
targets_app = typer.Typer(
    help="Describe the devices that programs can be analysed for.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(targets_app, name="targets")


Sections = Annotated[
    list[str] | None,
    typer.Option(
        "--section", "-s", metavar="GLOB", help="Only programs of objects in such sections."
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--prog-name", "-n", metavar="GLOB", help="Only programs of such names."),
]
KernelTypes = Annotated[
    str | None,
    typer.Option(
        "--btf",
        metavar="FILE",
        help="Types (BTF) of the kernel that objects are for; by default the running one.",
    ),
]


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
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.toml",
            help="Device, a built-in one or a description; by default ebpf for objects, which "
            "counts instructions, and agilio-cx-2x40 for listings.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to guarantee: bitrate (the default) or packetrate; with target ebpf, "
            "instructions (the default) or memory-accesses.",
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            min=1, max=2**32 - 1, metavar="N", help="Cores to use; by default all of the target."
        ),
    ] = None,
    unroll: Annotated[
        str | None,
        typer.Option(
            metavar="N|N@LOCATION,...",
            help="Most iterations of loops (0: no limit), or of the loop at a location: "
            "FILE:LINE or .INSTRUCTION. Only loops whose limit cannot be derived need one; the "
            "error names their locations.",
        ),
    ] = None,
    paths: Annotated[
        str, typer.Option(metavar="K|all", help="Report the K slowest satisfiable paths.")
    ] = "1",
    mtu: Annotated[
        int,
        typer.Option(
            min=60,
            max=16383,
            metavar="BYTES",
            help="Longest packet, Ethernet header included, frame check sequence not.",
        ),
    ] = 1500,
    deadline: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Stop the search of each program after this time with the bound reached so far.",
        ),
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Fail unless this rate is guaranteed: 40Gbit/s, 10Mpps."),
    ] = None,
    assume: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Assumptions (TOML): prices that the target leaves open, helpers that are not "
            "supported.",
        ),
    ] = None,
    maps: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Content of maps (TOML or JSON); maps that it does not name may hold anything.",
        ),
    ] = None,
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

    Of objects, every XDP program is analysed. Several programs give one row each, and a failure
    does not stop the rest. Ctrl-C ends with the bound reached so far.

    Exit codes: 0 fine, 1 --require not met, 2 wrong usage, 3 a file cannot be read, written or
    analysed, 4 stopped before --require was decided or before there was a bound. The worst of
    several files is the first of 3, 1, 4, 0.
    """
    from slowpath.bound import run
    from slowpath.options import Typed, make_job
    from slowpath.selection import Selection

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
        btf,
        Selection(tuple(section or ()), tuple(prog_name or ())),
    )
    with _failures_told(context):
        code = run(make_job(files, typed, form, pcap, verbose=verbose))
    raise typer.Exit(code)


@app.command("show")
def show_objects(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="BPF objects (*.bpf.o).")],
    section: Sections = None,
    prog_name: Names = None,
    btf: KernelTypes = None,
    deadline: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="Time for finding the loop bounds of each program."
        ),
    ] = 5,
    listing: Annotated[
        bool, typer.Option("--listing", help="Add the instructions, with their source lines.")
    ] = False,
    form: Annotated[
        Literal["table", "json"],
        typer.Option("--format", help="Format of the output; json is stable."),
    ] = "table",
) -> None:
    """Show what BPF objects contain: programs, maps, helpers, loops, and what is not supported.

    Exit code 3 when a file cannot be read, or a program of it cannot be linked; the others are
    shown.
    """
    from slowpath.selection import Selection
    from slowpath.show import Wanted, show_objects

    selection = Selection(tuple(section or ()), tuple(prog_name or ()))
    with _failures_told(context):
        code = show_objects(files, Wanted(selection, form, listing, deadline), btf)
    raise typer.Exit(code)


@targets_app.command("list")
def list_(context: typer.Context) -> None:
    """List the built-in targets."""
    from slowpath.targets import list_targets

    with _failures_told(context):
        code = list_targets()
    raise typer.Exit(code)


@targets_app.command()
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in target.")],
) -> None:
    """Print the description of a built-in target, a starting point for your own."""
    from slowpath.targets import show_target

    with _failures_told(context):
        code = show_target(name)
    raise typer.Exit(code)


@targets_app.command()
def check(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Target descriptions (*.toml).")
    ],
) -> None:
    """Check target descriptions. Exit code 3 when one is not valid."""
    from slowpath.targets import check_targets

    with _failures_told(context):
        code = check_targets(files)
    raise typer.Exit(code)


@contextmanager
def _failures_told(context: typer.Context) -> Iterator[None]:
    """Turns what the user can mend into a message and an exit code."""
    from slowpath.exit_codes import ExitCode
    from slowpath.inputs import InputError
    from slowpath.plan import OptionError
    from slowpath.terminal import error

    try:
        yield
    except OptionError as problem:
        hint = f"'{problem.option}'"
        raise typer.BadParameter(problem.reason, ctx=context, param_hint=hint) from None
    except InputError as problem:
        error(problem.file, problem.reason)
        raise typer.Exit(ExitCode.INPUT) from None
