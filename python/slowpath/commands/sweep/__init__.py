"""The command `slowpath sweep`: a program's cost by a definition of its source."""
