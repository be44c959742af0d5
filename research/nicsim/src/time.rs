//! Times in whole picoseconds since the start of a run.

/// A time in picoseconds.
pub type Time = u64;

/// Picoseconds of one second.
pub const SECOND: Time = 1_000_000_000_000;

/// Converts nanoseconds to picoseconds.
pub fn from_ns(ns: f64) -> Time {
    (ns * 1000.0).round() as Time
}

/// Converts picoseconds to seconds.
pub fn seconds(time: Time) -> f64 {
    time as f64 / SECOND as f64
}
