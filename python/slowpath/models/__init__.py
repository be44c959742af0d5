"""The slice `fit`: models of measured curves, derived from data (Scholz et al., ANCS 2021, § 2.2).

Users of this folder need `points.points_of` (measured points), `parts.Options` (settings),
`fitting.fit` (a document that JSON can hold) and `evaluation.evaluate` (its value at some x, with
an interval; formulas: docs/models.md). All need numpy and scipy (extra `models`).
"""
