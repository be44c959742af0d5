//! Defines the options of the lifter: properties of packets, content of maps, helpers that are
//! assumed harmless, types of the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use slowpath_stop::Stop;

use crate::lift::content::MapContent;
use crate::lift::receive::Receive;
use crate::{Btf, Variable};

/// A rule by which a second program runs after a first one: the first program returns one of
/// certain codes. The second program gets the packet with the same context, or on another device to
/// which the packet is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Program that runs first, by index in [`crate::Object::programs`].
    pub from: usize,
    /// Return codes after which the next program runs, such as `XDP_PASS`, as 32-bit numbers.
    pub results: Vec<u32>,
    /// Mask that is applied to the return code before it is compared with `results`.
    pub mask: u32,
    /// Program that runs next, by index in [`crate::Object::programs`]. Rules must not form a
    /// cycle: a program cannot run after itself.
    pub to: usize,
    /// Network over which the packet is sent to another device between the two programs; `None` if
    /// both programs run on the same device.
    pub network: Option<Network>,
}

/// A network that transports packets to another device. There, a packet has a new buffer and a new
/// context, and short packets may be padded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Byte ranges that the network may change, counted from the first byte of the packet.
    pub changes: Vec<Range<u16>>,
    /// True if the network routes packets. Routers may change the time to live or hop limit and the
    /// checksum of IPv4 headers, after up to two VLAN tags.
    pub routes: bool,
}

/// Options of the lifter.
#[derive(Clone, Debug)]
pub struct LiftOptions {
    /// Properties of arriving packets, including the head and tail room.
    pub receive: Receive,
    /// Properties of packets that arrive on later devices, after a network between two programs.
    /// The packet lengths in this value are ignored.
    pub receive_after_network: Receive,
    /// Known content of maps, by the name of the map. Maps without an entry have unknown content.
    pub contents: BTreeMap<String, MapContent>,
    /// Helpers that are assumed to return any value and to change nothing. The key is the helper's
    /// name, the value is the user's reason.
    pub assumed_helpers: BTreeMap<String, String>,
    /// BTF types of the running kernel, for linking the programs that run after the first one by
    /// tail calls and handovers.
    pub kernel_types: Option<Arc<Btf>>,
    /// True to keep operations whose results are unused, so that the values of all registers can be
    /// inspected.
    pub keeps_dead_operations: bool,
    /// True to record the arguments of helper calls in [`crate::lift::Layout::calls`].
    pub records_calls: bool,
    /// Rules by which programs run after other programs. If no rule applies to a return code, the
    /// run ends.
    pub handovers: Vec<Handover>,
    /// Programs whose instructions have costs, by index in [`crate::Object::programs`]. The targets
    /// of their tail calls have costs, too. `None` means all programs.
    pub costed_programs: Option<BTreeSet<usize>>,
    /// True if other CPUs may change maps that they share with the program, between two accesses of
    /// a run.
    pub interleaved: bool,
    /// Read-only variables whose values are treated as unknown, so that
    /// [`crate::lift::path_deciding_variables`] finds those that affect paths.
    pub probed_variables: Vec<Variable>,
    /// Handle that tells lifting to end early, because a time budget is exhausted or a caller
    /// cancelled it.
    pub stop: Stop,
}

impl Default for LiftOptions {
    /// Returns options for packets of the usual lengths, each in one page of memory, and unknown
    /// map content.
    fn default() -> Self {
        LiftOptions {
            receive: Receive::PAGE,
            receive_after_network: Receive::PAGE,
            contents: BTreeMap::new(),
            assumed_helpers: BTreeMap::new(),
            kernel_types: None,
            keeps_dead_operations: false,
            records_calls: false,
            handovers: Vec::new(),
            costed_programs: None,
            interleaved: false,
            probed_variables: Vec::new(),
            stop: Stop::never(),
        }
    }
}

impl LiftOptions {
    /// Returns options for packets of any device, and for unknown map content.
    pub fn any_device() -> Self {
        LiftOptions::default().receiving(Receive::ANY)
    }

    /// Returns the options with other properties of arriving packets, on the first device and on
    /// later ones.
    #[must_use]
    pub fn receiving(self, receive: Receive) -> Self {
        LiftOptions { receive, receive_after_network: receive, ..self }
    }

    /// Returns the user's reason why the unsupported helper `name` is harmless; `None` if the user
    /// did not declare it harmless.
    pub(super) fn assumed(&self, name: &str) -> Option<&str> {
        self.assumed_helpers.get(name).map(String::as_str)
    }
}
