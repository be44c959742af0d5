"""Profiles of network functions, measured on this machine."""
