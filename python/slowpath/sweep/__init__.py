"""The command `slowpath sweep`, which computes guarantees for each value of a C macro."""
