"""The command line of `slowpath targets`."""

from typing import Annotated

import typer

from slowpath.cli_failures import failures_told

targets_app = typer.Typer(
    help="Describe the devices that programs can be analysed for.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@targets_app.command("list")
def list_(context: typer.Context) -> None:
    """List the built-in targets."""
    from slowpath.targets import list_targets

    with failures_told(context):
        code = list_targets()
    raise typer.Exit(code)


@targets_app.command()
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in target.")],
) -> None:
    """Print the description of a built-in target, a starting point for your own."""
    from slowpath.targets import show_target

    with failures_told(context):
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

    with failures_told(context):
        code = check_targets(files)
    raise typer.Exit(code)
