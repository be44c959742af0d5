"""The command `slowpath explain`, which prints the cause and the remedy of an error code."""
