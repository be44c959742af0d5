"""The memory subsystem: black-box models, chosen by cross-validation (paper, 4.1.2 and 5.1.2)."""
