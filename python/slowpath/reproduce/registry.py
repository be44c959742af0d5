"""Lists the papers and figures that can be reproduced, and finds their artefacts on disk.

An artefact is published data or programs. Each figure has the function that recomputes it, or the
reason why this command cannot. The registry holds no published data: functions read them from the
user's copy of the artefact. Numbers that a paper prints stand beside the function that compares
them, with their place in the paper.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import Coded, InputError, OptionError
from slowpath.core.inputs import NO_SUCH_FILE


class Artefact(NamedTuple):
    """Published data or programs, and where to get them."""

    title: str
    address: str
    revision: str | None  # commit whose files slowpath was compared with; None: not a repository
    licence: str


class Figure(NamedTuple):
    """A figure or table, or a file of an artefact, that the documentation compares with."""

    name: str  # as in the paper; a plain word for a file of the artefact that no figure prints
    title: str
    needs: str  # files of the artefact, or what the user measures or has
    page: str  # page of the documentation, below `docs`
    compute: str | None  # function that returns a `Plan` for a `Source`, as `module:NAME`
    artefact: Artefact | None = None
    unavailable: str | None = None  # reason for the missing function
    axis: str | None = None  # name of the x-axis if items are numbers


class Paper(NamedTuple):
    """A paper with the figures that the documentation compares with."""

    name: str
    authors: str  # with venue and year
    title: str
    doi: str | None
    figures: tuple[Figure, ...]

    def figure_names(self) -> list[str]:
        """Return the names of the paper's figures."""
        return [one.name for one in self.figures]


_GUARANTEES = "slowpath.reproduce.guarantees"
_INSIGHTS = "slowpath.reproduce.insights"
_NFP_PRED = Artefact(
    "programs, predictions and measurements",
    "https://github.com/johannes-krude/nfp-pred-artifacts",
    "6132d4b2aa8390df6294bd62657add084b5d4469",
    "AGPL-3.0",
)
_YALA = Artefact(
    "measurements of FlowMonitor on BlueField-2",
    "https://github.com/NetX-lab/Yala",
    "8390695",
    "BSD-3-Clause",
)
_CLARA = Artefact(
    "measurements and optimisation problems of Clara",
    "https://github.com/824728350/Clara",
    "eea38c5",
    "none; slowpath contains no file of it",
)
_REPORTS = "data-paper/programs/*.asm and either data-paper/predictions/*.k.ereport or summary.json"
_MEASURED = f"{_REPORTS}; for measured values also data-paper/measured-throughput, or *.jsonl.gz"
_SIMULATED = (
    "slowpath repeats the experiment on a simulated NIC, which is not part of the command: "
    "bench/contention_simulated.py in a checkout"
)
_FLOWMON = "profile/flowmon/yala_mem_train, or memory-train.csv"
_CONTENTION_PAGE = "explanation/contention-accuracy.md"
_INSIGHTS_PAGE = "explanation/insights-accuracy.md"


def _simulated(name: str, title: str, section: str) -> Figure:
    return Figure(
        name,
        title,
        "a simulated NIC",
        f"{_CONTENTION_PAGE}#{section}",
        None,
        unavailable=_SIMULATED,
    )


