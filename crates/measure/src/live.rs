//! Times paths with packets that really go where the program sends them.
//!
//! A [`LiveCase`] is a path that all live packets take; counting their instructions has confirmed
//! this. A [`LiveLoad`] loads such paths into the kernel, with two references for each. One is the
//! minimal program that performs the same action on the same packets. The other is a receiving
//! device whose program drops everything.
//!
//! Maps are not restored between live packets. Therefore a path that only the first packet takes
//! cannot be timed.
//!
//! The devices are virtual Ethernet devices. The costs of a network card and its driver remain
//! unknown.

mod load;
mod prepare;

pub use load::{LiveLoad, LiveSample, LiveSubject};
pub use prepare::LiveCase;
