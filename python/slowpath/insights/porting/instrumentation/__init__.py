"""A module that says what it does when it runs: blocks that begin, accesses to memory."""
