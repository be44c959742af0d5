//! What is computed for a plan: what leaves a program, what it is rewritten to, what it costs at most.
//! Each once, however many paths and nodes need it, and from the cache if it is there.
//!
//! A result depends on the program's content and the facts that arrive, not on where that is: a node
//! that changes nothing of what is known is no part of it. What was not finished in its time is not
//! kept for the next plan.

use super::cache::Cache;
use super::key::Key;
use super::lines::Lines;
use super::memo::Memo;
use super::options::PlanOptions;
use super::stored::StoredFacts;
use super::subject::Linked;
use crate::Action;
use crate::cost::{Cost, greatest};
use crate::facts::{FactsOptions, Leaving, facts_after};
use crate::optimize::{Guards, optimize_for};
use crate::report::{GuardReport, ends};
use crate::rewrite::write;
use serde::{Deserialize, Serialize};
use slowpath_ir::PacketFacts;
use slowpath_specialise::{Mode, Specialised};
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Of the time that there was: work that took less had no limit in its way, whatever parts of the
/// time its own parts had.
const UNHURRIED: u32 = 8;

/// What leaves a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Left {
    pub packets: LeftPackets,
    /// Conditions that this depends on, one sentence each.
    pub assumptions: Vec<String>,
    /// Why there may be more to know.
    pub early: Option<String>,
}

/// What holds of packets that leave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum LeftPackets {
    Facts(StoredFacts),
    /// There are none: what becomes of packets instead, and where that is decided.
    Never(Vec<String>),
    /// Nothing is known, and why.
    Unknown(String),
}

/// What a program was rewritten to.
#[derive(Clone, Default)]
pub(super) struct Made {
    pub about: Option<Rewrite>,
    /// What else there is to say, one sentence each: why it stays as it was.
    pub remarks: Vec<String>,
    /// The object with it, and the program as it is there.
    pub object: Option<(Arc<Vec<u8>>, Arc<Linked>)>,
}

/// About a rewritten program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rewrite {
    /// How many instructions it has, in 8-byte slots.
    pub instructions: usize,
    /// What it checks itself before it relies on it; null if it does not.
    pub guard: Option<GuardReport>,
    /// The bytes that it relies on, by their offsets.
    pub bytes: Vec<u16>,
    /// Whether it relies on the length of packets.
    pub length: bool,
    /// What its proof relies on, one sentence each.
    pub assumptions: Vec<String>,
}

/// The same as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptMade {
    about: Option<Rewrite>,
    remarks: Vec<String>,
}

/// Where results are computed.
pub(super) struct Results<'a> {
    options: &'a PlanOptions,
    facts: FactsOptions,
    cache: &'a Cache,
    left: Memo<Key, Left>,
    lines: Memo<Key, Lines>,
    made: Memo<Key, Made>,
    costs: Memo<Key, Result<Cost, String>>,
    queries: AtomicU64,
}

