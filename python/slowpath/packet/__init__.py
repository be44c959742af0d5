"""Packets of witnesses: bytes, names of headers, packet files."""
