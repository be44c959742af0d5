"""Declares the commands `slowpath contention train`, `predict`, `diagnose` and `evaluate`."""

from slowpath.core.command import Command, Group, Heading, argument, within
from slowpath.core.formats import JSON, OUTPUT, Formats

PROFILES = Heading("Profiles")
MODEL = Heading("Model")
FORMAT_HELP = "Select the format of standard output; json and csv are stable"
_TRAIN = Formats(
    "slowpath.contention.report", table="model_text", json="model_json", csv="model_csv"
)
_PREDICT = Formats(
    "slowpath.contention.report",
    table="predictions_text",
    json="predictions_json",
    csv="predictions_csv",
)
_DIAGNOSE = Formats(
    "slowpath.contention.report_diagnosis", table="diagnosis_text", json=JSON, csv="diagnosis_csv"
)
_EVALUATE = Formats(
    "slowpath.contention.report_evaluation",
    table="evaluation_text",
    json="evaluation_json",
    csv="evaluation_csv",
)
CODES = "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read, used or written."
NEEDS = "Needs the extra `contention`: pip install slowpath[contention]."


_MEMORY = PROFILES.option(
    "--memory FILE",
    "Read throughput beside competitors for caches and memory from this table; repeat for "
    "more rows of the same function.",
    action="append",
)
_ACCELERATOR = PROFILES.option(
    "--accelerator FILE", "Read request times at the accelerator, by match ratio, from this table."
)
_RECIPE = MODEL.option(
    "--recipe NAME",
    "Use this memory model; `slowpath contention evaluate` lists all (default: the one with "
    "the least error on held-out rows).",
)
_PATTERN = MODEL.option(
    "--pattern",
    "Set the execution pattern: stages, limited by the slowest one, or resources used one "
    "after the other for each packet, so that times add up (default: detected from mixes with "
    "competitors for several resources, else from the record of the profile, else pipeline).",
    choices=("pipeline", "run-to-completion"),
)
_QUEUES = MODEL.option(
    "--queues N",
    "Set the number of request queues of the function at the accelerator (default: 1).",
    type=within(int, 1, 4096),
)
_METHOD = MODEL.option(
    "--method",
    "Predict by this method. The baselines have no intervals: `sum` adds up the throughput "
    "drops of all resources, `min` takes the largest drop, SLOMO models memory only "
    "(default: %(default)s).",
    choices=("slowpath", "sum", "min", "slomo"),
    default="slowpath",
)
_ALONE = MODEL.option(
    "--alone RATE",
    "Start predictions from this measured solo throughput under `--traffic`; it reflects the "
    "current state of the machine. A query has a column `alone` instead.",
    type=within(float, 1e-13, 1e13),
)
CONFIDENCE = MODEL.option(
    "--confidence PERCENT",
    "Set the share of measurements that intervals cover, in percent (default: %(default)s).",
    type=within(float, 50, 99),
    default=90.0,
)
WITH = PROFILES.option(
    "--with MODEL,...",
    "Predict beside the functions of these models, separated by commas.",
    dest="beside",
)
TRAFFIC = PROFILES.option(
    "--traffic NAME=VALUE,...",
    "Set the traffic of all functions: flows, size (bytes) and mtbr (matches per MB).",
)

TRAIN = Command(
    (
        "Train a model of a function's throughput beside others, from tables of measurements.",
        "The columns of a table tell its kind: `throughput` beside counters of competitors, "
        "`inverse_throughput` by match ratio, mixes with clients of the accelerator, or only "
        "counters: the contention that the function causes. The memory model with the least error "
        "on held-out rows is chosen.",
        NEEDS,
        CODES,
    ),
    (
        argument(
            "TABLE",
            "CSV, JSON or Parquet files with measurements of one function, or the folder of a "
            "profile.",
            "+",
        ),
        _RECIPE,
        _PATTERN,
        _QUEUES,
        OUTPUT.option(
            "-o, --output FILE",
            "Write the model as JSON: the rows and the chosen model, no executable code.",
        ),
        _TRAIN.option(FORMAT_HELP),
    ),
    _TRAIN.call("slowpath.contention.train:train"),
)

