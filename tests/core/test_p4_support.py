"""Tests that the page about P4 lists the constructs that slowpath translates."""

import pytest

from p4_support import ARCHITECTURES, EXAMPLES, PSA, TABLE, TRANSLATIONS, faults, support_table
from support import ROOT, check_golden

PAGE = ROOT / "docs/how-to/p4.md"
_UNSUPPORTED = 285


def test_the_table_of_constructs_is_current() -> None:
    text = PAGE.read_text()
    assert TABLE.search(text)
    check_golden(PAGE, TABLE.sub(lambda found: found[1] + support_table() + found[3], text))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_refused_examples_have_no_other_fault(architecture: str) -> None:
    """Check that examples of refused constructs have no other fault; it would distort the table."""
    for example in EXAMPLES:
        if architecture in example.only or (architecture == "psa" and example.name in PSA):
            for to in TRANSLATIONS:
                found = faults(example, architecture, to)
                assert not [one for one in found if one[0] != _UNSUPPORTED], (example.name, to)
