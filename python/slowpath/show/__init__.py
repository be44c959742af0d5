"""The slice `show`: contents of BPF objects."""
