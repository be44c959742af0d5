"""Models of measured curves, derived from data alone (Scholz et al., ANCS 2021, § 2.2, and on).

Who uses this needs four things: `points.Points` (what was measured), `options.Options` (how to
fit), `fitting.fit` (yields a document, see `documents.FittedModel`, that JSON can hold), and
`evaluation.evaluate` (what such a document says at some x, with an interval). All need numpy and
scipy, which the extra `models` brings.
"""
