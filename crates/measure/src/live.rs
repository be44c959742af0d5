//! Times paths with packets that really go where the program sends them.
//!
//! A [`LiveCase`] is a path that all live packets take, confirmed by counting. A [`LiveLoad`] has
//! such paths in the kernel, and two references for each. One is the minimal program with the same
//! action on the same packets. The other is a receiving device with a program that drops
//! everything.
//!
//! Maps are not restored between live packets. Therefore a path that only the first packet takes is
//! refused.
//!
//! Devices are virtual Ethernet: the costs of a network card and its driver remain unknown.

mod load;
mod prepare;

pub use load::{LiveLoad, LiveSample, LiveSubject};
pub use prepare::LiveCase;
