"""The command `slowpath calibrate`."""
