"""The test bed `load`: sends packets to programs at given rates; measures loss and latency."""
