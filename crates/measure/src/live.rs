//! Paths on packets that really go where the program sends them.
//!
//! A [`LiveCase`] is a path that live packets take, one after the other: which is counted, never
//! assumed. A [`LiveLoad`] has such paths in the kernel, with what they are to be held against: the
//! minimal program of the same action on the same packets, and a device where a program that drops
//! everything receives them.
//!
//! Maps are not set back between live packets. A path that only the first packet takes is therefore
//! refused, not measured as another one.
//!
//! Devices here are virtual Ethernet: what a network card and its driver take is not known.

mod load;
mod prepare;

pub use load::{LiveLoad, LiveSample, LiveSubject};
pub use prepare::LiveCase;
