"""The command `slowpath chain bound`: a chain is loaded and analysed as one program."""

from slowpath.analysis.options import WrittenOptions, read_request
from slowpath.analysis.session import Session
from slowpath.cli.exit_codes import ExitCode
from slowpath.commands.bound.run import Output, report
from slowpath.commands.chain.devices import plans_of


def bound(file: str, written: WrittenOptions, output: Output) -> ExitCode:
    """Analyses a chain, on each device for its target.

    Raises:
        OptionError: when an option makes no sense for the target.
        InputError: when the description or an object cannot be read.
    """
    plans = plans_of(file, written, read_request([file], written))
    return report([(request, Session(request, plan)) for request, plan in plans], output)