PREDICT = Command(
    (
        "Predict the throughput of a function beside others, and its bottleneck.",
        "Takes either a model and models of its competitors, under traffic, or tables and a query "
        "with a row for each prediction. Rows outside the measured range are named: their "
        "predictions are guesses, and their intervals as wide as the errors of held-out rows at "
        "the ends of the range.",
        NEEDS,
        CODES,
    ),
    (
        argument("MODEL", "A model from `slowpath contention train`.", "?"),
        _MEMORY,
        _ACCELERATOR,
        PROFILES.option(
            "--query FILE",
            "Predict the rows of this table: traffic, and total counters of all competitors.",
        ),
        WITH,
        TRAFFIC,
        _RECIPE,
        _PATTERN,
        _QUEUES,
        _METHOD,
        _ALONE,
        CONFIDENCE,
        OUTPUT.option(
            "-o, --output FILE",
            "Write the predictions to this file instead of standard output; it ends in .csv, "
            ".json or .parquet (extra `parquet`).",
        ),
        _PREDICT.option(FORMAT_HELP),
    ),
    _PREDICT.call("slowpath.contention.predict:predict"),
)

CONTENTION = Group(
    ("Predict the throughput of network functions that share caches, memory and accelerators.",),
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


DIAGNOSE = Command(
    (
        "Find the bottleneck of a function, its margin, and where the bottleneck changes.",
        "The margin is the speedup of the function without the bottleneck, up to the limit of the "
        "next resource.",
        NEEDS,
        CODES,
    ),
    (
        argument("MODEL", "A model from `slowpath contention train`."),
        WITH,
        TRAFFIC,
        MODEL.option(
            "--sweep NAME=A:B[:N]",
            "Sweep flows, size or mtbr from A to B at N values (default: 101), and locate the "
            "changes of the bottleneck between them.",
        ),
        MODEL.option(
            "--what-if CHANGE",
            "Predict the effect of one change: 'regex queues x2', 'regex time x0.5', "
            "'flows x10', 'mtbr =300', 'without fw.model.json'; may be repeated.",
            dest="what_if",
            action="append",
        ),
        CONFIDENCE,
        OUTPUT.option(
            "--plot FILE",
            "Draw the curve of the sweep, coloured by bottleneck; FILE ends in .svg or .png.",
        ),
        OUTPUT.option(
            "--html FILE", "Write an HTML page with the curve of the sweep, coloured by bottleneck."
        ),
        _DIAGNOSE.option(FORMAT_HELP),
    ),
    _DIAGNOSE.call("slowpath.contention.diagnose:run"),
)


EVALUATE = Command(
    (
        "Measure the error of memory models on rows that they have not seen.",
        "Uses nested cross-validation: rows with equal contention are held out together, and each "
        "fold trains without them, including the choice among models (`chosen`).",
        NEEDS,
        CODES,
    ),
    (
        argument("TABLE", "Tables of throughput beside competitors.", "+"),
        MODEL.option(
            "--recipe NAME", "Evaluate only this model; may be repeated.", action="append"
        ),
        MODEL.option(
            "--repetitions N",
            "Draw the folds N times (default: %(default)s).",
            type=within(int, 1, 100),
            default=1,
        ),
        CONFIDENCE,
        OUTPUT.option(
            "--plot FILE",
            "Draw predicted against measured throughput with intervals, of the chosen model "
            "or of those named by --recipe; FILE ends in .svg or .png.",
        ),
        OUTPUT.option("--html FILE", "Write an HTML page with the table and the same figures."),
        _EVALUATE.option(FORMAT_HELP),
    ),
    _EVALUATE.call("slowpath.contention.predict:run"),
)
