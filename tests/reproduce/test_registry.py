"""Tests that the registry of published figures is complete.

It must have every figure with which the documentation compares.
"""

import re
from pathlib import Path

import pytest

from slowpath.core.command import load
from slowpath.reproduce.cli import REPRODUCE
from slowpath.reproduce.registry import PAPERS, Figure, Paper, all_figures
from support import ROOT, slowpath

DOCS = ROOT / "docs"
FIGURES = [(f"{paper.name} {figure.name}", paper, figure) for paper, figure in all_figures()]
COMPUTED = [one for one in FIGURES if one[2].compute is not None]
PRINTED = {
    r"(Table|Figure) (\d+) of the Tomur paper": "contention",
    r"(Table|Figure) (\d+) of Krude et al\.": "throughput-guarantees",
    r"CoNEXT 2021, (table|figure) (\d+)": "throughput-guarantees",
    r"(Table|Figure) (\d+) of Scholz et al\.": "performance-models",
}
"""Regular expressions of mentions in the documentation, each with the name of the cited paper."""


def pages() -> list[tuple[Path, str]]:
    return [(path, path.read_text()) for path in sorted((DOCS / "explanation").glob("*.md"))]


def anchors(text: str) -> set[str]:
    """Return the anchors of headings on a Markdown page, as GitHub derives them."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", PRINTED)
def test_every_figure_that_a_page_names_is_in_the_registry(name: str) -> None:
    known = {one for one, _, _ in FIGURES}
    found = {
        f"{PRINTED[name]} {kind.lower()}-{number}"
        for _, text in pages()
        for kind, number in re.findall(name, text)
    }
    assert found
    assert found <= known


def test_every_comparison_with_clara_is_in_the_registry() -> None:
    """Check that each section of the documentation that cites the paper Clara belongs to a figure.

    The section must be the page of a figure in the registry.
    """
    text = (DOCS / "explanation/insights-accuracy.md").read_text()
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    quoting = {one.partition("\n")[0] for one in sections if "paper of Clara" in one}
    assert len(quoting) >= 4
    shown = {figure.page.partition("#")[2] for _, paper, figure in FIGURES}
    assert {head.lower().replace(" ", "-") for head in quoting} <= shown


@pytest.mark.parametrize(("name", "paper", "figure"), FIGURES)
def test_the_page_of_a_figure_exists(name: str, paper: Paper, figure: Figure) -> None:
    file, _, anchor = figure.page.partition("#")
    assert anchor in anchors((DOCS / file).read_text()), name
    assert name.startswith(paper.name)


@pytest.mark.parametrize(("name", "paper", "figure"), COMPUTED)
def test_the_page_of_a_figure_names_its_command(name: str, paper: Paper, figure: Figure) -> None:
    assert paper.figures
    file = figure.page.partition("#")[0]
    assert f"slowpath reproduce {name}" in (DOCS / file).read_text()


def test_documents_name_only_known_figures() -> None:
    texts = [path.read_text() for path in [*DOCS.rglob("*.md"), ROOT / "README.md"]]
    named = {
        match
        for text in texts
        for match in re.findall(r"slowpath reproduce ([a-z][a-z-]+ [a-z]+-?\d*)", text)
    }
    assert named
    assert named <= {one for one, _, _ in FIGURES}


def test_figures_have_a_function_or_a_reason() -> None:
    for name, _, figure in FIGURES:
        assert (figure.compute is None) == (figure.unavailable is not None), name
        if figure.compute is not None:
            assert callable(load(figure.compute))


def test_names_are_unique_and_sayable() -> None:
    names = [name for name, _, _ in FIGURES]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", one.name) for one in PAPERS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", one.name) for _, _, one in FIGURES)


def test_the_product_contains_no_path_of_our_copies() -> None:
    for path in (ROOT / "python/slowpath/reproduce").glob("*.py"):
        assert "shared/" not in path.read_text()


def test_the_help_names_the_figures_whose_data_a_checkout_includes() -> None:
    included = [one for one in FIGURES if one[2].needs.startswith("included data: ")]
    assert len(included) >= 2
    text = " ".join(REPRODUCE.help)
    for _, paper, figure in included:
        needed = re.fullmatch(r"included data: (\S+) in (\S+) of a checkout", figure.needs)
        assert needed is not None
        assert (ROOT / needed[2] / needed[1]).is_file()
        assert f"{figure.name} of {paper.name} ({needed[2]})" in text


def test_a_glob_without_a_match_lists_the_items() -> None:
    run = slowpath("reproduce", "insights", "figure-15", "examples/insights", "--only", "?")
    assert (run.returncode, run.stdout) == (2, "")
    _, _, listed = run.stderr.splitlines()[0].partition("no item '?'; choose one of ")
    items = listed.split("; ")
    assert len(items) == len(set(items)) > 3
    assert all(re.fullmatch(r"udp-counter(-long-chains)?, IMEM .* as EMEM", one) for one in items)
