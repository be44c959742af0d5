//! Runs a program in the kernel and in the concrete interpreter, and compares the results. Each
//! packet runs in both with equal map content. Afterwards, action, packet and map content must be
//! equal.
//!
//! [`Replay::new`] loads and lifts a program, [`Replay::install`] fills the maps of both from a
//! witness, and [`Replay::run`] runs a packet. The result ([`Step`]) contains the path of the
//! packet, the number of instructions, and the changes that the run made.
//!
//! The interpreter cannot compute some values that the kernel uses, such as the time or the room
//! left in a map. These values are called open. Kernel and interpreter agree if some choice of open
//! values reproduces the kernel's results. Bytes that depend on an open value with a large range
//! (clock, random number) can have any value. If no choice reproduces the kernel's results, the
//! model of BPF is wrong. Then a [`Disagreement`] contains all data to reproduce this.
//!
//! From the bottom up: `entry` and `tries` write map elements into the interpreter's memory. `pair`
//! contains the program in the kernel, the program in the interpreter, and the state that both
//! share. Its methods are in several modules. `install` and `sync_maps` set map content,
//! `run_preparation` prepares a run, and `interpret` runs the interpreter. `lookup` finds the
//! elements that a run looks up. `outcome` and `elements` compare the results of runs, and
//! `effects` lists their changes. `draws` and `choices` handle open values. `commit` keeps the
//! state that a run left, and `disagreement` reports differences. `replay` is the public interface.

mod choices;
mod clock;
mod commit;
mod cpu;
mod disagreement;
mod draws;
mod effects;
mod elements;
mod entry;
mod error;
mod install;
mod interpret;
mod lookup;
mod outcome;
mod pair;
mod path;
mod replay;
mod run_preparation;
mod skb;
mod sync_maps;
mod tries;

pub use disagreement::Disagreement;
pub use draws::Choice;
pub use effects::{Effects, MapChange, PacketChange, Unreadable};
pub use entry::Entry;
pub use error::ReplayError;
pub use lookup::{Lookup, Lookups};
pub use outcome::{Moved, Outcome};
pub use pair::PathRecord;
pub use path::PathId;
pub use replay::{Replay, Step};
pub use tries::clear_after_prefix;
