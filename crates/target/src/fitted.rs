//! Evaluates the models that `slowpath fit` derives from measurements. A model is the time that a
//! component takes, as a function of one parameter. It consists of segments with one function each.
//! `docs/explanation/models.md` defines the evaluation. This module supports models of one
//! parameter, without intervals.

/// Families of functions of one variable `x`, such as polynomials.
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
    /// `min(a, f(x))` or `max(a, f(x))`, for a constant `a` and a function `f`.
    Limited(Extremum, LimitedFunction),
}

/// Choice between the minimum and the maximum of a constant and a function's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extremum {
    /// The minimum.
    Min,
    /// The maximum.
    Max,
}

/// The function that a constant limits from below or above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedFunction {
    /// `b x`.
    Proportional,
    /// `b / x`.
    Reciprocal,
    /// `b + c x`.
    Line,
}

impl Shape {
    /// Parses the name of a function with a limit, such as `min-line`: the minimum of a constant
    /// and a line. Returns its shape and number of coefficients, or `None` if the name is unknown.
    fn limited(name: &str) -> Option<(Shape, usize)> {
        let (extremum, name) = match (name.strip_prefix("min-"), name.strip_prefix("max-")) {
            (Some(rest), _) => (Extremum::Min, rest),
            (None, Some(rest)) => (Extremum::Max, rest),
            (None, None) => return None,
        };
        let (function, parameters) = match name {
            "proportional" => (LimitedFunction::Proportional, 2),
            "reciprocal" => (LimitedFunction::Reciprocal, 2),
            "line" => (LimitedFunction::Line, 3),
            _ => return None,
        };
        Some((Shape::Limited(extremum, function), parameters))
    }
}

/// A family of functions that models can use, such as `inverse-polynomial-1`. Coefficients turn it
/// into one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// Shape of the function, before `inverse` is applied.
    pub shape: Shape,
    /// True if the value is 1 divided by the value of the function.
    pub inverse: bool,
    /// Number of coefficients of the function.
    pub parameters: usize,
}

impl Template {
    /// Highest degree of polynomials (Scholz et al., section 2.2).
    const DEGREES: usize = 5;

    /// Returns the family of functions that `slowpath fit` calls `name`; `None` if the name is
    /// unknown.
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

