"""Models for people and for other programs: text, rows, pictures."""
