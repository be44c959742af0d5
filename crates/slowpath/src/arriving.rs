//! A program behind others that run elsewhere: what is known of the packets that they send it.

use slowpath_bpf::lift::MapContent;
use slowpath_bpf::{Btf, Object};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What is known of the packets that arrive at a program.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// What holds of all of them; `None` if there are none. Not every packet of which it holds has to
    /// arrive.
    pub facts: Option<PacketFacts>,
    /// Conditions that this depends on, one sentence each.
    pub assumptions: Vec<String>,
    /// What else there is to say, one sentence each.
    pub notes: Vec<String>,
}

/// Finds out what arrives, with the types of the kernel that the programs in front are for, before it
/// is time to stop.
pub type FindArrivals = Arc<dyn Fn(Option<&Arc<Btf>>, &Stop) -> Arrivals + Send + Sync>;

/// A program of an object, for packets of which something is known.
#[derive(Clone)]
pub struct ArrivingProgram {
    /// What it is called in results.
    pub name: String,
    /// The object with it.
    pub object: Arc<Object>,
    /// Its number there.
    pub program: usize,
    /// The programs in front of it, by their numbers in their objects. Where there are none, any packet
    /// arrives.
    pub in_front: Vec<(Arc<Object>, usize)>,
    /// Finds out what these send.
    pub arrivals: FindArrivals,
    /// What its own maps hold then, by their names in the object, besides what options say.
    pub contents: BTreeMap<String, MapContent>,
}

impl fmt::Debug for ArrivingProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ArrivingProgram");
        shown.field("name", &self.name).field("program", &self.program).finish_non_exhaustive()
    }
}
