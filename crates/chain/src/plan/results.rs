//! Computes the results that a plan needs for each program: facts about the packets that leave it,
//! its rewritten version, and its maximum cost. Each result is computed once, or read from the
//! cache, even if many paths and nodes need it.
//!
//! A result depends on the content of the program and on the facts about arriving packets, but not
//! on the node that runs the program. Results that ran out of time are not stored for later plans.

use super::lines::Lines;
use super::memo::Memo;
use super::options::PlanOptions;
use super::stored::StoredFacts;
use super::subject::Linked;
use crate::Action;
use crate::cost::{Cost, max_instructions};
use crate::facts::{FactsOptions, Outgoing, facts_after};
use crate::optimize::{Guards, optimize_for};
use crate::report::{GuardReport, ends};
use crate::rewrite::write;
use serde::{Deserialize, Serialize};
use slowpath_cache::{Cache, Key};
use slowpath_ir::PacketFacts;
use slowpath_specialise::{Mode, Specialised};
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Work counts as unhurried if the time available for it was more than this many times the time
/// that it took. Time limits of single steps then had no effect.
const UNHURRIED: u32 = 8;

/// Facts about the packets that leave a program, such as their lengths and known bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutgoingFacts {
    pub packets: OutgoingPackets,
    /// Conditions under which the facts hold, one sentence each.
    pub assumptions: Vec<String>,
    /// Reason why some facts may be missing; `None` if all facts were found.
    pub early: Option<String>,
}

/// Knowledge about the packets that leave a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum OutgoingPackets {
    Facts(StoredFacts),
    /// No packet leaves the program. Each string describes a branch before the end of the program:
    /// its source line, and the result to which it leads.
    Never(Vec<String>),
    /// Nothing is known about the packets. The string is the reason.
    Unknown(String),
}

#[derive(Clone, Default)]
pub(super) struct RewriteResult {
    pub about: Option<Rewrite>,
    /// Remarks, one sentence each, such as why the program stays unchanged.
    pub remarks: Vec<String>,
    /// Object with the rewritten program, and this program after linking; `None` if the program is
    /// unchanged.
    pub object: Option<(Arc<Vec<u8>>, Arc<Linked>)>,
}

/// Size, guard and assumptions of a rewritten program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rewrite {
    /// Number of instructions of the rewritten program, in 8-byte slots.
    pub instructions: usize,
    /// Checks that the program makes before it relies on facts; `None` if it makes none.
    pub guard: Option<GuardReport>,
    /// Offsets of the packet bytes that the rewriting relied on.
    pub bytes: Vec<u16>,
    /// True if the rewriting relied on the packet length.
    pub length: bool,
    /// Assumptions under which the program is proved to do the same as the original, one sentence
    /// each.
    pub assumptions: Vec<String>,
}

/// The form in which the cache stores a [`RewriteResult`], without the rewritten object. The object
/// is stored separately.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRewrite {
    about: Option<Rewrite>,
    remarks: Vec<String>,
}

