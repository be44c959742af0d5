//! Times single paths of programs in the running kernel.
//!
//! A [`Case`] is one path, given by a witness: the packet, the content of the maps, and the other
//! inputs that the path depends on. [`Case::prepare`] runs the packet in the kernel and in the
//! interpreter, which must agree. It then looks for a way to repeat the run, because the kernel
//! restores nothing between the repetitions of a test run. A path that changes its packet or its
//! maps may therefore turn into another path at the second run. Counting confirms that each
//! repetition takes the path. Ring buffers are emptied between calls.
//!
//! A [`Load`] holds a set of cases in the kernel, beside programs of known cost, and times any of
//! them. [`live`] does the same with packets that really go where the program sends them.
//!
//! A packet may change the maps in a way that makes the packets after it take another path. That
//! path is a case of its own, the [`SubsequentPackets`] one.
//!
//! A [`Cold`] is a case with packets of many flows, whose map elements together exceed the caches.
//!
//! A [`Trace`] is a capture file that is run through a program. It records the path of each packet
//! and, for each path, an example packet with its maps. A case can be made from each example.
//!
//! [`Busy`] detects disturbances of the programs that are timed next to it; [`Pace`] measures the
//! current speed of the CPU.
//!
//! The caller decides how often to load and to time, and interprets the times.

mod busy;
mod case;
mod cold;
mod cuts;
mod drain;
mod error;
mod full_maps;
pub mod live;
mod load;
mod pace;
mod places;
mod points;
mod prepare;
mod reason;
mod references;
#[cfg(test)]
mod schema;
mod stretches;
mod subsequent_packets;
mod trace;
mod trial;

pub use busy::Busy;
pub use case::{Arrangement, Case, SubsequentPackets};
pub use cold::Cold;
pub use error::MeasureError;
pub use load::{Load, Reference};
pub use pace::{Pace, Paced};
pub use stretches::{Stretch, Stretches};
pub use trace::{Trace, TraceFault, TraceMap, TracePath, TraceReport, with_content};
