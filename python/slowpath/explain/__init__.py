"""The command `slowpath explain`: the cause and the remedy of a code."""
