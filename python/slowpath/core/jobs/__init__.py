"""Supervised work: worker process, memory, signals, pools."""
