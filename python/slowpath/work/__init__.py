"""Watched work: where the engine works, what ends it, what becomes of it."""
