//! What is known about one value: a set of numbers and, for addresses, where they point.

use slowpath_domain::{Domain, mask};
use slowpath_ir::RegionId;

/// An address as a distance from the first byte of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The region.
    pub region: RegionId,
    /// Bytes from its first one, modulo the width of addresses.
    pub offset: Domain,
    /// Whether the value may be the number zero instead.
    pub or_null: bool,
}

/// A set of numbers and, if all are addresses into one region, their offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The numbers.
    pub domain: Domain,
    /// Where they point.
    pub origin: Option<Origin>,
}

impl Value {
    /// Numbers that are no known addresses.
    pub(crate) fn scalar(domain: Domain) -> Self {
        Value { domain, origin: None }
    }

    /// Any value.
    pub(crate) fn full(width: u8) -> Self {
        Value::scalar(Domain::full(width))
    }

    /// The address that this surely is.
    pub(crate) fn address(&self) -> Option<Origin> {
        self.origin.filter(|origin| !origin.or_null)
    }

    /// A value that contains both.
    pub(crate) fn join(&self, other: &Value) -> Value {
        self.combined(other, &|a: &Domain, b: &Domain| a.join(b))
    }

    /// A value that contains both, with bounds that move in few steps.
    pub(crate) fn widen(&self, next: &Value, thresholds: &[u64]) -> Value {
        self.combined(next, &|a: &Domain, b: &Domain| a.widen(b, thresholds))
    }

    fn combined(&self, other: &Value, of: &dyn Fn(&Domain, &Domain) -> Domain) -> Value {
        let zero = |value: &Value| value.domain.as_constant() == Some(0);
        let origin = match (self.origin, other.origin) {
            (Some(a), Some(b)) if a.region == b.region => Some(Origin {
                region: a.region,
                offset: of(&a.offset, &b.offset),
                or_null: a.or_null || b.or_null,
            }),
            (Some(a), None) if zero(other) => Some(Origin { or_null: true, ..a }),
            (None, Some(b)) if zero(self) => Some(Origin { or_null: true, ..b }),
            _ => None,
        };
        Value { domain: of(&self.domain, &other.domain), origin }
    }

    /// The values in both, if there are any.
    pub(crate) fn meet(&self, other: &Value) -> Option<Value> {
        let domain = self.domain.meet(&other.domain)?;
        let origin = match (self.origin, other.origin) {
            (Some(a), Some(b)) if a.region == b.region => {
                let or_null = a.or_null && b.or_null;
                let offset = match a.offset.meet(&b.offset) {
                    Some(offset) => offset,
                    None if or_null => a.offset,
                    None => return None,
                };
                Some(Origin { region: a.region, offset, or_null })
            }
            (a, b) => a.or(b),
        };
        Some(Value { domain, origin }.settled())
    }

    /// Without the doubt about null where the numbers exclude it.
    pub(crate) fn settled(mut self) -> Value {
        if let Some(origin) = &mut self.origin
            && self.domain.lo() > 0
        {
            origin.or_null = false;
        }
        self
    }
}

/// The greatest number of `width` bits.
pub(crate) fn greatest(width: u8) -> u64 {
    mask(width)
}
