//! Results of a rehearsal, as data.

use serde::{Serialize, Serializer};
use slowpath_kernel::agreement::Difference;

use crate::program_harness::Arrival;

/// Results of comparing the original and the rewritten program. In JSON, packets are hexadecimal
/// digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rehearsal {
    /// Number of packets that got through the upstream programs and that the original and the
    /// rewritten program treated alike.
    pub compared: u64,
    /// Number of packets that were sent directly to the original and the rewritten program, and
    /// that both treated alike.
    pub arbitrary: u64,
    /// Number of packets that both programs ran, compared or not.
    pub ran: u64,
    /// Number of packets that were sent to the upstream programs.
    pub tried: u64,
    /// Number of different paths that the original took. Paths count as different if return value,
    /// change of the packet's length, or number of instructions differ. Instructions are ignored if
    /// they cannot be counted.
    pub ways: usize,
    /// Reason why the results cannot be compared, if so. The remaining packets then only show that
    /// both programs run.
    pub undetermined: Option<String>,
    /// The difference between the two programs, if one was found.
    pub difference: Option<Found>,
    /// Names of maps that were not compared because they cannot be read, such as ring buffers.
    pub unread: Vec<String>,
    /// Results of sending frames on virtual Ethernet devices; empty if this was not requested.
    pub devices: Vec<OnDevice>,
    /// Times of both programs, if they were timed.
    pub rate: Option<Rate>,
    /// Reason why the rehearsal ended early, if it did.
    pub ended: Option<String>,
    /// Remarks that the other fields do not express, in sentences.
    pub notes: Vec<String>,
}

/// Result of sending frames through both programs on a virtual Ethernet device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RehearsalOnDevice"))]
pub struct OnDevice {
    /// Place of the programs: "native" for the driver, "generic" for the kernel's generic code.
    #[cfg_attr(test, schemars(extend("enum" = ["native", "generic"])))]
    pub mode: &'static str,
    /// Number of frames that got through the upstream programs and that the original and the
    /// rewritten program treated alike.
    pub frames: u64,
    /// Lengths of the shortest and the longest frame that both programs ran, in bytes.
    pub lengths: Option<(usize, usize)>,
    /// Reason why the comparison on this device did not take place or ended early.
    pub why_not: Option<String>,
}

/// Results of comparing two programs on given packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RehearsalCovered"))]
pub struct Covered {
    /// Number of packets that the original and the rewritten program treated alike.
    pub packets: u64,
    /// Number of different paths that the original took, as in [`Rehearsal::ways`].
    pub ways: usize,
    /// The difference between the two programs, if one was found.
    pub difference: Option<Found>,
    /// Reason why some packets were skipped, if so: the kernel rejected the content of maps.
    pub not_installed: Option<String>,
    /// Number of packets that were skipped for lack of time.
    pub not_run: u64,
}

/// A difference between the two programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RehearsalDifference"))]
pub struct Found {
    /// Description of the difference, as [`slowpath_kernel::agreement::Difference`] prints it. Its
    /// "first" program is the original.
    pub what: String,
    /// The packet as it arrived at both programs; `None` if maps differ and the responsible packet
    /// is unknown.
    #[serde(serialize_with = "digits_of_some")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub packet: Option<Vec<u8>>,
    /// XDP metadata in front of the packet (`data_meta`).
    #[serde(serialize_with = "digits")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub metadata: Vec<u8>,
    /// Number of packets that both programs ran before the differing one since their maps were
    /// reset. The difference may depend on these packets.
    pub before: u64,
}

/// Times of the two programs for one packet, repeated on this machine with warm caches and with
/// maps as earlier runs left them. Counting confirmed that all runs took the same path.
///
/// A time is that of a run in the kernel's loop (`BPF_PROG_TEST_RUN` with `repeat`) including the
/// loop's own work, as `bpftool prog run` shows it. If the changed packet takes the same path
/// again, exactly this loop was timed. Otherwise the packet was restored between runs, and the
/// overhead of restoring, measured with an empty program, was subtracted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RehearsalRate"))]
pub struct Rate {
    /// Nanoseconds of a run of the original, including the kernel's loop (`frame_ns`): the median
    /// of all rounds.
    pub original_ns: f64,
    /// Nanoseconds of a run of the rewritten program, measured in the same way.
    pub rewritten_ns: f64,
    /// Time of the rewritten program divided by that of the original, both including the kernel's
    /// loop: the median of all rounds. Below 1 the rewritten program is faster. The ratio of the
    /// programs alone is further from 1.
    pub ratio: f64,
    /// The first and the third quartile of the ratios of all rounds.
    pub ratio_quartiles: [f64; 2],
    /// The same ratio for a second copy of the original, which shows the error of the measurement.
    /// It would be 1 if the time depended only on the instructions, but it also depends on the
    /// address of the code. Programs are loaded anew after every third round, and yet identical
    /// programs of 25 ns including the loop differed by up to 3 %.
    pub copy_ratio: f64,
    /// Nanoseconds of an empty program in the kernel's loop: the median of all rounds.
    pub frame_ns: f64,
    /// Nanoseconds that were subtracted from each time, because restoring the packet added them: a
    /// clock reading and a tail call, measured with an empty program. 0 if nothing was restored.
    pub restoring_ns: f64,
    /// Ratio of the times without the time of the kernel's loop (`frame_ns`); `None` if less than
    /// 5 ns remain for one of the programs.
    pub ratio_without_frame: Option<f64>,
    /// Number of timed rounds; each round takes the shortest of five calls.
    pub rounds: u32,
    /// Number of runs of a program in each call of the kernel.
    pub repetitions: u32,
    /// True if the packet was restored between runs, outside of the timed part.
    pub restored: bool,
    /// The packet as it arrives at both programs.
    #[serde(serialize_with = "digits")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub packet: Vec<u8>,
}

impl Found {
    /// Describes a difference that shows after the packet `arrival`, if that is known. `before` is
    /// the number of earlier packets.
    pub(crate) fn new(difference: &Difference, arrival: Option<Arrival>, before: usize) -> Found {
        let (packet, metadata) = arrival.map(|a| (a.packet, a.metadata)).unzip();
        let (what, metadata) = (difference.to_string(), metadata.unwrap_or_default());
        Found { what, packet, metadata, before: before as u64 }
    }
}

fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digits<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(bytes))
}

#[allow(clippy::ref_option, reason = "as serde calls it")]
fn digits_of_some<S: Serializer>(
    bytes: &Option<Vec<u8>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    bytes.as_deref().map(text).serialize(serializer)
}
