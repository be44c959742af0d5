"""The slice `calibrate`: experiments on this machine, and the target file that they yield."""
