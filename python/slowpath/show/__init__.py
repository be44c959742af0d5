"""The command `slowpath show`, which describes BPF objects and calibrations."""
