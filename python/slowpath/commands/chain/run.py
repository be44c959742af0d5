"""The command `slowpath chain bound`: a chain is loaded and analysed as one program."""

from slowpath.analysis.plan import Request
from slowpath.analysis.session import Session
from slowpath.cli.exit_codes import ExitCode
from slowpath.commands.bound.run import Output, report
from slowpath.commands.chain.loading import plan_of


def bound(request: Request, output: Output) -> ExitCode:
    """Analyses a chain.

    Raises:
        OptionError: when an option makes no sense for the target.
        InputError: when the description or an object cannot be read.
    """
    (file,) = request.files
    return report(request, Session(request, plan_of(file, request)), output)
