"""A rewritten chain as a page: its programs before and after, what is left of them, and why."""
