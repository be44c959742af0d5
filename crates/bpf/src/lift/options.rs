//! Input of the lifter: packet sizes, content of maps, helpers that are assumed harmless, types of
//! the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use slowpath_stop::Stop;

use crate::lift::content::MapContent;
use crate::lift::receive::Receive;
use crate::{Btf, Variable};

/// A program that runs after another one, depending on its return code: on the same packet and
/// context, or on another device that the packet is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Program that returns, by index in [`crate::Object::programs`].
    pub from: usize,
    /// Return codes that lead to the next program, such as `XDP_PASS`; 32 bits each.
    pub results: Vec<u32>,
    /// Mask applied to the return code before comparison.
    pub mask: u32,
    /// Program that runs next. A program cannot run after itself, not even indirectly.
    pub to: usize,
    /// Network between the two programs, if the packet is sent to another device.
    pub network: Option<Network>,
}

/// A network that transports packets to another device. There, a packet has a new buffer and a new
/// context; short packets may be padded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Byte ranges of packets that the network may change, counted from the first byte.
    pub changes: Vec<Range<u16>>,
    /// True if the network routes packets. Routing may change the time to live or hop limit and the
    /// checksum of IPv4 headers, after up to two VLAN tags.
    pub routes: bool,
}

/// Options of the lifter.
#[derive(Clone, Debug)]
pub struct LiftOptions {
    /// Properties of arriving packets, including the room for moving their ends.
    pub receive: Receive,
    /// The same properties on other devices that packets are sent to; lengths are ignored.
    pub receive_after_network: Receive,
    /// Known content of maps, by name.
    pub contents: BTreeMap<String, MapContent>,
    /// Helpers that are assumed to return any value and to change nothing, by name, with the
    /// reason.
    pub assumed_helpers: BTreeMap<String, String>,
    /// Types of the kernel, for linking the targets of tail calls.
    pub kernel_types: Option<Arc<Btf>>,
    /// True to keep operations whose results are unused, so that all values of all registers remain
    /// available.
    pub keeps_dead_operations: bool,
    /// True to record the arguments of helper calls in [`crate::lift::Layout::calls`].
    pub records_calls: bool,
    /// Programs that run after others. A return code without a handover ends the run.
    pub handovers: Vec<Handover>,
    /// Programs whose costs are counted, by index in [`crate::Object::programs`], with the targets
    /// of their tail calls; `None` for all programs.
    pub costed_programs: Option<BTreeSet<usize>>,
    /// True if other CPUs may change shared maps between two accesses of a run.
    pub interleaved: bool,
    /// Read-only variables that are treated as unknown, to determine which of them affect paths:
    /// see [`crate::lift::path_deciding_variables`].
    pub probed_variables: Vec<Variable>,
    /// Budget and cancellation.
    pub stop: Stop,
}

impl Default for LiftOptions {
    /// Packets of the usual lengths with one page each, and unknown map content.
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
    /// Packets as any device delivers them, and unknown map content.
    pub fn any_device() -> Self {
        LiftOptions::default().receiving(Receive::ANY)
    }

    /// Replaces the properties of arriving packets, on the first and on other devices.
    #[must_use]
    pub fn receiving(self, receive: Receive) -> Self {
        LiftOptions { receive, receive_after_network: receive, ..self }
    }

    /// Returns the reason why an unsupported helper is assumed harmless, if it is.
    pub(super) fn assumed(&self, name: &str) -> Option<&str> {
        self.assumed_helpers.get(name).map(String::as_str)
    }
}