    /// Evaluates the function with the coefficients `parameters` at `x`. Returns NaN if it is not
    /// defined there.
    fn value(self, parameters: &[f64], x: f64) -> f64 {
        let p = |at: usize| parameters.get(at).copied().unwrap_or(0.0);
        let value = match self.shape {
            Shape::Polynomial => parameters.iter().rev().fold(0.0, |sum, p| sum * x + p),
            Shape::Logarithm | Shape::Hyperbola if x <= 0.0 => f64::NAN,
            Shape::Logarithm => p(0) + p(1) * x.ln(),
            Shape::Hyperbola => p(0) + p(1) / x,
            Shape::Exponential => p(0) + p(1) * (p(2) * x).exp(),
            Shape::Limited(_, LimitedFunction::Reciprocal) if x <= 0.0 => f64::NAN,
            Shape::Limited(extremum, function) => {
                let value = match function {
                    LimitedFunction::Proportional => p(1) * x,
                    LimitedFunction::Reciprocal => p(1) / x,
                    LimitedFunction::Line => p(1) + p(2) * x,
                };
                match extremum {
                    Extremum::Min => p(0).min(value),
                    Extremum::Max => p(0).max(value),
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

/// An interval of the parameter of a model, with the function for this interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Smallest parameter value of the measurements that the function was fitted to.
    pub from: f64,
    /// Largest parameter value of the measurements that the function was fitted to.
    pub to: f64,
    /// Kind of the segment's function.
    pub template: Template,
    /// Coefficients of the function.
    pub parameters: Vec<f64>,
    /// Offset that is subtracted from the parameter before the function is evaluated.
    pub origin: f64,
    /// Lower limit of the function's values; `None` for no limit.
    pub at_least: Option<f64>,
    /// Upper limit of the function's values; `None` for no limit.
    pub at_most: Option<f64>,
    /// True if the function also applies outside of the measured range: below the first segment or
    /// above the last segment.
    pub extrapolates: bool,
}

impl Segment {
    /// Returns the value of the function at `x`, restricted to the limits of the segment. If the
    /// value is not finite, the nearest end of the segment replaces `x`.
    fn at(&self, x: f64) -> f64 {
        let value = |x: f64| self.template.value(&self.parameters, x - self.origin);
        let mut found = value(x);
        if !found.is_finite() {
            found = value(x.clamp(self.from, self.to));
        }
        if found.is_nan() {
            return found; // no limit applies to NaN
        }
        let found = self.at_least.map_or(found, |least| found.max(least));
        self.at_most.map_or(found, |most| found.min(most))
    }
}

/// Deviation of a measured point from the functions of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// Parameter value of the point.
    pub x: f64,
    /// Deviation as a fraction of the function's value at `x`; always more than -1.
    pub share: f64,
}

/// A fitted model: the time of one component as a function of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Description of the measured component.
    pub description: String,
    /// Name of the model's parameter, such as `entries`.
    pub parameter: String,
    /// Names of the kernel calls whose time depends on the parameter, as in `timing.call`.
    pub calls: Vec<String>,
    /// Memory of each element of the measured map, in bytes: key and value, each rounded up to 8
    /// bytes, and the data that the kernel keeps with it. `None` if the time does not depend on
    /// memory alone.
    pub entry_bytes: Option<f64>,
    /// True if the model is for calls that find a map element, false if it is for calls that find
    /// none.
    pub found: bool,
    /// Symmetric mean absolute percentage error on the points that the model was fitted to, as a
    /// fraction.
    pub error: f64,
    /// Symmetric mean absolute percentage error of leave-one-out cross-validation, as a fraction;
    /// `None` if unknown.
    pub held_out: Option<f64>,
    /// SHA-256 hash of the measured data.
    pub data: String,
    /// Segments in ascending order of the parameter; at least one.
    pub segments: Vec<Segment>,
    /// Deviations of measured points from the functions, in ascending order of the parameter; often
    /// empty.
    pub residuals: Vec<Residual>,
}

impl Fitted {
    /// Returns the time in nanoseconds for a parameter value. Returns `None` if the model has no
    /// finite value there.
    pub fn at(&self, x: f64) -> Option<f64> {
        let value = self.function(x)? * (1.0 + self.residual(x));
        value.is_finite().then_some(value)
    }

    /// Evaluates the function of the segment at `x`, without residuals. Interpolates linearly
    /// between segments.
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

    /// Returns the deviation from the function at `x`, as a fraction of the function's value. It is
    /// interpolated linearly between two measured points, and constant below the first and above
    /// the last point.
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

    /// Returns the smallest and the largest parameter value of the measurements.
    pub fn range(&self) -> (f64, f64) {
        let from = self.segments.first().map_or(0.0, |s| s.from);
        (from, self.segments.last().map_or(from, |s| s.to))
    }

    /// Returns the additional time in nanoseconds of a call at parameter value `x`, compared with
    /// parameter value 1; at least 0. Returns `None` if the model has no value at `x` or 1.
    pub fn growth(&self, x: f64) -> Option<f64> {
        Some((self.at(x)? - self.at(1.0)?).max(0.0))
    }

    /// Returns the additional time as [`growth`](Self::growth) does, also beyond the measured
    /// range. There, it grows with the logarithm of `x`: all caches are exceeded, so only page
    /// tables and longer bucket chains still slow down accesses.
    pub fn growth_beyond(&self, x: f64) -> Option<f64> {
        let (_, last) = self.range();
        if x > last && last > 1.0 {
            return Some(self.growth(last)? * x.ln() / last.ln());
        }
        self.growth(x)
    }
}

#[cfg(test)]
mod tests;
