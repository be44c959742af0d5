"""How many cores a function is worth: throughput and latency by cores, and the advised number."""
