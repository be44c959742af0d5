"""The command `show`: content of BPF objects and of calibrations."""
