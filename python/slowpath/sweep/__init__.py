"""The command `slowpath sweep`, which computes guarantees for many values of a C macro."""
