//! Models that `slowpath fit` derives: what a component takes, by one parameter, in segments with a
//! function each. `docs/models.md` says how a document of a model is evaluated; this is the same for
//! models of one parameter, without intervals.

/// A function of one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `p0 + p1 x + … + pN x^N`.
    Polynomial,
    /// `a + b ln(x)`.
    Logarithm,
    /// `a + b/x`.
    Hyperbola,
    /// `a + b exp(c x)`.
    Exponential,
    /// A constant `a` and a function, of which the lesser or the larger one counts.
    Limited(Way, Side),
}

/// Which of a constant and a function counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The lesser one.
    Min,
    /// The larger one.
    Max,
}

/// A function that has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `b x`.
    Proportional,
    /// `b / x`.
    Reciprocal,
    /// `b + c x`.
    Line,
}

impl Shape {
    /// A shape of a name such as `min-line`, and how many parameters it has.
    fn limited(name: &str) -> Option<(Shape, usize)> {
        let (way, name) = match (name.strip_prefix("min-"), name.strip_prefix("max-")) {
            (Some(rest), _) => (Way::Min, rest),
            (None, Some(rest)) => (Way::Max, rest),
            (None, None) => return None,
        };
        let (side, parameters) = match name {
            "proportional" => (Side::Proportional, 2),
            "reciprocal" => (Side::Reciprocal, 2),
            "line" => (Side::Line, 3),
            _ => return None,
        };
        Some((Shape::Limited(way, side), parameters))
    }
}

/// A function template, such as `inverse-polynomial-1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// The function, or what it is 1 divided by.
    pub shape: Shape,
    /// Whether it is 1 divided by the function.
    pub inverse: bool,
    /// How many parameters it has.
    pub parameters: usize,
}

impl Template {
    /// Polynomials have at most this degree (paper, section 2.2).
    const DEGREES: usize = 5;

    /// The template of a name that `slowpath fit` writes.
    pub fn named(name: &str) -> Option<Template> {
        let (inverse, name) = match name.strip_prefix("inverse-") {
            Some(rest) => (true, rest),
            None => (false, name),
        };
        let (shape, parameters) = match name {
            "logarithm" => (Shape::Logarithm, 2),
            "hyperbola" => (Shape::Hyperbola, 2),
            "exponential" => (Shape::Exponential, 3),
            _ => match Shape::limited(name) {
                Some(found) => found,
                None => {
                    let degree: usize = name.strip_prefix("polynomial-")?.parse().ok()?;
                    (Shape::Polynomial, degree.checked_add(1)?)
                }
            },
        };
        let known = shape != Shape::Polynomial || parameters <= Self::DEGREES + 1;
        known.then_some(Template { shape, inverse, parameters })
    }

    /// Its value; not a number where it has none.
    fn value(self, parameters: &[f64], x: f64) -> f64 {
        let p = |at: usize| parameters.get(at).copied().unwrap_or(0.0);
        let value = match self.shape {
            Shape::Polynomial => parameters.iter().rev().fold(0.0, |sum, p| sum * x + p),
            Shape::Logarithm | Shape::Hyperbola if x <= 0.0 => f64::NAN,
            Shape::Logarithm => p(0) + p(1) * x.ln(),
            Shape::Hyperbola => p(0) + p(1) / x,
            Shape::Exponential => p(0) + p(1) * (p(2) * x).exp(),
            Shape::Limited(_, Side::Reciprocal) if x <= 0.0 => f64::NAN,
            Shape::Limited(way, side) => {
                let function = match side {
                    Side::Proportional => p(1) * x,
                    Side::Reciprocal => p(1) / x,
                    Side::Line => p(1) + p(2) * x,
                };
                match way {
                    Way::Min => p(0).min(function),
                    Way::Max => p(0).max(function),
                }
            }
        };
        match self.inverse {
            false => value,
            true if value > 0.0 => 1.0 / value,
            true => f64::NAN,
        }
    }
}

