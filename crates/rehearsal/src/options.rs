//! What is rehearsed, and how long.

use std::fmt;
use std::sync::Arc;

use slowpath_bpf::Object;
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{InstallError, Loaded};

/// A program that comes first.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The object that it is of.
    pub object: Arc<Object>,
    /// Its number in [`Object::programs`].
    pub program: usize,
    /// What it returns when the packet goes on: one of these.
    pub results: Vec<u32>,
}

/// What is compared, and behind what.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The programs that a packet passes first, in order; none has maps in common with another.
    pub upstream: &'a [Stage],
    /// The program as it was written: an object, and its number there.
    pub original: (&'a Object, usize),
    /// What is to do the same, of an object of its own.
    pub rewritten: (&'a Object, usize),
}

/// Which program of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One of those that come first, by its number.
    Upstream(usize),
    /// The program as it was written.
    Original,
    /// The rewritten one.
    Rewritten,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Upstream(number) => write!(f, "program {} of those in front", number + 1),
            Place::Original => f.write_str("the original program"),
            Place::Rewritten => f.write_str("the rewritten program"),
        }
    }
}

/// Fills the maps of a program that was loaded; what it returns is kept as long as the program is.
pub type Install<'a> =
    &'a (dyn Fn(Place, &Loaded) -> Result<Option<Installed>, InstallError> + Sync);

/// Packets to try, on maps that are filled for them.
pub struct Cover<'a> {
    /// As they arrive at the two programs, of at least 14 bytes: one after the other.
    pub packets: Vec<Vec<u8>>,
    /// Fills the maps before the first one.
    pub install: Install<'a>,
}

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many packets are to reach the two programs through those that come first.
    pub packets: u64,
    /// Whether as many more go to the two directly, whatever those in front would have done with
    /// them: for programs that check what they rely on.
    pub arbitrary: bool,
    /// What packets are made from: the same seed makes the same, as long as the kernel does the same.
    pub seed: u64,
    /// How often the two are timed in turns; 0 for not at all.
    pub rounds: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { packets: 100_000, arbitrary: false, seed: 0, rounds: 15 }
    }
}
