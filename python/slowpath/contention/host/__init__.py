"""Profiles that are measured on this machine: a function in user space beside competitors."""
