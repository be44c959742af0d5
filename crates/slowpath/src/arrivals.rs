//! Programs that receive packets from upstream programs on other devices, with facts about these
//! packets.

use slowpath_bpf::lift::MapContent;
use slowpath_bpf::{Btf, Object};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Knowledge about the packets that arrive at a program.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Facts that hold for all arriving packets; `None` if no packet arrives. They may also hold
    /// for packets that never arrive.
    pub facts: Option<PacketFacts>,
    /// Conditions that the facts depend on, one sentence each.
    pub assumptions: Vec<String>,
    /// Remarks, one sentence each.
    pub notes: Vec<String>,
}

/// Function that finds facts about arriving packets, until the stop condition holds. Its first
/// argument has the kernel types for the upstream programs.
pub type FindArrivals = Arc<dyn Fn(Option<&Arc<Btf>>, &Stop) -> Arrivals + Send + Sync>;

/// A program of an object, and knowledge about the packets that arrive at it.
#[derive(Clone)]
pub struct ArrivingProgram {
    /// Name of the program in results.
    pub name: String,
    /// The object that contains the program.
    pub object: Arc<Object>,
    /// Number of the program in the object.
    pub program: usize,
    /// The upstream programs, each with its object and its number in the object. If there are none,
    /// any packet can arrive.
    pub upstream: Vec<(Arc<Object>, usize)>,
    /// Finds facts about the packets that the upstream programs send.
    pub arrivals: FindArrivals,
    /// Content of the program's own maps, by their names in the object, in addition to the content
    /// from the options.
    pub contents: BTreeMap<String, MapContent>,
}

impl fmt::Debug for ArrivingProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ArrivingProgram");
        shown.field("name", &self.name).field("program", &self.program).finish_non_exhaustive()
    }
}
