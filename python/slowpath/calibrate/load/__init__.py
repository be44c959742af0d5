"""The test bed `load`: programs under offered load, with losses and latencies."""
