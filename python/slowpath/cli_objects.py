"""The command line of `slowpath compile` and `slowpath show`, which are about objects only."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from slowpath.cli_failures import failures_told
from slowpath.cli_options import KernelTypes, MapAbi, Mtu, Names, Sections


def compile_object(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A BPF object (*.bpf.o).")],
    section: Sections = None,
    prog_name: Names = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.toml",
            help="Device to compile for, a built-in one or a description; by default "
            "agilio-cx-2x40.",
        ),
    ] = None,
    map_abi: MapAbi = None,
    btf: KernelTypes = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write it to a file."),
    ] = None,
    source: Annotated[
        bool,
        typer.Option(
            "--source",
            help="Put source lines and BPF instructions, as comments, before the instructions "
            "that are for them.",
        ),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Prove, path by path, that the program does the same on the card as in the "
            "kernel. Ctrl-C and --deadline end it.",
        ),
    ] = False,
    mtu: Mtu = 1500,
    deadline: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop --verify after this time."),
    ] = None,
    form: Annotated[
        Literal["listing", "json"],
        typer.Option("--format", help="Format of the output; json is stable."),
    ] = "listing",
) -> None:
    """Compile a program of an object as the driver of the card would, and print the listing.

    The listing is what slowpath bound reads, with --source too. What --verify says goes to standard
    error.

    Exit codes: 0 fine, 1 --verify found a packet with which the card does something else than the
    kernel, 2 wrong usage, 3 the file cannot be read or the card cannot run the program, 4 --verify
    did not decide.
    """
    from slowpath.compile import compile_object
    from slowpath.compile_options import Typed, make_job
    from slowpath.selection import Selection

    selection = Selection(tuple(section or ()), tuple(prog_name or ()))
    typed = Typed(
        selection=selection,
        target=target,
        map_abi=map_abi,
        btf=btf,
        output=output,
        form=form,
        source=source,
        verify=verify,
        mtu=mtu,
        deadline=deadline,
    )
    with failures_told(context):
        code = compile_object(make_job(file, typed))
    raise typer.Exit(code)


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
    with failures_told(context):
        code = show_objects(files, Wanted(selection, form, listing, deadline), btf)
    raise typer.Exit(code)
