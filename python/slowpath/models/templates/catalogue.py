"""All templates: those of the paper (§ 2.2), and the hyperbola, which caches call for."""

from slowpath.models.templates.exponential import Exponential
from slowpath.models.templates.inverse import Inverse
from slowpath.models.templates.logarithm import Hyperbola, Logarithm
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
"""Simple ones first. The inverse of a constant would be a constant."""
BY_NAME = {template.name: template for template in TEMPLATES}
"""By the names that documents have."""
