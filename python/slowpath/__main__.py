"""Entry point of `python -m slowpath`, the same as the command `slowpath`."""

from slowpath.main import main

main()