impl<'a> Results<'a> {
    pub fn new(options: &'a PlanOptions, cache: &'a Cache) -> Results<'a> {
        Results {
            options,
            facts: FactsOptions { lift: options.lift.clone(), ..FactsOptions::default() },
            cache,
            left: Memo::default(),
            lines: Memo::default(),
            made: Memo::default(),
            costs: Memo::default(),
            queries: AtomicU64::new(0),
        }
    }

    /// Questions to the solver so far, but for those of results that were in the cache.
    pub fn queries(&self) -> u64 {
        self.queries.load(Ordering::Relaxed)
    }

    fn asked(&self, queries: u64) {
        self.queries.fetch_add(queries, Ordering::Relaxed);
    }

    /// What tells the question what leaves a program from others.
    pub fn left_key(&self, linked: &Linked, arriving: &PacketFacts, on: &[Action]) -> Key {
        self.cache.key("left", &(linked.key, StoredFacts::from(arriving), numbers(on)))
    }

    /// What leaves a program with some results, if facts hold of what arrives.
    pub fn left(
        &self,
        linked: &Linked,
        arriving: &PacketFacts,
        on: &[Action],
        stop: &Stop,
    ) -> Left {
        let key = self.left_key(linked, arriving, on);
        let on = numbers(on);
        self.left.get(key, || {
            let compute = || {
                let clock = Clock::new(stop);
                let Linked { object, program, .. } = linked;
                let found = facts_after(object, program, arriving, &on, &self.facts, stop);
                let mut complete = true;
                let left = match found {
                    Ok(Leaving::Packets(found)) => {
                        self.asked(found.work.queries);
                        complete = found.stopped.is_none() || clock.unhurried(stop);
                        Left {
                            packets: LeftPackets::Facts(StoredFacts::from(&found.facts)),
                            assumptions: found.assumptions,
                            early: found.stopped,
                        }
                    }
                    Ok(Leaving::Never(never)) => Left {
                        packets: LeftPackets::Never(ends(program, &never)),
                        assumptions: never.assumptions,
                        early: None,
                    },
                    Err(error) => {
                        complete = clock.unhurried(stop);
                        Left {
                            packets: LeftPackets::Unknown(error.to_string()),
                            assumptions: Vec::new(),
                            early: (!complete).then(|| error.to_string()),
                        }
                    }
                };
                (left, None, complete)
            };
            self.cache.result(key, compute).0
        })
    }

    /// Which lines of a program establish what holds of packets that leave it with some results, if
    /// facts hold of what arrives.
    pub fn lines(
        &self,
        linked: &Linked,
        arriving: &PacketFacts,
        on: &[Action],
        stop: &Stop,
    ) -> Lines {
        let on = numbers(on);
        let key = self.cache.key("lines", &(linked.key, StoredFacts::from(arriving), &on));
        self.lines.get(key, || {
            let compute = || {
                let clock = Clock::new(stop);
                let Linked { object, program, .. } = linked;
                let found = facts_after(object, program, arriving, &on, &self.facts, stop);
                let Ok(Leaving::Packets(mut found)) = found else {
                    return (Lines::default(), None, clock.unhurried(stop));
                };
                let lines = Lines::of(&mut found, program, stop);
                self.asked(found.queries());
                (lines, None, clock.unhurried(stop))
            };
            self.cache.result(key, compute).0
        })
    }

    /// What a program is rewritten to for packets of which facts hold.
    pub fn made(&self, linked: &Linked, facts: &PacketFacts, stop: &Stop) -> Made {
        let guarded = self.options.mode == Mode::Guard;
        let key = self.cache.key("made", &(linked.key, StoredFacts::from(facts), guarded));
        self.made.get(key, || {
            let (kept, bytes) = self.cache.result(key, || self.make(linked, facts, stop));
            let mut made = Made { about: kept.about, remarks: kept.remarks, object: None };
            if let Some(bytes) = bytes {
                match linked.rewritten(&bytes, self.options.lift.kernel_types.as_deref()) {
                    Some(rewritten) => made.object = Some((Arc::new(bytes), Arc::new(rewritten))),
                    None => made.remarks.push("what was written cannot be read again".to_owned()),
                }
            }
            if made.object.is_none() {
                made.about = None;
            }
            made
        })
    }

    fn make(
        &self,
        linked: &Linked,
        facts: &PacketFacts,
        stop: &Stop,
    ) -> (KeptMade, Option<Vec<u8>>, bool) {
        let PlanOptions { mode, lift, .. } = self.options;
        let Linked { object, program, .. } = linked;
        let clock = Clock::new(stop);
        let how = (*mode, Guards::Paying);
        let subject = (&**object, program);
        let done = match optimize_for(subject, (facts, None), how, lift, stop) {
            Ok(done) => done,
            Err(error) => {
                let kept = KeptMade { about: None, remarks: vec![error.to_string()] };
                return (kept, None, clock.unhurried(stop));
            }
        };
        let mut remarks = done.remarks.clone();
        let bytes = write(object, &done, lift.kernel_types.as_deref(), &mut remarks);
        self.asked(done.proof.as_ref().map_or(0, |proof| proof.queries));
        let about = done.specialised.zip(done.proof).map(|(made, proof)| Rewrite {
            instructions: made.program.insns.len(),
            guard: made.guard.as_ref().map(|guard| GuardReport::of(object, guard)),
            bytes: bytes_of(&made),
            length: made.length,
            assumptions: proof.assumptions,
        });
        // Rewritten for all facts at once, or given up.
        let complete = done.remarks.is_empty() || clock.unhurried(stop);
        (KeptMade { about, remarks }, bytes, complete)
    }

    /// How many instructions a program executes at most for packets of which facts hold.
    ///
    /// # Errors
    /// When that is not known, and why.
    pub fn cost(&self, linked: &Linked, facts: &PacketFacts, stop: &Stop) -> Result<Cost, String> {
        let key = self.cache.key("cost", &(linked.key, StoredFacts::from(facts)));
        self.costs.get(key, || {
            let compute = || {
                let clock = Clock::new(stop);
                let cost =
                    greatest((&linked.object, &linked.program), facts, &self.options.lift, stop);
                self.asked(cost.as_ref().map_or(0, |cost| cost.queries));
                let exact = cost.as_ref().is_ok_and(|cost| cost.exact);
                (cost, None, exact || clock.unhurried(stop))
            };
            self.cache.result(key, compute).0
        })
    }
}

/// The numbers of results.
fn numbers(on: &[Action]) -> Vec<u32> {
    on.iter().map(|action| action.number()).collect()
}

/// How much of its time some work took.
struct Clock {
    started: Instant,
    given: Option<Duration>,
}

impl Clock {
    fn new(stop: &Stop) -> Clock {
        Clock { started: Instant::now(), given: stop.left() }
    }

    /// Whether more time would have changed nothing.
    fn unhurried(&self, stop: &Stop) -> bool {
        let took = self.started.elapsed();
        stop.reason().is_none() && self.given.is_none_or(|given| took < given / UNHURRIED)
    }
}

/// Offsets of the bytes that a rewritten program relies on, ascending.
fn bytes_of(made: &Specialised) -> Vec<u16> {
    let mut bytes: BTreeSet<u16> = made.bytes.iter().copied().collect();
    for field in &made.fields {
        bytes.extend(field.offset..field.offset + u16::from(field.bytes));
    }
    bytes.into_iter().collect()
}
