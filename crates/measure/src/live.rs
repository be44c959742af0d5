//! Times paths with packets that really go where the program sends them.
//!
//! A [`LiveCase`] is a path that live packets take one after the other, confirmed by counting. A
//! [`LiveLoad`] holds such paths in the kernel beside two references. One is the minimal program
//! with the same action on the same packets. The other is a receiving device with a program that
//! drops everything.
//!
//! Maps are not restored between live packets. A path that only the first packet takes is therefore
//! refused instead of measured as another one.
//!
//! Devices are virtual Ethernet: the costs of a network card and its driver remain unknown.

mod load;
mod prepare;

pub use load::{LiveLoad, LiveSample, LiveSubject};
pub use prepare::LiveCase;
