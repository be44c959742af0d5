"""Settings of a project: `slowpath.toml`, `[tool.slowpath]` of pyproject.toml, and variables."""
