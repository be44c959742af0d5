"""The command `slowpath contention train`."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slowpath.cli.errors import InputError, OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.inputs import write_text
from slowpath.cli.terminal import out, out_lines
from slowpath.commands.contention.options import check_output, quiet_libraries, read_recipe
from slowpath.contention.packages import need

if TYPE_CHECKING:
    from slowpath.contention.model import FunctionModel

_HAVE = {"accelerator": "request times", "contention": "what the function does to others"}


def train(given: Namespace) -> ExitCode:
    """Reads tables, chooses and learns, writes the model.

    Raises:
        InputError: when a table cannot be used, or the model not be written.
        OptionError: when an option makes no sense.
    """
    need()
    from slowpath.commands.contention.report import model_csv, model_text
    from slowpath.contention.saved import written

    tables = tables_of(given.table)
    check_output("--output", given.output, tables)
    with quiet_libraries():
        model = learned(tables, given)
        document = written(model)
    if given.output is not None:
        write_text(given.output, document + "\n")
    if given.format == "json":
        out(document)
    elif given.format == "csv":
        out_lines(model_csv(model))
    else:
        out_lines(model_text(model))
    return ExitCode.FINE


def tables_of(named: Sequence[str]) -> list[str]:
    """Files, and instead of folders of `slowpath contention profile` the tables in them.

    Raises:
        InputError: when a folder has none.
    """
    from slowpath.contention.host.writing import TABLES

    found = list[str]()
    for name in named:
        if not Path(name).is_dir():
            found.append(name)
            continue
        inside = [str(Path(name) / table) for table in TABLES if (Path(name) / table).is_file()]
        if not inside:
            raise InputError(name, f"has none of the tables of a profile: {', '.join(TABLES)}")
        found += inside
    return found


def learned(tables: Sequence[str], given: Namespace) -> "FunctionModel":
    """The model of tables, whatever each is.

    Raises:
        InputError: when a table cannot be used, or there are two for the same.
        OptionError: when an option makes no sense.
    """
    from slowpath.contention.accelerator.service import fit_request_time
    from slowpath.contention.memory.learning.recipes import RECIPES
    from slowpath.contention.model import Profiles, choose, learn
    from slowpath.contention.tables import reading

    kinds = {file: reading.kind_of(file) for file in dict.fromkeys(tables)}
    memory_files = [file for file in tables if kinds[file] == "memory"]
    if not memory_files:
        others = ", ".join(f"{file} has {_HAVE[kinds[file]]}" for file in tables)
        reason = f"no table has a column 'throughput' beside competitors: {others}"
        raise InputError(tables[0], reason)
    for kind in ("accelerator", "contention"):
        same = [file for file in tables if kinds[file] == kind]
        if len(same) > 1:
            raise InputError(same[1], f"is a second table of the same kind as {same[0]}")
    memory = reading.read_memory(memory_files)
    accelerator = contention = None
    for file, kind in kinds.items():
        if kind == "accelerator":
            accelerator = reading.read_accelerator(file, memory.origin)
        elif kind == "contention":
            contention = reading.read_own_contention(file, memory.origin)
            reading.check_columns(contention, memory)
    added_up = given.pattern == "run-to-completion" and accelerator is not None
    if added_up and memory.origin.mtbr is None:
        reason = (
            "run-to-completion needs the match ratio of the memory rows: `# mtbr: N` above them"
        )
        raise OptionError("--pattern", reason)
    if accelerator is not None:
        fit_request_time(accelerator)  # wrong ones are told before the choice, which takes longer
    recipe = None if given.recipe is None else RECIPES[read_recipe(given.recipe)]
    choice = choose(memory, recipe)
    profiles = Profiles(memory, accelerator, contention)
    return learn(profiles, choice, given.pattern, given.queues)