PAPERS = (
    Paper(
        "throughput-guarantees",
        "Krude et al., CoNEXT 2021",
        "Determination of Throughput Guarantees for Processor-based SmartNICs",
        "10.1145/3485983.3494842",
        (
            Figure(
                "table-2",
                "bit rates: naive bound, slowest satisfiable path, slowest measured path",
                _MEASURED,
                "reference/targets.md#agilio-cx-2x40",
                f"{_GUARANTEES}:bit_rates",
                _NFP_PRED,
            ),
            Figure(
                "table-3",
                "time of the analysis until the slowest satisfiable path",
                _REPORTS,
                "explanation/performance.md#time-to-the-exact-guarantee",
                f"{_GUARANTEES}:seconds",
                _NFP_PRED,
            ),
            Figure(
                "table-4",
                "time of the analysis without some of its parts",
                "variants of the search",
                "explanation/performance.md#contribution-of-each-part",
                None,
                unavailable="the installed engine has no variants of its search: "
                "cargo run --release -p ablation in a checkout measures them",
            ),
            Figure(
                "figure-8",
                "packet rate of a count-min sketch by its number of hash functions",
                _MEASURED,
                "explanation/measuring-accuracy.md#a-guarantee-beside-a-measurement-of-the-card",
                f"{_GUARANTEES}:count_min",
                _NFP_PRED,
                axis="hash functions",
            ),
            Figure(
                "paths",
                "all satisfiable paths of programs (predictions of the artefact)",
                _REPORTS,
                "reference/targets.md#agilio-cx-2x40",
                f"{_GUARANTEES}:paths",
                _NFP_PRED,
            ),
            Figure(
                "listings",
                "compiled programs (listings of the artefact)",
                "data-paper/programs/*.bpf.o and data-paper/programs/*.asm",
                "explanation/compile.md#evidence",
                f"{_GUARANTEES}:listings",
                _NFP_PRED,
            ),
        ),
    ),
    Paper(
        "performance-models",
        "Scholz et al., ANCS 2021",
        "A Framework for Reproducible Data Plane Performance Modeling",
        "10.1145/3493425.3502756",
        (
            Figure(
                "figure-2",
                "cost of a packet by the entries of an exact-match table",
                "measured on this machine: table-exact-entries/points.csv of slowpath calibrate",
                "explanation/experiments.md#the-table-of-the-paper",
                "slowpath.reproduce.table_models:table_entries",
            ),
            Figure(
                "figure-3",
                "received rate of an NFP-4000 that recirculates packets",
                "a load generator and an NFP-4000 card",
                "explanation/experiments.md#recirculation",
                None,
                unavailable="it needs a load generator and an NFP-4000 card; slowpath calibrate "
                "--testbed p4 --component recirculation writes the program",
            ),
        ),
    ),
    Paper(
        "chains",
        "Krude et al., NetPL 2019",
        "Optimizing Programs for the Network",
        None,
        (
            Figure(
                "example",
                "size of a load balancer after a firewall (slide Removing Redundancies)",
                "included data: chain.yaml in examples/chain of a checkout",
                "explanation/chains-accuracy.md#the-example",
                "slowpath.reproduce.chains:example",
            ),
        ),
    ),
    Paper(
        "contention",
        "Wu et al.",
        "Tomur: Traffic-Aware Performance Prediction of On-NIC Network Functions with "
        "Multi-Resource Contention",
        None,
        (
            Figure(
                "table-5",
                "error of predictions for FlowMonitor beside memory competitors",
                _FLOWMON,
                f"{_CONTENTION_PAGE}#published-rows",
                "slowpath.reproduce.contention:flow_monitor",
                _YALA,
            ),
            _simulated("table-2", "error for mixes of functions", "mixes-of-functions"),
            _simulated("table-3", "error with two contended resources", "two-resources"),
            _simulated("table-4", "error of compositions by execution pattern", "two-resources"),
            _simulated("table-6", "placements by several policies", "placement"),
            _simulated("table-7", "correct diagnoses of the bottleneck", "diagnosis"),
            _simulated("table-8", "error by the plan of profiling", "choice-of-mixes"),
        ),
    ),
    Paper(
        "insights",
        "Qiu et al., SOSP 2021",
        "Automated SmartNIC Offloading Insights for Network Functions",
        "10.1145/3477132.3483583",
        (
            Figure(
                "figure-8",
                "error of predicted instructions by block",
                "programs compiled with the vendor's compiler",
                f"{_INSIGHTS_PAGE}#instructions-of-blocks",
                None,
                unavailable="it needs programs that the vendor's compiler compiled; "
                "bench/insights_blocks.py in a checkout evaluates other programs",
            ),
            Figure(
                "figure-9",
                "precision and recall of accelerated algorithms",
                "the labelled LLVM programs of the artefact",
                f"{_INSIGHTS_PAGE}#accelerators",
                None,
                unavailable="slowpath does not read the labelled programs of the authors; "
                "bench/accelerators.py in a checkout judges functions of 54 public projects",
            ),
            Figure(
                "figure-11",
                "advised numbers of cores (training rows of the artefact)",
                "hit.csv.gz, miss.csv.gz, as in docs/reference/insights-files.md#functions",
                f"{_INSIGHTS_PAGE}#cores",
                f"{_INSIGHTS}:cores",
                _CLARA,
            ),
            Figure(
                "figure-14",
                "best pairs of functions on one card (training groups of the artefact)",
                "train.jsonl.gz, as in docs/reference/insights-files.md#groups",
                f"{_INSIGHTS_PAGE}#pairs",
                f"{_INSIGHTS}:colocation",
                _CLARA,
            ),
            Figure(
                "placement",
                "cost of placements of structures (optimisation problems of the artefact)",
                "placement.json, as in docs/reference/insights-files.md#structures-and-memories",
                f"{_INSIGHTS_PAGE}#placement-and-order",
                f"{_INSIGHTS}_memory:placement",
                _CLARA,
            ),
            Figure(
                "coalescing",
                "memory accesses by the order of variables (orders of the artefact)",
                "coalescing.json, as in docs/reference/insights-files.md#variables-and-blocks",
                f"{_INSIGHTS_PAGE}#placement-and-order",
                f"{_INSIGHTS}_memory:coalescing",
                _CLARA,
            ),
            Figure(
                "figure-15",
                "throughput gained by spreading state over two memories",
                "included data: udp_counter.json in examples/insights of a checkout",
                f"{_INSIGHTS_PAGE}#placement-and-order",
                f"{_INSIGHTS}_memory:spreading",
            ),
        ),
    ),
)