/// A part of a model, with a function of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The first value of the parameter that it was fitted to.
    pub from: f64,
    /// The last one.
    pub to: f64,
    /// Its function.
    pub template: Template,
    /// As many as the template has.
    pub parameters: Vec<f64>,
    /// What is taken from the parameter before the function is applied.
    pub origin: f64,
    /// What values are raised to.
    pub at_least: Option<f64>,
    /// What values are lowered to.
    pub at_most: Option<f64>,
    /// Whether it goes on beyond its ends, as first or last segment.
    pub extrapolates: bool,
}

impl Segment {
    fn at(&self, x: f64) -> f64 {
        let value = |x: f64| self.template.value(&self.parameters, x - self.origin);
        let mut found = value(x);
        if !found.is_finite() {
            found = value(x.clamp(self.from, self.to));
        }
        if found.is_nan() {
            return found; // no limit makes a value of it
        }
        let found = self.at_least.map_or(found, |least| found.max(least));
        self.at_most.map_or(found, |most| found.min(most))
    }
}

/// What is expected beyond the functions where something was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// Of the parameter.
    pub x: f64,
    /// As a share of the functions' value, more than -1.
    pub share: f64,
}

/// A model of what one component takes, by one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// What was measured.
    pub description: String,
    /// What was varied, such as `entries`.
    pub parameter: String,
    /// The calls of the kernel whose price changes with it as the model says, as in `timing.call`.
    pub calls: Vec<String>,
    /// Whether these calls find something.
    pub found: bool,
    /// Symmetric mean absolute percentage error, in parts: of the points that it was fitted to.
    pub error: f64,
    /// The same of points that it was not fitted to, each left out in turn.
    pub held_out: Option<f64>,
    /// SHA-256 of the measured data.
    pub data: String,
    /// In ascending order; at least one.
    pub segments: Vec<Segment>,
    /// The structure that is finer than the functions, in ascending order; often empty.
    pub residuals: Vec<Residual>,
}

impl Fitted {
    /// Nanoseconds at a value of the parameter; `None` where the function has no finite value.
    pub fn at(&self, x: f64) -> Option<f64> {
        let value = self.function(x)? * (1.0 + self.residual(x));
        value.is_finite().then_some(value)
    }

    /// What the functions say, without what neighbouring points have in common beside.
    fn function(&self, x: f64) -> Option<f64> {
        let number = self.segments.iter().rposition(|s| s.from <= x).unwrap_or(0);
        let segment = self.segments.get(number)?;
        let value = match self.segments.get(number + 1) {
            Some(next) if x > segment.to => {
                let (begin, end) = (segment.at(segment.to), next.at(next.from));
                begin + (end - begin) * (x - segment.to) / (next.from - segment.to)
            }
            Some(_) if x >= segment.from => segment.at(x),
            _ if segment.extrapolates => segment.at(x),
            _ => segment.at(x.clamp(segment.from, segment.to)),
        };
        Some(value)
    }

    /// The share that is added to the functions: on a straight line between two points, and beyond
    /// all of them that of the last one.
    fn residual(&self, x: f64) -> f64 {
        let next = self.residuals.partition_point(|residual| residual.x <= x);
        match (next.checked_sub(1).and_then(|at| self.residuals.get(at)), self.residuals.get(next))
        {
            (Some(left), Some(right)) => {
                left.share + (right.share - left.share) * (x - left.x) / (right.x - left.x)
            }
            (Some(end), None) | (None, Some(end)) => end.share,
            (None, None) => 0.0,
        }
    }

    /// The values of the parameter that were measured: the least and the greatest one.
    pub fn range(&self) -> (f64, f64) {
        let from = self.segments.first().map_or(0.0, |s| s.from);
        (from, self.segments.last().map_or(from, |s| s.to))
    }

    /// How many nanoseconds more a call takes at `x` than at 1; `None` where the model has no value.
    pub fn growth(&self, x: f64) -> Option<f64> {
        Some((self.at(x)? - self.at(1.0)?).max(0.0))
    }
}

#[cfg(test)]
mod tests;
