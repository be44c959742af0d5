"""Shows, by calls with chosen inputs, that a function computes the algorithm of an accelerator."""
