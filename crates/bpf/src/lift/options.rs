//! What the lifter takes as given: sizes of packets, content of maps, helpers that are assumed
//! harmless, the kernel's types.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use slowpath_stop::Stop;

use crate::lift::content::MapContent;
use crate::lift::receive::Receive;
use crate::{Btf, Variable};

/// A program that runs behind another one, by what that returns: on the same packet and context, or on
/// another device that the packet is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The program that returns, by its number in [`crate::Object::programs`].
    pub from: usize,
    /// What it returns then, such as `XDP_PASS`, in 32 bits.
    pub results: Vec<u32>,
    /// The bits of results that are looked at.
    pub mask: u32,
    /// The program that runs next. No program runs behind itself, not even after others.
    pub to: usize,
    /// What is between the two, where the packet is sent to another device.
    pub network: Option<Network>,
}

/// A network that packets go through from one device to another: in a new buffer, with a new context,
/// and padded if they are short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Bytes of packets that it may change, from the first one on.
    pub changes: Vec<Range<u16>>,
    /// Whether it routes packets: their time to live, or hop limit, may change, and the checksum of
    /// IPv4 headers, behind up to two VLAN tags.
    pub routes: bool,
}

/// What the lifter takes as given.
#[derive(Clone, Debug)]
pub struct LiftOptions {
    /// How packets arrive, and how far helpers can move their ends.
    pub receive: Receive,
    /// The same on other devices that packets are sent to, but for lengths.
    pub beyond: Receive,
    /// What is known about the content of maps, by name.
    pub contents: BTreeMap<String, MapContent>,
    /// Helpers that are taken to return any value and to change nothing, by name, with the reason.
    pub assumed_helpers: BTreeMap<String, String>,
    /// The types of the kernel, for programs that tail calls lead to.
    pub kernel_types: Option<Arc<Btf>>,
    /// Whether operations stay whose results nothing uses, so that every value of every register can
    /// be asked for.
    pub keeps_dead_operations: bool,
    /// Whether calls of helpers leave what they are given in [`crate::lift::Layout::calls`].
    pub records_calls: bool,
    /// Which programs run behind others. What no handover is said of ends the run.
    pub handovers: Vec<Handover>,
    /// The programs whose work counts, by their numbers in [`crate::Object::programs`], with what
    /// their tail calls lead to; all if it is not said.
    pub counted: Option<BTreeSet<usize>>,
    /// Whether other CPUs change shared maps between accesses of a run, rather than not at all.
    pub interleaved: bool,
    /// Read-only variables that are taken to be unknown, to see whether they matter: see
    /// [`crate::lift::deciding`].
    pub probed: Vec<Variable>,
    /// When to give up.
    pub stop: Stop,
}

impl Default for LiftOptions {
    /// Packets of the usual lengths in pages of their own, and any map content.
    fn default() -> Self {
        LiftOptions {
            receive: Receive::PAGE,
            beyond: Receive::PAGE,
            contents: BTreeMap::new(),
            assumed_helpers: BTreeMap::new(),
            kernel_types: None,
            keeps_dead_operations: false,
            records_calls: false,
            handovers: Vec::new(),
            counted: None,
            interleaved: false,
            probed: Vec::new(),
            stop: Stop::never(),
        }
    }
}

impl LiftOptions {
    /// Packets as any device delivers them, and any map content.
    pub fn any_device() -> Self {
        LiftOptions::default().receiving(Receive::ANY)
    }

    /// The same with packets that arrive so, here and on other devices.
    #[must_use]
    pub fn receiving(self, receive: Receive) -> Self {
        LiftOptions { receive, beyond: receive, ..self }
    }

    /// Why a helper that is not supported is taken for harmless, if it is.
    pub(super) fn assumed(&self, name: &str) -> Option<&str> {
        self.assumed_helpers.get(name).map(String::as_str)
    }
}
