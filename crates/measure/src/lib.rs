//! Paths of programs, timed in the running kernel.
//!
//! A [`Case`] is a path as a witness shows it: packet, map content, and what else it depends on.
//! [`Case::prepare`] runs it in the kernel and in the interpreter, which have to agree, and finds out
//! how the kernel can run it many times: nothing is restored between repetitions, so a path that
//! changes its packet or its maps may be another one from the second run on. That each repetition
//! takes the path is seen by counting, never assumed. Ring buffers are emptied between calls. A [`Load`] is a set of cases in the kernel, with
//! programs beside them whose cost is known, and times any of them. [`live`] is the same with packets
//! that really go where the program sends them.
//!
//! A packet may leave the maps such that further ones like it take another path: that is a case of its
//! own, the [`Later`] one.
//!
//! A [`Cold`] is a case with packets of many flows, whose elements of maps do not fit into the caches.
//!
//! A [`Trace`] is a capture file on its way through a program: which path each packet takes, and for
//! each path a packet with its maps, from which a case can be made.
//!
//! [`Busy`] tells whether something disturbed what was timed beside it, [`Pace`] how fast the CPU itself
//! is.
//!
//! How often to load and to time, and what times mean, is not known here.

mod busy;
mod case;
mod cold;
mod cuts;
mod drain;
mod error;
mod full_maps;
mod later;
pub mod live;
mod load;
mod pace;
mod places;
mod points;
mod prepare;
mod reason;
mod references;
mod stretches;
mod trace;
mod trial;

pub use busy::Busy;
pub use case::{Arrangement, Case, Later};
pub use cold::Cold;
pub use error::MeasureError;
pub use load::{Load, Reference};
pub use pace::{Pace, Paced};
pub use stretches::{Stretch, Stretches};
pub use trace::{Trace, TraceFault, TraceMap, TracePath, TraceReport, with_content};
