"""Calibration: experiments on this machine, and the target file derived from them."""
