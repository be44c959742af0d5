"""The command `slowpath show`, which describes BPF objects, calibrations and pipelines."""
