"""Fit of core parameters to measurements on this machine."""
