"""The command `slowpath reproduce`, which recomputes published figures and compares the values."""
