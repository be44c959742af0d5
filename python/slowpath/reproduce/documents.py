"""Types of the JSON documents that `slowpath reproduce` writes."""

from typing import TypedDict

from slowpath.core.schema import Document, Warned


class ArtefactSource(TypedDict):
    """Published data or programs, and the place to get them."""

    title: str
    """Content of the artefact."""
    address: str
    """Address of the artefact."""
    revision: str | None
    """Commit whose files slowpath was compared with; null if it has none."""
    licence: str
    """Licence of the artefact."""


class PublishedFigure(TypedDict):
    """A published figure, table or file that the documentation compares with."""

    name: str
    """Name of the figure as the command takes it, such as `table-2`."""
    title: str
    """Content of the figure."""
    needs: str
    """Files or conditions that the command needs."""
    page: str
    """Page of the documentation that compares with the figure, below `docs`."""
    artefact: ArtefactSource | None
    """Published artefact with the files; null if the files are not published ones."""
    unavailable: str | None
    """Reason why the command cannot reproduce the figure; null if it can."""


class PaperFigures(TypedDict):
    """A paper with the figures that the documentation compares with."""

    name: str
    """Name of the paper as the command takes it."""
    authors: str
    """Authors, venue and year."""
    title: str
    """Title of the paper."""
    doi: str | None
    """Digital object identifier; null if the paper has none."""
    figures: list[PublishedFigure]
    """Figures of the paper."""


class FigureList(Document):
    """JSON document of `slowpath reproduce --list`."""

    papers: list[PaperFigures]
    """Papers with their figures."""


class ComparedValue(TypedDict):
    """A published value and the recomputed one."""

    item: str
    """Subject of the value, such as a program or a number of hash functions."""
    quantity: str
    """Compared quantity."""
    unit: str
    """Unit of both values; empty for a plain number."""
    published: float | None
    """Published value; null if it is unknown."""
    ours: float | None
    """Value that slowpath computed; null if there is none."""
    deviation: float | None
    """Our value minus the published one; null if one of them is null."""
    deviation_percent: float | None
    """Deviation in percent of the published value; null if it is unknown or zero."""
    note: str | None
    """Reason for a missing value, or a condition of this value."""


class Deviations(TypedDict):
    """Summary of the deviations of one quantity, by their absolute values."""

    quantity: str
    """Compared quantity."""
    unit: str
    """Unit of the values."""
    compared: int
    """Number of deviations in percent."""
    median_percent: float | None
    """Median deviation in percent."""
    largest_percent: float | None
    """Largest deviation in percent."""
    largest_item: str | None
    """Item with the largest deviation."""
    within_percent: float
    """Limit of `--within`, in percent."""
    within: int
    """Number of deviations up to this limit."""


class Reproduction(Warned):
    """JSON document of `slowpath reproduce PAPER FIGURE`."""

    paper: PaperFigures
    """Paper, with only the reproduced figure."""
    paths: list[str]
    """Files and folders with the data, as the user gave them."""
    revisions: list[str]
    """Commits of those folders that are Git checkouts."""
    complete: bool
    """True if all items were computed; false after Ctrl-C or a deadline."""
    conditions: list[str]
    """Circumstances to know when reading the deviations."""
    results: list[ComparedValue]
    """Compared values."""
    summary: list[Deviations]
    """Summary for each quantity."""
