"""Lets `python -m slowpath` be the command `slowpath`."""

from slowpath.main import main

main()
