"""The command `bound`: guarantees of programs, and analyses for other commands."""
