//! Describes the facts about one value: a set of numbers and, for addresses, the region that they
//! point into.

use slowpath_domain::Domain;
use slowpath_ir::RegionId;

/// An address as an offset from the first byte of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The memory region that the address points into.
    pub region: RegionId,
    /// Offset in bytes from the region's first byte, modulo the width of addresses.
    pub offset: Domain,
    /// True if the value may also be the number zero.
    pub or_null: bool,
}

/// A set of numbers. If all numbers are addresses in one region, the value also contains their
/// offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The set of numbers that the value can be.
    pub domain: Domain,
    /// Region and offsets, if all numbers are addresses in one region (or zero).
    pub origin: Option<Origin>,
}

impl Value {
    /// Returns a value that is not known to be an address.
    pub(crate) fn scalar(domain: Domain) -> Self {
        Value { domain, origin: None }
    }

    /// Returns a value that may be any number.
    pub(crate) fn full(width: u8) -> Self {
        Value::scalar(Domain::full(width))
    }

    /// Returns the region and offset if the value is certainly an address; `None` if it may be zero
    /// or another number.
    pub(crate) fn address(&self) -> Option<Origin> {
        self.origin.filter(|origin| !origin.or_null)
    }

    /// Returns a value that contains all numbers of both values.
    pub(crate) fn join(&self, other: &Value) -> Value {
        self.combined(other, &|a: &Domain, b: &Domain| a.join(b))
    }

    /// Returns a value that contains all numbers of both values. Its bounds are chosen so that
    /// repeated calls stop changing them after few steps.
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

    /// Returns the numbers that are in both values, or `None` if there are none.
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

    /// Returns the value with `or_null` cleared, if zero is not among the possible numbers.
    pub(crate) fn settled(mut self) -> Value {
        if let Some(origin) = &mut self.origin
            && self.domain.lo() > 0
        {
            origin.or_null = false;
        }
        self
    }
}
