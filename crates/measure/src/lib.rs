//! Times single paths of programs in the running kernel.
//!
//! A [`Case`] is one path, given by a witness: the packet, the content of the maps, and the other
//! inputs that the path depends on. [`Case::prepare`] runs the packet in the kernel and in the
//! interpreter, which must agree. The kernel restores nothing between the repetitions of a test
//! run. Therefore a run that changes its packet or its maps may make the next run take another
//! path. [`Case::prepare`] finds an [`Arrangement`] with which each repetition takes the path, and
//! confirms this by counting. Ring buffers are emptied between calls.
//!
//! A [`Load`] loads a set of cases into the kernel, together with programs of known cost, and times
//! any of them. [`live`] does the same with packets that really go where the program sends them.
//! [`offered`] sends packets at a given rate, and measures losses and latencies.
//!
//! A packet may change the maps so that the packets after it take another path. This path can be
//! timed, too: see [`SubsequentPackets`].
//!
//! A [`Cold`] is a path with packets of many flows, whose map elements together exceed the caches.
//!
//! A [`Trace`] runs the packets of a capture file through a program. It records the path of each
//! packet. For each path, it keeps an example packet with its maps, from which a case can be made.
//!
//! [`Busy`] detects if the times of other programs were disturbed. [`Pace`] measures the current
//! speed of the CPU.
//!
//! The caller decides how many loads and samples to make, and interprets the times.

mod busy;
mod case;
mod cold;
mod cuts;
mod drain;
mod error;
mod full_maps;
pub mod live;
mod load;
pub mod offered;
mod pace;
mod places;
mod points;
mod prepare;
mod reason;
mod references;
#[cfg(test)]
mod schema;
mod skb;
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
