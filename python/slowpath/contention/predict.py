"""Runs the commands `slowpath contention predict` and `evaluate`."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slowpath.contention.cells import SUFFIX
from slowpath.contention.options import quiet_libraries, read_beside, read_recipe, read_traffic
from slowpath.core import codes
from slowpath.core.errors import Coded, ExitCode, OptionError
from slowpath.core.extras import need_contention, need_parquet
from slowpath.core.formats import Reporter, warn
from slowpath.core.inputs import check_output, check_page, write_error, write_text
from slowpath.core.pictures import check_picture

if TYPE_CHECKING:
    from slowpath.contention.columns import Query
    from slowpath.contention.memory.evaluation import Evaluated
    from slowpath.contention.memory.features import Rows
    from slowpath.contention.model import FunctionModel
    from slowpath.contention.prediction import Predictions


_WRITTEN = (".csv", ".json", SUFFIX)
_SHOWN = 3
_SLOMO = "slomo"


def predict(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run the command `slowpath contention predict`: print the throughput for each row of a query.

    Raises:
        InputError: if a file cannot be read, used or written.
        OptionError: if options do not fit together.
        UnavailableError: if a package is missing.
    """
    _check(given)
    need_contention()
    if given.output is not None and given.output.endswith(SUFFIX):
        need_parquet()
    with quiet_libraries():
        if given.model is None:
            model, query = _of_tables(given)
        else:
            model, query = _of_models(given)
        from slowpath.contention.methods import predict_by

        found = predict_by(given.method, model, query, given.confidence / 100)
    _report(given, reporter, model, query, found)
    return ExitCode.FINE


def _check(given: Namespace) -> None:
    """Check that the options of `predict` are complete and do not contradict each other."""
    tables = {"--memory-table": given.memory_table, "--accelerator-table": given.accelerator_table}
    models = {"--with": given.beside, "--traffic": given.traffic}
    if given.model is None:
        for name in (one for one, value in models.items() if value is not None):
            raise OptionError(
                codes.OPTION_NEEDS_OPTION,
                name,
                "the option needs a saved model; pass its file as an argument",
            )
        if given.memory_table is None or given.query is None:
            missing = "--memory-table" if given.memory_table is None else "--query"
            raise OptionError(
                codes.MISSING_ARGUMENT, missing, "the option is required without a saved model"
            )
    else:
        for name in (one for one, value in tables.items() if value is not None):
            raise OptionError(
                codes.CONFLICTING_OPTIONS,
                name,
                "the option trains a model; omit it, or omit the saved model",
            )
        if (given.query is None) == (given.traffic is None):
            raise OptionError(
                codes.MISSING_ARGUMENT if given.query is None else codes.CONFLICTING_OPTIONS,
                "--traffic",
                "name one of --query and --traffic",
            )
        if given.query is not None and given.beside is not None:
            raise OptionError(
                codes.CONFLICTING_OPTIONS,
                "--with",
                "the query already describes the competitors; omit one of the two",
            )
        trained = {
            "--recipe": given.recipe,
            "--pattern": given.pattern,
            "--queues": given.queues,
        }
        for name in (one for one, value in trained.items() if value is not None):
            raise OptionError(
                codes.OPTION_WITHOUT_EFFECT,
                name,
                "the saved model is already trained; set this option in slowpath contention train",
            )
    if given.recipe is not None and given.method == _SLOMO:
        raise OptionError(
            codes.OPTION_WITHOUT_EFFECT,
            "--recipe",
            "the method slomo has its own memory model; omit the option",
        )
    if given.alone is not None and given.query is not None:
        raise OptionError(
            codes.OPTION_WITHOUT_EFFECT,
            "--alone",
            "the option applies only to --traffic; add a column `alone` to the query instead",
        )
    if given.output is not None and not given.output.endswith(_WRITTEN):
        raise OptionError(
            codes.WRONG_SUFFIX, "--output", "the file name must end in .csv, .json or .parquet"
        )
    read = [given.model, *(given.memory_table or ()), given.accelerator_table, given.query]
    read += read_beside(given.beside)
    check_output("--output", given.output, [one for one in read if one is not None])


def _of_tables(given: Namespace) -> "tuple[FunctionModel, Query]":
    """Train a model on the tables that the options name; return it with the query."""
    from slowpath.contention.cells import read_cells
    from slowpath.contention.columns import REQUEST_TIME, THROUGHPUT, missing_column_error
    from slowpath.contention.reading import kind_of, read_query
    from slowpath.contention.train import learned

    for file in given.memory_table:
        if kind_of(file) not in ("memory", "mixes"):  # read_memory names the bad row of mixes
            raise missing_column_error(read_cells(file), THROUGHPUT)
    tables = list(given.memory_table)
    if given.accelerator_table is not None:
        if kind_of(given.accelerator_table) != "accelerator":
            raise missing_column_error(read_cells(given.accelerator_table), REQUEST_TIME)
        tables.append(given.accelerator_table)
    # Report errors in the query before the slow choice of the model.
    from slowpath.contention.reading import read_memory

    memory = read_memory(given.memory_table)
    query = read_query(given.query, memory, accelerator=given.accelerator_table is not None)
    if given.method == _SLOMO:
        given.recipe = "constant"  # cheapest, as SLOMO learns from the rows itself
    return learned(tables, given), query


