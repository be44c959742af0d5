"""Documents: their JSON Schemas, their types in Python, and validation."""
