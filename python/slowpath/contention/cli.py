"""The command line of `slowpath contention`: train, predict, diagnose, evaluate."""

from argparse import Namespace

from slowpath.core.command import ARGUMENTS, Command, Group, argument, option, within

PROFILES = "Profiles"
MODEL = "Model"
OUTPUT = "Output"
FORMATS = ("table", "json", "csv")
CODES = "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read, used or written."
NEEDS = "Needs the extra `contention`: pip install slowpath[contention]."


def _train(given: Namespace) -> int:
    from slowpath.contention.train import train

    return train(given)


def _predict(given: Namespace) -> int:
    from slowpath.contention.predict import predict

    return predict(given)


_MEMORY = option(
    PROFILES,
    "--memory",
    metavar="FILE",
    action="append",
    help="Table of throughput beside competitors for caches and memory; may be given several "
    "times, for more rows of the same function.",
)
_ACCELERATOR = option(
    PROFILES,
    "--accelerator",
    metavar="FILE",
    help="Table of request times on the accelerator, by match ratio.",
)
_RECIPE = option(
    MODEL,
    "--recipe",
    metavar="NAME",
    help="Take this memory model rather than choose one; `slowpath contention evaluate` lists "
    "them (default: the one that predicts held-out rows best).",
)
_PATTERN = option(
    MODEL,
    "--pattern",
    choices=("pipeline", "run-to-completion"),
    help="How the function uses resources: in stages, of which the slowest decides, or one after "
    "the other for each packet, so that times add up (default: what mixes with competitors for "
    "several resources surely tell, else what the record of a profile says, else pipeline).",
)
_QUEUES = option(
    MODEL,
    "--queues",
    metavar="N",
    type=within(int, 1, 4096),
    help="Request queues that the function has at the accelerator (default: 1).",
)
_METHOD = option(
    MODEL,
    "--method",
    choices=("slowpath", "sum", "min", "slomo"),
    default="slowpath",
    help="Predict as slowpath does, or as what it is compared with: `sum` of what each resource "
    "takes, `min` of what each leaves, or SLOMO, which knows memory only. These have no intervals "
    "(default: %(default)s).",
)
_ALONE = option(
    MODEL,
    "--alone",
    metavar="RATE",
    type=within(float, 1e-13, 1e13),
    help="The throughput alone under `--traffic`, as measured, where predictions then begin; a "
    "query has a column `alone` instead. It is what tells how a machine is at the time.",
)
CONFIDENCE = option(
    MODEL,
    "--confidence",
    metavar="PERCENT",
    type=within(float, 50, 99),
    default=90.0,
    help="How often an interval has what is measured (default: %(default)s).",
)
WITH = option(
    PROFILES,
    "--with",
    dest="beside",
    metavar="MODEL,...",
    help="Models of the functions beside it, with commas between them.",
)
TRAFFIC = option(
    PROFILES,
    "--traffic",
    metavar="NAME=VALUE,...",
    help="Traffic of all: flows, size (bytes) and mtbr (matches per MB).",
)
FORMAT = option(
    OUTPUT,
    "--format",
    choices=FORMATS,
    default="table",
    help="How to write to standard output; json and csv are stable (default: %(default)s).",
)

TRAIN = Command(
    (
        "Learn how fast a function is beside others, from tables of measurements.",
        "What a table is follows from its columns: `throughput` beside counters of competitors, "
        "`inverse_throughput` by match ratio, mixes with clients of the accelerator, or counters "
        "alone, which are what the function does to others. The memory model is chosen by how well "
        "it predicts rows that are held out.",
        NEEDS,
        CODES,
    ),
    (
        argument(
            "TABLE",
            "CSV, JSON or Parquet files of measurements of one function, or the folder of a "
            "profile.",
            many=True,
        ),
        _RECIPE,
        _PATTERN,
        _QUEUES,
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="FILE",
            help="Write the model, as JSON: the rows and the choice; nothing that would be run.",
        ),
        FORMAT,
    ),
    _train,
)

