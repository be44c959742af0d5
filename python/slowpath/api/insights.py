"""The commands `slowpath insights` as Python functions; `slowpath insights FILE` is `advise`."""

from typing import TYPE_CHECKING, Unpack

from slowpath.api.options import (
    File,
    InsightsAcceleratorsOptions,
    InsightsBlocksOptions,
    InsightsCoalescingOptions,
    InsightsColocationOptions,
    InsightsCoresOptions,
    InsightsCountsOptions,
    InsightsGraphOptions,
    InsightsOptions,
    InsightsPlacementOptions,
)
from slowpath.core.calls import interface, run
from slowpath.core.results import Result
from slowpath.insights.accelerators.documents import Accelerated, AcceleratorsReport, Alike
from slowpath.insights.blocks.documents import BlocksReport, PredictedProgram
from slowpath.insights.cli import (
    ACCELERATORS,
    ADVICE,
    BLOCKS,
    COALESCING,
    COLOCATION,
    CORES,
    COUNTS,
    GRAPH,
    PLACEMENT,
)
from slowpath.insights.layout.documents import CoalescingReport, ElementLayout
from slowpath.insights.placement.documents import PlacementCase, StatePlacement
from slowpath.insights.trace.documents import CountedStructure, CountsReport

if TYPE_CHECKING:  # these modules import packages of extras
    from slowpath.insights.advice.documents import (
        AdviceGiven,
        AdviceReport,  # noqa: F401 - in a text
    )
    from slowpath.insights.click.documents import (
        GraphElement,
        GraphReport,  # noqa: F401 - in a text
    )
    from slowpath.insights.cores.documents import (
        ColocationReport,  # noqa: F401 - in a text
        CoresReport,  # noqa: F401 - in a text
        Group,
        Knee,
    )


class Advice(Result["AdviceReport"]):
    """Advice on porting a function to a SmartNIC, by decreasing effect."""

    @property
    def advice(self) -> "list[AdviceGiven]":
        """The recommended changes, each with line, reason and gain."""
        return self.document["advice"]

    def _view(self) -> str:
        from slowpath.insights.advice.page import advice_view

        return advice_view(self.document)


@interface(ADVICE, "insights")
def advise(file: File, **options: Unpack[InsightsOptions]) -> Advice:
    """Advise how to port the function in a source file to a SmartNIC.

    Raises:
        OptionError: if options are invalid or do not fit together.
        InputError: if a file cannot be read, compiled or used, or a package is missing.
    """
    return Advice(run(ADVICE, "insights", {"file": file, **options}))


class Graph(Result["GraphReport"]):
    """Counts of all elements of a Click configuration, and advice."""

    @property
    def elements(self) -> "list[GraphElement]":
        """The elements, each with its packets, instructions and state."""
        return self.document["elements"]


@interface(GRAPH, "insights graph")
def graph(file: File, **options: Unpack[InsightsGraphOptions]) -> Graph:
    """Count all elements of a Click configuration over a trace, and advise on them.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file cannot be read, compiled or used, or a package is missing.
    """
    return Graph(run(GRAPH, "insights graph", {"file": file, **options}))


class Counts(Result[CountsReport]):
    """Numbers of runs of basic blocks and of accesses to structures, for a trace of packets."""

    @property
    def structures(self) -> list[CountedStructure]:
        """The data structures, each with its numbers of accesses."""
        return self.document["structures"]


@interface(COUNTS, "insights counts")
def counts(file: File, **options: Unpack[InsightsCountsOptions]) -> Counts:
    """Count the memory accesses of a function for a trace of packets.

    Raises:
        OptionError: if options are invalid or do not fit together.
        InputError: if a file cannot be read, compiled or used, or a package is missing.
    """
    return Counts(run(COUNTS, "insights counts", {"file": file, **options}))


class Blocks(Result[BlocksReport]):
    """Predicted instruction counts of basic blocks on a SmartNIC."""

    @property
    def programs(self) -> list[PredictedProgram]:
        """The programs, each with its functions and their basic blocks."""
        return self.document["programs"]


@interface(BLOCKS, "insights blocks")
def blocks(file: File, **options: Unpack[InsightsBlocksOptions]) -> Blocks:
    """Predict the instructions of each basic block on a SmartNIC.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the file cannot be read or compiled, or a package is missing.
    """
    return Blocks(run(BLOCKS, "insights blocks", {"file": file, **options}))


class Accelerators(Result[AcceleratorsReport]):
    """Functions that an accelerator of a SmartNIC can replace."""

    @property
    def proved(self) -> list[Accelerated]:
        """Functions that compute the same as an accelerator."""
        return self.document["proved"]

    @property
    def alike(self) -> list[Alike]:
        """Functions that only look similar to an accelerator, without a proof."""
        return self.document["alike"]


@interface(ACCELERATORS, "insights accelerators")
def accelerators(file: File, **options: Unpack[InsightsAcceleratorsOptions]) -> Accelerators:
    """Find functions that an accelerator of a SmartNIC can replace.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the file cannot be read or compiled, or a package is missing.
    """
    return Accelerators(run(ACCELERATORS, "insights accelerators", {"file": file, **options}))


class Cores(Result["CoresReport"]):
    """Recommended numbers of cores."""

    @property
    def functions(self) -> "list[Knee]":
        """For each function, the number of cores and the predicted throughput."""
        return self.document["functions"]


@interface(CORES, "insights cores")
def cores(**options: Unpack[InsightsCoresOptions]) -> Cores:
    """Recommend a number of cores for each function.

    Raises:
        OptionError: if options are invalid or do not fit together.
        InputError: if a file cannot be read or used, or a package is missing.
    """
    return Cores(run(CORES, "insights cores", {**options}))


class Colocation(Result["ColocationReport"]):
    """Rankings of the pairs of functions in groups."""

    @property
    def groups(self) -> "list[Group]":
        """The groups of functions, each with its ranked pairs."""
        return self.document["results"]


@interface(COLOCATION, "insights colocation")
def colocation(**options: Unpack[InsightsColocationOptions]) -> Colocation:
    """Rank the pairs of functions that share a SmartNIC.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file cannot be read or used, or a package is missing.
    """
    return Colocation(run(COLOCATION, "insights colocation", {**options}))


class StructurePlacement(Result[StatePlacement]):
    """A memory for each structure of a function."""

    @property
    def cases(self) -> list[PlacementCase]:
        """The placement problems in the file, each with its solution."""
        return self.document["results"]


@interface(PLACEMENT, "insights placement")
def placement(file: File, **options: Unpack[InsightsPlacementOptions]) -> StructurePlacement:
    """Choose a memory for each structure of a function.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the file cannot be read or used, or a package is missing.
    """
    return StructurePlacement(run(PLACEMENT, "insights placement", {"file": file, **options}))


class Coalescing(Result[CoalescingReport]):
    """Orders of variables that need few memory accesses."""

    @property
    def elements(self) -> list[ElementLayout]:
        """The elements, each with its order of variables."""
        return self.document["results"]


@interface(COALESCING, "insights coalescing")
def coalescing(file: File, **options: Unpack[InsightsCoalescingOptions]) -> Coalescing:
    """Find the order of variables with the fewest memory accesses.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the file cannot be read or used.
    """
    return Coalescing(run(COALESCING, "insights coalescing", {"file": file, **options}))
