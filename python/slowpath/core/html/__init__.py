"""Builds elements, charts and graphs, of which all HTML pages consist."""
