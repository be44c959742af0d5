"""The commands `slowpath chain` as Python functions."""

from argparse import Namespace
from typing import Literal, Unpack

from slowpath.api.options import (
    ChainBoundOptions,
    ChainFactsOptions,
    ChainOptimizeOptions,
    ChainPlanOptions,
    ChainVerifyOptions,
    File,
)
from slowpath.bounds.api import Results, results_of
from slowpath.bounds.flags import written_options
from slowpath.chain.cli import BOUND, FACTS, OPTIMIZE, PLAN, VERIFY
from slowpath.chain.documents import (
    ChainProgram,
    ChainReport,
    Fused,
    HotSpot,
    PlanReport,
    VerifyReport,
)
from slowpath.chain.report_types import Counterexample
from slowpath.core.calls import call, interface, run
from slowpath.core.results import Result, Row, aligned, flat


@interface(BOUND, "chain bound")
def bound(chain: File, **options: Unpack[ChainBoundOptions]) -> Results:
    """Guarantee the speed of a chain of programs.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the description or an object cannot be read.
    """

    def analyse(args: Namespace) -> Results:
        from slowpath.chain.run import sessions_of

        parts = sessions_of(args.chain, written_options(args, [args.chain]))
        return results_of(parts, "chain bound")

    return call(BOUND, "chain bound", {"chain": chain, **options}, analyse)


class _ChainResult(Result[ChainReport]):
    _shows_text = True

    @property
    def programs(self) -> list[ChainProgram]:
        """The programs of the chain, in its order."""
        return self.document["programs"]

    @property
    def stopped(self) -> str | None:
        """The reason why the work ended early; None if it is complete."""
        return self.document["stopped"]


class Facts(_ChainResult):
    """Facts about every packet that reaches the programs of a chain; `rows` has a row for each."""

    def _document_rows(self) -> list[Row]:
        return aligned(
            {"program": program["name"], **flat(fact)}
            for program in self.programs
            for fact in program["facts"]
        )


@interface(FACTS, "chain facts")
def facts(chain: File, **options: Unpack[ChainFactsOptions]) -> Facts:
    """Find facts about every packet that reaches each program of a chain.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the chain cannot be read.
    """
    return Facts(run(FACTS, "chain facts", {"chain": chain, **options}))


class Optimization(_ChainResult):
    """The programs of a chain, rewritten to run faster in it; `rows` has a row for each program."""

    _rows = "programs"

    @property
    def fused(self) -> Fused | None:
        """The program that all programs were fused to; None without `fuse`."""
        return self.document["fused"]


@interface(OPTIMIZE, "chain optimize")
def optimize(chain: File, **options: Unpack[ChainOptimizeOptions]) -> Optimization:
    """Rewrite the programs of a chain to run faster in it, and prove that they do the same.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the chain cannot be read, or an object cannot be written.
    """
    return Optimization(run(OPTIMIZE, "chain optimize", {"chain": chain, **options}))


class Plan(Result[PlanReport]):
    """Program variants that pay off on the paths of a network, by decreasing gain."""

    _rows = "hot_spots"
    _shows_text = True

    @property
    def hot_spots(self) -> list[HotSpot]:
        """The program variants that pay off, by decreasing gain."""
        return self.document["hot_spots"]


@interface(PLAN, "chain plan")
def plan(topology: File, **options: Unpack[ChainPlanOptions]) -> Plan:
    """Find program variants that pay off on the paths of a network.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the topology or an object cannot be read, or an object cannot be written.
    """
    return Plan(run(PLAN, "chain plan", {"topology": topology, **options}))


class Equivalence(Result[VerifyReport]):
    """The proof that two programs do the same, or a difference; `rows` has a single row."""

    _shows_text = True

    @property
    def outcome(self) -> Literal["equal", "differ", "undecided"]:
        """The result of the comparison."""
        return self.document["outcome"]

    @property
    def counterexample(self) -> Counterexample | None:
        """A packet that shows a difference; None unless the programs differ."""
        return self.document["counterexample"]

    def _document_rows(self) -> list[Row]:
        return [flat(self.document)]


@interface(VERIFY, "chain verify")
def verify(first: File, second: File, **options: Unpack[ChainVerifyOptions]) -> Equivalence:
    """Prove that two programs do the same, or find a difference.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file cannot be read or lacks the program.
    """
    return Equivalence(run(VERIFY, "chain verify", {"first": first, "second": second, **options}))
