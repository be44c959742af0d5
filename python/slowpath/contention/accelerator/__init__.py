"""Accelerators with request queues that are served round robin: white-box models (paper, 4.1.1)."""