def all_figures() -> Iterator[tuple[Paper, Figure]]:
    """Yield each figure with its paper."""
    for paper in PAPERS:
        for figure in paper.figures:
            yield paper, figure


_REF = "ref: "


class Source:
    """The user's copy of an artefact (published data or programs), as folders or single files."""

    def __init__(self, paths: Sequence[str], figure: Figure) -> None:
        """Store the paths of the copy, and the figure that is recomputed from it.

        Raises:
            OptionError: if no path is given.
            InputError: if a path does not exist.
        """
        if not paths:
            raise OptionError(
                codes.MISSING_ARGUMENT, "PATH", f"name the local path of {wanted(figure)}"
            )
        self.figure = figure
        self.paths = [Path(path) for path in paths]
        for path in self.paths:
            if not path.exists():
                raise InputError(codes.NO_SUCH_FILE, str(path), NO_SUCH_FILE)

    def files(self, *patterns: str) -> list[Path]:
        """Return the files that match the first of these globs with any match.

        A folder is searched for the whole glob, and for its last part alone. A single file matches
        by its name.
        """
        for pattern in patterns:
            found = sorted(set(self._matching(pattern)))
            if found:
                return found
        return []

    def _matching(self, pattern: str) -> Iterator[Path]:
        name = pattern.rpartition("/")[2]
        for path in self.paths:
            if path.is_file():
                yield from [path] if path.match(name) else []
            else:
                # A clone has the whole pattern, a folder of single files only the name.
                for tried in dict.fromkeys((pattern, name)):
                    found = [one for one in path.glob(tried) if one.is_file()]
                    if found:
                        yield from found
                        break

    def file(self, *patterns: str) -> Path | None:
        """Return the first file that `files` finds for these globs; None without one."""
        return next(iter(self.files(*patterns)), None)

    def needed(self, *patterns: str) -> list[Path]:
        """Return the files that match the first of these globs with any match.

        Raises:
            InputError: if there are none; the error says where the artefact is published.
        """
        found = self.files(*patterns)
        if not found:
            raise self.missing(" or ".join(patterns))
        return found

    def missing(self, what: str) -> InputError:
        """Return the error about files that the copy lacks; `what` describes them."""
        where = ", ".join(map(str, self.paths))
        reason = f"has no {what}; name the local path of {wanted(self.figure)}"
        return InputError(codes.ARTEFACT_INCOMPLETE, where, reason)

    def damaged(self, file: Path, reason: str) -> InputError:
        """Return the error about a file whose content is not that of the artefact.

        `reason` says what is wrong.
        """
        again = f"{reason}; get it again from {place(self.figure)}"
        return InputError(codes.ARTEFACT_DAMAGED, str(file), again)

    def revisions(self) -> list[str]:
        """Return the commit of each path that is a Git checkout."""
        return [one for path in self.paths if (one := _commit(path)) is not None]

    def warnings(self) -> list[Coded]:
        """Return a warning for each Git checkout at another commit than the one in the registry."""
        artefact = self.figure.artefact
        if artefact is None or artefact.revision is None:
            return []
        return [
            Coded(
                codes.ARTEFACT_REVISION,
                f"{path}: is at commit {found[:7]}, but slowpath was compared with commit "
                f"{artefact.revision[:7]}; the data may differ",
            )
            for path in self.paths
            if (found := _commit(path)) is not None and not found.startswith(artefact.revision)
        ]


def wanted(figure: Figure) -> str:
    """Describe the data that a figure needs and where to get them, for error messages."""
    at = "" if figure.artefact is None else f", from {place(figure)}"
    return f"the data: {figure.needs}{at}"


def place(figure: Figure) -> str:
    """Return the address of a figure's artefact, with the commit."""
    artefact = figure.artefact
    if artefact is None:
        return figure.needs
    at = "" if artefact.revision is None else f" at commit {artefact.revision[:7]}"
    return f"{artefact.address}{at}"


def _commit(folder: Path) -> str | None:
    """Return the commit of a Git checkout; None for other folders, or if it is unknown."""
    git = folder / ".git"
    if not git.is_dir():
        return None
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith(_REF):
            return head
        name = head.removeprefix(_REF)
        loose = git / name
        if loose.is_file():
            return loose.read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    found = (line.partition(" ") for line in packed)
    return next((commit for commit, _, ref in found if ref == name), None)
