"""Catalogue of all templates.

The hyperbola describes caches; the limited templates describe benchmarks that run into a limit.
"""

from slowpath.models.templates.curves import Exponential, Hyperbola, Inverse, Logarithm
from slowpath.models.templates.limited import LINE, PROPORTIONAL, RECIPROCAL, Limited
from slowpath.models.templates.polynomial import DEGREES, Polynomial
from slowpath.models.templates.template import Template

_PLAIN: tuple[Template, ...] = (
    *(Polynomial(degree) for degree in DEGREES),
    Logarithm(),
    Hyperbola(),
    Exponential(),
)
_INVERTED: tuple[Template, ...] = tuple(
    Inverse(one) for one in _PLAIN if one.name not in {"polynomial-0", "hyperbola"}
)
TEMPLATES: tuple[Template, ...] = tuple(
    sorted((*_PLAIN, *_INVERTED), key=lambda template: template.rank)
)
"""Templates of segments, simple ones first. The inverse of a constant would be a constant."""
_LIMITED: tuple[Template, ...] = tuple(
    Limited(way, side) for side in (PROPORTIONAL, RECIPROCAL, LINE) for way in ("min", "max")
)
WHOLE: tuple[Template, ...] = (
    *_LIMITED,
    *(Inverse(one) for one in _LIMITED if one.name.endswith(LINE.name)),
)
"""Templates of whole curves. The inverse of a limited proportion is a limited reciprocal, and vice
versa."""
BY_NAME = {template.name: template for template in (*TEMPLATES, *WHOLE)}
"""Templates by their names in documents."""
