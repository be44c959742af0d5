"""Findings about programs, and their formats for code review: SARIF, GitHub, JUnit, Markdown."""
