"""Profiles: measurements of a function on a device beside competitors, as tables in files."""