/// Computes the results that a plan needs about programs, and keeps each result for later requests.
pub(super) struct Results<'a> {
    options: &'a PlanOptions,
    facts: FactsOptions,
    cache: &'a Cache,
    left: Memo<Key, OutgoingFacts>,
    lines: Memo<Key, Lines>,
    made: Memo<Key, RewriteResult>,
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

    /// Returns the number of solver queries so far. Queries for results from the cache do not
    /// count.
    pub fn queries(&self) -> u64 {
        self.queries.load(Ordering::Relaxed)
    }

    fn asked(&self, queries: u64) {
        self.queries.fetch_add(queries, Ordering::Relaxed);
    }

    /// Returns the key under which `Results::outgoing_facts` stores its result for these arguments.
    pub fn outgoing_key(&self, linked: &Linked, arriving: &PacketFacts, on: &[Action]) -> Key {
        self.cache.key("left", &(linked.key, StoredFacts::from(arriving), numbers(on)))
    }

    /// Finds facts about the packets that leave a program with one of the results `on`. `arriving`
    /// contains the facts that hold for packets arriving at the program.
    pub fn outgoing_facts(
        &self,
        linked: &Linked,
        arriving: &PacketFacts,
        on: &[Action],
        stop: &Stop,
    ) -> OutgoingFacts {
        let key = self.outgoing_key(linked, arriving, on);
        let on = numbers(on);
        self.left.get(key, || {
            let compute = || {
                let clock = Clock::new(stop);
                let Linked { object, program, .. } = linked;
                let found = facts_after(object, program, arriving, &on, &self.facts, stop);
                let mut complete = true;
                let left = match found {
                    Ok(Outgoing::Packets(found)) => {
                        self.asked(found.work.queries);
                        complete = found.stopped.is_none() || clock.had_time(stop);
                        OutgoingFacts {
                            packets: OutgoingPackets::Facts(StoredFacts::from(&found.facts)),
                            assumptions: found.assumptions,
                            early: found.stopped,
                        }
                    }
                    Ok(Outgoing::Nothing(never)) => OutgoingFacts {
                        packets: OutgoingPackets::Never(ends(program, &never)),
                        assumptions: never.assumptions,
                        early: None,
                    },
                    Err(error) => {
                        complete = clock.had_time(stop);
                        OutgoingFacts {
                            packets: OutgoingPackets::Unknown(error.to_string()),
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

    /// Finds the source lines that establish the facts about packets that leave a program with one
    /// of the results `on`. `arriving` contains the facts that hold for packets arriving at the
    /// program.
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
                let Ok(Outgoing::Packets(mut found)) = found else {
                    return (Lines::default(), None, clock.had_time(stop));
                };
                let lines = Lines::of(&mut found, program, stop);
                self.asked(found.queries());
                (lines, None, clock.had_time(stop))
            };
            self.cache.result(key, compute).0
        })
    }

    /// Rewrites a program for packets for which all `facts` hold.
    pub fn rewrite(&self, linked: &Linked, facts: &PacketFacts, stop: &Stop) -> RewriteResult {
        let guarded = self.options.mode == Mode::Guard;
        let key = self.cache.key("made", &(linked.key, StoredFacts::from(facts), guarded));
        self.made.get(key, || {
            let (kept, bytes) = self.cache.result(key, || self.make(linked, facts, stop));
            let mut made = RewriteResult { about: kept.about, remarks: kept.remarks, object: None };
            if let Some(bytes) = bytes {
                match linked.rewritten(&bytes, self.options.lift.kernel_types.as_deref()) {
                    Some(rewritten) => made.object = Some((Arc::new(bytes), Arc::new(rewritten))),
                    None => made.remarks.push("the written object cannot be read again".to_owned()),
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
    ) -> (StoredRewrite, Option<Vec<u8>>, bool) {
        let PlanOptions { mode, lift, .. } = self.options;
        let Linked { object, program, .. } = linked;
        let clock = Clock::new(stop);
        let how = (*mode, Guards::Profitable);
        let subject = (&**object, program);
        let done = match optimize_for(subject, (facts, None), how, lift, stop) {
            Ok(done) => done,
            Err(error) => {
                let kept = StoredRewrite { about: None, remarks: vec![error.to_string()] };
                return (kept, None, clock.had_time(stop));
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
        // The result is complete if the program was rewritten for all facts, or if facts were given
        // up although there was enough time.
        let complete = done.remarks.is_empty() || clock.had_time(stop);
        (StoredRewrite { about, remarks }, bytes, complete)
    }

    /// Finds the maximum number of instructions that a program executes for packets for which all
    /// `facts` hold.
    ///
    /// # Errors
    /// The reason why the number is not known.
    pub fn cost(&self, linked: &Linked, facts: &PacketFacts, stop: &Stop) -> Result<Cost, String> {
        let key = self.cache.key("cost", &(linked.key, StoredFacts::from(facts)));
        self.costs.get(key, || {
            let compute = || {
                let clock = Clock::new(stop);
                let cost = max_instructions(
                    (&linked.object, &linked.program),
                    facts,
                    &self.options.lift,
                    stop,
                );
                self.asked(cost.as_ref().map_or(0, |cost| cost.queries));
                let exact = cost.as_ref().is_ok_and(|cost| cost.exact);
                (cost, None, exact || clock.had_time(stop))
            };
            self.cache.result(key, compute).0
        })
    }
}

fn numbers(on: &[Action]) -> Vec<u32> {
    on.iter().map(|action| action.number()).collect()
}

/// A measurement of the share of the available time that some work takes.
struct Clock {
    started: Instant,
    given: Option<Duration>,
}

impl Clock {
    fn new(stop: &Stop) -> Clock {
        Clock { started: Instant::now(), given: stop.remaining() }
    }

    /// Returns true if so much time was available that the time limits of single steps had no
    /// effect.
    fn had_time(&self, stop: &Stop) -> bool {
        let took = self.started.elapsed();
        stop.reason().is_none() && self.given.is_none_or(|given| took < given / UNHURRIED)
    }
}

/// Lists the offsets of the packet bytes on which a rewritten program relies, in ascending order.
fn bytes_of(made: &Specialised) -> Vec<u16> {
    let mut bytes: BTreeSet<u16> = made.bytes.iter().copied().collect();
    for field in &made.fields {
        bytes.extend(field.offset..field.offset + u16::from(field.bytes));
    }
    bytes.into_iter().collect()
}
