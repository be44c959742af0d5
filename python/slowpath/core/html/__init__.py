"""The kit that all HTML pages are made of."""
