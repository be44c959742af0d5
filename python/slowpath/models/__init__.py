"""Models of measured curves, derived from data alone (Scholz et al., ANCS 2021, § 2.2, and on).

Who uses this needs four things: `points.points_of` (what was measured), `options.Options` (how to
fit), `fitting.fit` (yields a document, see `documents.FittedModel`, that JSON can hold), and
`evaluation.evaluate` (what such a document says at some x, with an interval; docs/models.md has the
formulas). All need numpy and scipy, which the extra `models` brings; `packages.need` says so.
"""
