"""Tests that the page about P4 states the constructs that slowpath really translates."""

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
    """Check that examples of unsupported constructs have no other error.

    Another error would make the table of supported constructs wrong.
    """
    for example in EXAMPLES:
        if architecture in example.only or (architecture == "psa" and example.name in PSA):
            for to in TRANSLATIONS:
                found = faults(example, architecture, to)
                assert not [one for one in found if one[0] != _UNSUPPORTED], (example.name, to)