def _of_models(given: Namespace) -> "tuple[FunctionModel, Query]":
    """Load the saved model; return it with the query, which a file or options describe."""
    from slowpath.contention.prediction import query_with_competitors
    from slowpath.contention.reading import read_query
    from slowpath.contention.saved import read

    model = read(given.model)
    if given.query is not None:
        accelerator = model.accelerator is not None
        return model, read_query(given.query, model.memory, accelerator=accelerator)
    traffic = read_traffic(given.traffic)
    if traffic.mtbr is None and model.accelerator is not None:
        raise OptionError(
            codes.TRAFFIC_INVALID,
            "--traffic",
            f"mtbr is needed, because the model {given.model} has an accelerator; add mtbr=N",
        )
    others = [(name, read(name)) for name in read_beside(given.beside)]
    query = query_with_competitors(
        (given.model, model), others, (traffic.flows, traffic.size, traffic.mtbr)
    )
    if given.alone is not None:
        import numpy as np

        query = query._replace(alone=np.array([given.alone]))
    return model, query


def _report(
    given: Namespace,
    reporter: Reporter,
    model: "FunctionModel",
    query: "Query",
    found: "Predictions",
) -> None:
    from slowpath.contention.report import PredictionReport, predictions_parquet

    warnings = (*_warnings(model, query, found), *_about_alone(given, model, query, found))
    answer = PredictionReport(model, given.method, query, found, given.confidence, warnings)
    if given.output is not None and given.output.endswith(SUFFIX):
        predictions_parquet(given.output, answer)
        warn(warnings)
    else:
        reporter.write_to(given.output, answer, warnings=warnings)


def _about_alone(
    given: Namespace, model: "FunctionModel", query: "Query", found: "Predictions"
) -> Iterator[Coded]:
    """Yield warnings if the query lacks solo throughput, or has another one than the profile."""
    from slowpath.contention.methods import solo_warnings

    if given.method != _SLOMO:
        for text in solo_warnings(model, query, found, given.confidence / 100):
            yield Coded(codes.SOLO_THROUGHPUT_DOUBTFUL, f"{query.file}: {text}")
    elif query.alone is None:
        yield Coded(
            codes.SOLO_THROUGHPUT_DOUBTFUL,
            f"{query.file}: the solo throughput is unknown, so SLOMO predicts as under the "
            "traffic of its rows; give --alone, or a column `alone`",
        )


def _warnings(model: "FunctionModel", query: "Query", found: "Predictions") -> Iterator[Coded]:
    """Yield warnings about ignored columns of a query, and rows outside the training range."""
    from slowpath.contention.columns import MTBR
    from slowpath.contention.model import described

    for name in query.left_out:
        yield Coded(
            codes.COLUMN_IGNORED,
            f"{query.file}: the column {name} is ignored, because the model has no accelerator; "
            "the function may be slower than predicted",
        )
    columns = (
        dict(query.columns) if query.mtbr is None else {**query.columns, MTBR.name: query.mtbr}
    )
    outside = [at for at, names in enumerate(found.outside) if names]
    if outside:
        parts = [
            f"row {query.rows[at]}: "
            + described(found.outside[at], {name: [of[at]] for name, of in columns.items()}, model)
            for at in outside[:_SHOWN]
        ]
        shown = "; ".join(parts) + ("; ..." if len(outside) > _SHOWN else "")
        yield Coded(
            codes.EXTRAPOLATED,
            f"{query.file}: {len(outside)} of {len(query.rows)} predictions are guesses, because "
            f"inputs are outside the measured range: {shown}",
        )


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run the command `slowpath contention evaluate`: print the errors of memory models.

    Raises:
        InputError: if a table cannot be used, or a file cannot be written.
        OptionError: if a recipe is unknown, or an option has a wrong value.
        UnavailableError: if a package is missing.
    """
    check_page(given.html)
    check_picture(given.plot)
    for option, file in (("--html", given.html), ("--plot", given.plot)):
        check_output(option, file, given.table)
    need_contention()
    names = [read_recipe(name) for name in given.recipe or ()]
    from slowpath.contention.model import rows_of
    from slowpath.contention.reading import read_memory

    memory = read_memory(given.table)
    with quiet_libraries():
        found = _evaluated(given, rows_of(memory), names)
    from slowpath.contention.report_evaluation import Evaluation

    report = Evaluation(memory, tuple(found), given.repetitions, given.confidence / 100)
    if given.html is not None:
        from slowpath.contention.report_evaluation import evaluation_page

        write_text(given.html, evaluation_page(report))
    if given.plot is not None:
        from slowpath.contention.report_evaluation import draw_evaluation

        try:
            draw_evaluation(given.plot, report)
        except OSError as problem:
            raise write_error(given.plot, problem) from None
    reporter.write(report)
    return ExitCode.FINE


def _evaluated(given: Namespace, rows: "Rows", names: Sequence[str]) -> "list[Evaluated]":
    from slowpath.contention.memory.evaluation import Protocol, evaluate_all
    from slowpath.contention.memory.recipes import RECIPES
    from slowpath.contention.memory.selection import candidates_and_baselines
    from slowpath.contention.options import interruptible
    from slowpath.core.jobs.local_pool import LocalPool

    protocol = Protocol(given.repetitions, given.confidence / 100)
    recipes = (
        [RECIPES[name] for name in names] if names else [*candidates_and_baselines(rows), None]
    )
    # One recipe takes less time than the start of processes.
    pool = LocalPool(1 if len(recipes) == 1 else None)
    with interruptible("evaluating") as line:
        return evaluate_all(recipes, rows, protocol, pool, line.show)
