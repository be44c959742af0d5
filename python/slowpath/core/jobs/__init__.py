"""Supervised work: worker processes, memory limits, signals, pools."""
