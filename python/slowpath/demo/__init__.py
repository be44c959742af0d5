"""`slowpath demo`: the analysis of an example that comes with slowpath."""
