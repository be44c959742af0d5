"""Derives models from measured curves, as in Scholz et al., ANCS 2021, § 2.2 ("the paper").

A model divides a curve into segments, and describes each by a function. Callers need
`points.points_of` (measured points), `options.Options` (settings), `fitting.fit` (a model as a JSON
document) and `parts.evaluate` (values of a model at given x, with intervals; formulas:
docs/explanation/models.md). All require numpy and scipy (extra `models`).
"""