PREDICT = Command(
    (
        "Predict how fast a function runs beside others, and what limits it.",
        "Either of a model and models of its competitors, under traffic; or of tables and a query "
        "with a row for each prediction. Rows unlike those that were measured are named: what is "
        "said of them is a guess, and its interval as wide as guesses at the ends of the measured "
        "range were off.",
        NEEDS,
        CODES,
    ),
    (
        option(
            ARGUMENTS,
            "model",
            metavar="MODEL",
            nargs="?",
            help="A model of `slowpath contention train`.",
        ),
        _MEMORY,
        _ACCELERATOR,
        option(
            PROFILES,
            "--query",
            metavar="FILE",
            help="Table of what to predict: traffic, and counters of all competitors together.",
        ),
        WITH,
        TRAFFIC,
        _RECIPE,
        _PATTERN,
        _QUEUES,
        _METHOD,
        _ALONE,
        CONFIDENCE,
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="FILE",
            help="Write the predictions to a file that ends in .csv, .json or .parquet (extra "
            "`parquet`), rather than to standard output.",
        ),
        FORMAT,
    ),
    _predict,
)

CONTENTION = Group(
    (
        "Predict how fast network functions run beside others that share caches, memory and "
        "accelerators.",
    ),
    (),
    {
        "profile": "slowpath.contention.fleet_cli:PROFILE",
        "train": "slowpath.contention.cli:TRAIN",
        "predict": "slowpath.contention.cli:PREDICT",
        "evaluate": "slowpath.contention.cli:EVALUATE",
        "diagnose": "slowpath.contention.cli:DIAGNOSE",
        "place": "slowpath.contention.fleet_cli:PLACE",
        "suggest": "slowpath.contention.fleet_cli:SUGGEST",
    },
)


def _diagnose(given: Namespace) -> int:
    from slowpath.contention.diagnose import run

    return run(given)


DIAGNOSE = Command(
    (
        "Tell which resource holds a function back, by how much, and where that changes.",
        "The margin is how much faster the function would be if the bottleneck did not limit it: "
        "as fast as the next resource allows.",
        NEEDS,
        CODES,
    ),
    (
        argument("MODEL", "A model of `slowpath contention train`."),
        WITH,
        TRAFFIC,
        option(
            MODEL,
            "--sweep",
            metavar="NAME=A:B[:N]",
            help="How the bottleneck moves along flows, size or mtbr, from A to B; N values are "
            "looked at (default: 101), and where it changes between two of them is located.",
        ),
        option(
            MODEL,
            "--what-if",
            dest="what_if",
            metavar="CHANGE",
            action="append",
            help="What one change would do: 'regex queues x2', 'regex time x0.5', 'flows x10', "
            "'mtbr =300', 'without fw.model.json'; may be given several times.",
        ),
        CONFIDENCE,
        option(
            OUTPUT,
            "--plot",
            metavar="FILE",
            help="Draw the curve of the sweep, coloured by bottleneck; FILE ends in .svg or .png.",
        ),
        option(
            OUTPUT,
            "--html",
            metavar="FILE",
            help="Write a page with the curve of the sweep, coloured by bottleneck.",
        ),
        FORMAT,
    ),
    _diagnose,
)


def _evaluate(given: Namespace) -> int:
    from slowpath.contention.predict import run

    return run(given)


EVALUATE = Command(
    (
        "Tell how well memory models predict rows that they have not seen.",
        "By nested cross-validation: rows with equal contention are held out together, and in each "
        "fold everything else is done without them, the choice among models included (`chosen`).",
        NEEDS,
        CODES,
    ),
    (
        argument("TABLE", "Tables of throughput beside competitors.", many=True),
        option(
            MODEL,
            "--recipe",
            metavar="NAME",
            action="append",
            help="Evaluate this model only; may be given several times.",
        ),
        option(
            MODEL,
            "--repetitions",
            metavar="N",
            type=within(int, 1, 100),
            default=1,
            help="How many times to draw the folds (default: %(default)s).",
        ),
        CONFIDENCE,
        option(
            OUTPUT,
            "--plot",
            metavar="FILE",
            help="Draw predicted against measured, row by row, with intervals: of the choice, or "
            "of the models named; FILE ends in .svg or .png.",
        ),
        option(
            OUTPUT,
            "--html",
            metavar="FILE",
            help="Write a page with the table and the same figures.",
        ),
        FORMAT,
    ),
    _evaluate,
)
