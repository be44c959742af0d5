"""The advised placement of a case, and what is said about it."""
