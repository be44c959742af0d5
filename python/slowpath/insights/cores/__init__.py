"""Predicts, by a queueing network, throughput on several cores and for co-located functions."""
