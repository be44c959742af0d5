"""Declares the commands `slowpath completion`, `slowpath man` and `slowpath complete`."""

from argparse import Namespace

from slowpath.core.command import Command, Example, argument

SHELLS = ("bash", "zsh", "fish")


def _shell(name: str) -> str:
    from slowpath.core.spelling import unknown

    if name not in SHELLS:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(unknown("shell", name, SHELLS))
    return name


def _completion(args: Namespace) -> int:
    from slowpath.shell.run import print_completion

    return print_completion(args.shell)


def _man(args: Namespace) -> int:
    from slowpath.shell.run import write_manual

    return write_manual(args.dir)


def _complete(args: Namespace) -> int:
    from slowpath.shell.run import print_names

    return print_names(args.what, args.file)


COMPLETION = Command(
    (
        "Print the completions of a shell",
        "They complete commands, options and values, and the programs and sections of objects on "
        "the command line.",
        "bash: source the output, or write it to "
        "~/.local/share/bash-completion/completions/slowpath. zsh: write it to a file _slowpath in "
        "a folder of $fpath. fish: write it to ~/.config/fish/completions/slowpath.fish.",
    ),
    (argument("SHELL", "bash, zsh or fish", type=_shell),),
    _completion,
    (
        Example("source <(slowpath completion bash)", "Complete commands in this bash"),
        Example(
            "slowpath completion fish -o ~/.config/fish/completions/slowpath.fish",
            "Install completions for fish",
        ),
    ),
)
MAN = Command(
    (
        "Write the manual pages of all commands",
        "Without DIR, prints the page slowpath(1).",
    ),
    (argument("DIR", "Folder for the pages slowpath.1, slowpath-bound.1 and others", "?"),),
    _man,
    (
        Example("slowpath man ~/.local/share/man/man1", "Install the pages for this user"),
        Example("slowpath man -o slowpath.1", "Write the first page to a file"),
    ),
)
COMPLETE = Command(
    (
        "Print the names of programs or sections of objects",
        "Completions call this command. slowpath skips files that are not objects.",
    ),
    (
        argument("WHAT", "programs or sections"),
        argument("FILE", "Words of a command line", "*"),
    ),
    _complete,
    (
        Example("slowpath complete programs filter.bpf.o", "Print the names of programs"),
        Example("slowpath complete sections filter.bpf.o", "Print the names of sections"),
    ),
)
