//! Times: whole picoseconds since the beginning of a run.

/// Picoseconds.
pub type Time = u64;

/// Of one second.
pub const SECOND: Time = 1_000_000_000_000;

/// Nanoseconds as picoseconds.
pub fn from_ns(ns: f64) -> Time {
    (ns * 1000.0).round() as Time
}

/// Seconds in a time.
pub fn seconds(time: Time) -> f64 {
    time as f64 / SECOND as f64
}
