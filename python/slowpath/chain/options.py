"""Options of `slowpath chain facts`, `optimize` and `verify`, turned into jobs."""

from argparse import Namespace
from pathlib import Path
from typing import Literal

from slowpath.bounds.flags import written_options
from slowpath.bounds.options import (
    check_valid,
    choose_target,
    memory_or_share,
    read_option,
    read_options,
)
from slowpath.chain.run import ChainOptions
from slowpath.chain.verify import VerifyOptions
from slowpath.core.engine.chains import check_assumed
from slowpath.core.errors import OptionError
from slowpath.core.formats import Reporter
from slowpath.core.inputs import check_page


def make_job(
    given: Namespace, mode: Literal["trust", "guard"] | None, output: str | None, report: Reporter
) -> ChainOptions:
    """Build the job that the options describe; `output` is a folder.

    Raises:
        OptionError: if an option makes no sense.
    """
    check_page(given.html)
    # `written_options` would read --assume and --maps as options of `slowpath bound`; in this
    # command, they describe the packets and maps that programs are rewritten for.
    others = {name: of for name, of in vars(given).items() if name not in {"assume", "maps"}}
    written = written_options(Namespace(**others), [given.chain])
    options = read_options(written)
    return ChainOptions(
        file=given.chain,
        mode=mode,
        report=report,
        btf=written.btf,
        cflags=written.cflags,
        deadline_seconds=options.deadline_seconds,
        memory_bytes=memory_or_share(written.memory),
        output=None if output is None else Path(output),
        html=given.html,
        assumed=read_option("--assume", check_assumed, vars(given).get("assume", [])),
        maps=vars(given).get("maps"),
        receive=written.receive,
        variables=written.set,
    )


def make_verify_options(given: Namespace) -> VerifyOptions:
    """Build the comparison that the options describe.

    Raises:
        OptionError: if an option makes no sense.
    """
    others = {name: of for name, of in vars(given).items() if name != "assume"}
    files = [given.first, given.second]
    written = written_options(Namespace(**others), files)
    options = read_options(written)
    return VerifyOptions(
        given.first,
        given.second,
        given.program,
        read_option("--assume", check_assumed, given.assume),
        written.btf,
        written.cflags,
        options.deadline_seconds,
        memory_or_share(written.memory),
        receive=written.receive,
        chain=given.chain,
    )


def read_targets(names: str | None) -> tuple[str, ...]:
    """Return the targets of `--target`, separated by commas.

    Raises:
        OptionError: if a name is not a target, or is given twice.
        InputError: if the file of a target cannot be used.
    """
    if names is None:
        return ()
    targets = tuple(name.strip() for name in names.split(","))
    for name in targets:
        check_valid(read_option("--target", choose_target, name), name)
        if targets.count(name) > 1:
            raise OptionError("--target", f"{name} is named twice")
    return targets
