//! Describes programs that receive packets from upstream programs on other devices, and the facts
//! that hold for these packets.

use slowpath_bpf::lift::MapContent;
use slowpath_bpf::{Btf, Object};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Facts about the packets that arrive at a program, such as values of some bytes.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Facts that hold for all arriving packets. The upstream programs may send fewer packets than
    /// the facts allow. `None` if no packet arrives.
    pub facts: Option<PacketFacts>,
    /// Conditions under which the facts hold, one sentence each.
    pub assumptions: Vec<String>,
    /// Remarks for the user, one sentence each.
    pub notes: Vec<String>,
}

/// Function that finds facts about the packets that arrive at a program. It ends early when the
/// stop condition holds. Its first argument has the BTF types of the kernel in which the upstream
/// programs run, if they are known.
pub type FindArrivals = Arc<dyn Fn(Option<&Arc<Btf>>, &Stop) -> Arrivals + Send + Sync>;

/// A program of an object, with the upstream programs that send packets to it.
#[derive(Clone)]
pub struct ArrivingProgram {
    /// Name of the program in results.
    pub name: String,
    /// Object (parsed ELF file) that contains the program.
    pub object: Arc<Object>,
    /// Index of the program in the object.
    pub program: usize,
    /// The upstream programs, each given by its object and its index in the object. If the list is
    /// empty, any packet can arrive.
    pub upstream: Vec<(Arc<Object>, usize)>,
    /// Function that finds facts about the packets that the upstream programs send.
    pub arrivals: FindArrivals,
    /// Content of the program's own maps, by their names in the object. It is used in addition to
    /// the map content in the options.
    pub contents: BTreeMap<String, MapContent>,
}

impl fmt::Debug for ArrivingProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ArrivingProgram");
        shown.field("name", &self.name).field("program", &self.program).finish_non_exhaustive()
    }
}
