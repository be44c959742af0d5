"""A run as a page: what was measured, what models say of it, and where that was."""
