//! A program in the running kernel and in the concrete interpreter, side by side: each packet runs in
//! both, on the same maps, and action, packet and map content are compared.
//!
//! [`Replay::new`] loads and lifts a program, [`Replay::install`] puts what a witness says into the
//! maps of both, and [`Replay::run`] runs a packet: which path it takes, how many instructions that
//! is, and what it changes ([`Step`]). What the interpreter lets open (is there room in a map, what
//! time is it) the kernel decides: the two agree if some choice among what is open does what the
//! kernel did. Bytes that depend on an open value of many bits (clock, random number) may be
//! anything. If there is no such choice, the model of BPF is wrong: a [`Disagreement`] has everything
//! that is needed to see it again.
//!
//! From the bottom: `entry` and `tries` write elements of maps into the interpreter's memory. `pair`
//! is the two and what they share. Methods of it by subject: `install` (map content), `before` (what
//! the interpreter is told before a run), `interpret` (its runs), `sought` (what they look for), `outcome`, `elements` and
//! `addresses` (what runs
//! do), `draws` and `choices` (what is open), `after` (what stays), `adopt`, `effects`,
//! `disagreement`. `replay` is what others use.

mod addresses;
mod adopt;
mod after;
mod before;
mod choices;
mod clock;
mod cpu;
mod disagreement;
mod draws;
mod effects;
mod elements;
mod entry;
mod error;
mod install;
mod interpret;
mod outcome;
mod pair;
mod path;
mod replay;
mod sought;
mod step;
mod tries;

pub use disagreement::Disagreement;
pub use draws::Choice;
pub use effects::{Effects, MapChange, PacketChange, Unreadable};
pub use entry::Entry;
pub use error::ReplayError;
pub use outcome::{Moved, Outcome};
pub use pair::Telling;
pub use path::PathId;
pub use replay::Replay;
pub use sought::{Search, Sought};
pub use step::Step;
pub use tries::cut;
