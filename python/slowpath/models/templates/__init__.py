"""Function templates, and their fit to points."""
