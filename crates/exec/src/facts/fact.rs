//! A fact about one term: an interval and known bits. Each part names the conditions from which it
//! follows, so that a contradiction can name them too.

use archery::RcK;
use rpds::HashTrieMap;
use rustc_hash::FxHasher;
use slowpath_smt::TermId;
use std::collections::BTreeMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

/// Maximum number of excluded values in one interval; further excluded values are not recorded.
const MAX_HOLES: usize = 256;

/// Tags that name the conditions from which a fact follows, in ascending order and without
/// duplicates. The caller chooses the tags.
pub type Reasons = Vec<u32>;

/// Returns the union of two sets of tags, in ascending order.
pub(super) fn union(a: &[u32], b: &[u32]) -> Reasons {
    let mut all: Reasons = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A persistent map of facts by term; copies share their common part.
pub(super) type FactMap = HashTrieMap<TermId, Fact, RcK, BuildHasherDefault<FxHasher>>;

/// A set of conditions that cannot hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Tags of the conditions.
    pub reasons: Reasons,
}

/// The known restrictions on the values of one term, with the conditions from which they follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub lo: u64,
    pub lo_why: Reasons,
    pub hi: u64,
    pub hi_why: Reasons,
    pub zeros: u64,
    pub ones: u64,
    /// Masks of known bits, each with the conditions from which these bits follow. Known bits
    /// outside all masks follow from the term alone.
    pub bits: Vec<BitsFact>,
    /// Consequences of the truth value of this term, if the term is a condition with an unknown
    /// value.
    pub implies: Vec<Implication>,
    /// Excluded values between `lo` and `hi`; both ends are allowed values.
    pub holes: Holes,
    /// Terms of which this term equals one, because it merges their values from several paths;
    /// `None` for any other term.
    pub arms: Option<Rc<[Arm]>>,
}

/// Excluded values with their reasons; `None` in most facts.
pub(super) type Holes = Option<Rc<BTreeMap<u64, Reasons>>>;

/// One of several terms that are merged where paths meet, with its bounds on its own path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arm {
    pub term: TermId,
    pub lo: u64,
    pub hi: u64,
    /// Base of the term: the operand that remains without constant summands and constant bits (see
    /// [`base`](super::remaining_values::base)). `base_lo` and `base_hi` are its bounds on the same
    /// path. The bounds of the term alone can be useless; for example, `n - 1` wraps around if `n`
    /// is zero.
    pub base: TermId,
    pub base_lo: u64,
    pub base_hi: u64,
}

/// A conclusion from a condition whose value is unknown: if the condition has the value `when`, the
/// term `then` has the value `value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Implication {
    pub when: bool,
    pub then: TermId,
    pub value: bool,
    pub why: Reasons,
}

impl Implication {
    fn same(&self, other: &Implication) -> bool {
        (self.when, self.then, self.value) == (other.when, other.then, other.value)
    }
}

/// A mask of known bits, with the conditions from which all these bits follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitsFact {
    pub mask: u64,
    pub why: Reasons,
}

impl Fact {
    /// Returns the strongest fact that holds where at least one of the two facts holds. The result
    /// does not name any conditions from which it follows.
    pub fn join(&self, other: &Fact) -> Fact {
        Fact {
            lo: self.lo.min(other.lo),
            lo_why: Reasons::new(),
            hi: self.hi.max(other.hi),
            hi_why: Reasons::new(),
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
            bits: Vec::new(),
            implies: self.common(other),
            holes: self.common_holes(other),
            arms: self.arms.clone().filter(|_| self.arms == other.arms),
        }
    }

    /// Returns the implications that both facts contain, without the conditions from which they
    /// follow.
    fn common(&self, other: &Fact) -> Vec<Implication> {
        let everywhere =
            self.implies.iter().filter(|own| other.implies.iter().any(|theirs| own.same(theirs)));
        everywhere.map(|own| Implication { why: Reasons::new(), ..own.clone() }).collect()
    }

    /// Returns the values within the interval of the joined fact that both facts exclude. The
    /// result does not name the conditions from which this follows.
    fn common_holes(&self, other: &Fact) -> Holes {
        let (lo, hi) = (self.lo.min(other.lo), self.hi.max(other.hi));
        let excluded =
            |&value: &u64| lo < value && value < hi && !self.allows(value) && !other.allows(value);
        let mut holes: BTreeMap<u64, Reasons> = BTreeMap::new();
        for of in [self, other] {
            let values = of.holes.iter().flat_map(|holes| holes.keys().copied());
            holes.extend(values.filter(excluded).map(|value| (value, Reasons::new())));
        }
        (!holes.is_empty()).then(|| Rc::new(holes))
    }

    /// Returns true if the fact does not rule out this value.
    pub fn allows(&self, value: u64) -> bool {
        let inside = self.lo <= value && value <= self.hi;
        inside && value & self.zeros == 0 && !value & self.ones == 0 && self.hole(value).is_none()
    }

    /// Returns the tags of the conditions that exclude this single value; `None` if `holes` does
    /// not contain the value.
    pub fn hole(&self, value: u64) -> Option<&Reasons> {
        self.holes.as_ref()?.get(&value)
    }

    /// Excludes a value that lies within the interval.
    pub fn exclude(&mut self, value: u64, why: &Reasons) {
        let holes = Rc::make_mut(self.holes.get_or_insert_default());
        if holes.len() < MAX_HOLES {
            holes.entry(value).or_insert_with(|| why.clone());
        }
    }

    /// Returns the tags of all conditions from which parts of the fact follow.
    pub fn reasons(&self) -> Reasons {
        let holes = self.holes.iter().flat_map(|holes| holes.values());
        let bits = self.bits.iter().map(|bits| &bits.why);
        holes.chain(bits).fold(union(&self.lo_why, &self.hi_why), |all, why| union(&all, why))
    }

    /// Returns the tags of the conditions from which the value of one bit follows: the lowest bit
    /// in `mask`.
    pub fn why_one_bit(&self, mask: u64) -> Reasons {
        let bit = mask & mask.wrapping_neg();
        let behind = self.bits.iter().find(|bits| bits.mask & bit != 0);
        behind.map(|bits| bits.why.clone()).unwrap_or_default()
    }

    /// Returns the tags of the conditions from which the known bits in `mask` follow.
    pub fn why_bits(&self, mask: u64) -> Reasons {
        let behind = self.bits.iter().filter(|bits| bits.mask & mask != 0);
        behind.fold(Reasons::new(), |all, bits| union(&all, &bits.why))
    }
}

/// A restriction on the values of one term: bounds and known bits.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub lo: u64,
    pub hi: u64,
    pub zeros: u64,
    pub ones: u64,
}

impl Limit {
    pub fn mask(width: u8) -> u64 {
        if width >= 64 { u64::MAX } else { (1 << width) - 1 }
    }

    pub fn anything(width: u8) -> Self {
        Limit { lo: 0, hi: Self::mask(width), zeros: 0, ones: 0 }
    }

    pub fn exactly(width: u8, value: u64) -> Self {
        Limit { lo: value, hi: value, zeros: !value & Self::mask(width), ones: value }
    }
}
