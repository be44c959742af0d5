"""Cores and what they share as a closed queueing network: threads go round between them."""
