//! What came of it.

use serde::{Serialize, Serializer};

/// What is known of two programs. As JSON, packets are hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rehearsal {
    /// Packets that got through the programs in front and made both do the same.
    pub compared: u64,
    /// Packets that were passed to both directly and made them do the same.
    pub arbitrary: u64,
    /// Packets that both ran, compared or not.
    pub ran: u64,
    /// Packets that were passed to the programs in front.
    pub tried: u64,
    /// Ways that the original took, as far as they differ in what it returns, by how much the packet's
    /// length changes, or in the number of instructions, where these can be counted.
    pub ways: usize,
    /// Why what they do cannot be compared, if so: from then on it is only seen that both run.
    pub undetermined: Option<String>,
    /// How the two differ.
    pub difference: Option<Found>,
    /// Names of maps that cannot be read and were not compared, such as ring buffers.
    pub unread: Vec<String>,
    /// The same on devices, as far as that was asked for.
    pub devices: Vec<OnDevice>,
    /// How long both take.
    pub rate: Option<Rate>,
    /// Why it ended before it was done, if it did.
    pub ended: Option<String>,
    /// What else there is to know, in sentences.
    pub notes: Vec<String>,
}

/// Frames on a virtual Ethernet device that went through both programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OnDevice {
    /// The station of the programs: "native" is in the driver, "generic" in the kernel's own code.
    pub mode: &'static str,
    /// Frames that got through the programs in front and made both do the same.
    pub frames: u64,
    /// The shortest and the longest of all frames that both ran, in bytes.
    pub lengths: Option<(usize, usize)>,
    /// Why they were not compared there, or not to the end.
    pub why_not: Option<String>,
}

/// What is known of two programs from packets that were given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Covered {
    /// Packets that made both do the same.
    pub packets: u64,
    /// Ways that the original took, as in [`Rehearsal::ways`].
    pub ways: usize,
    /// How the two differ.
    pub difference: Option<Found>,
    /// Why some packets were left out, if so: content that the kernel's maps do not take.
    pub not_installed: Option<String>,
    /// Packets for which there was no time.
    pub not_run: u64,
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// What it is, as [`slowpath_kernel::agreement::Difference`] says it: the first is the original.
    pub what: String,
    /// The packet as it arrived at both; `None` where maps differ and it was not found which packet is
    /// the reason.
    #[serde(serialize_with = "digits_of_some")]
    pub packet: Option<Vec<u8>>,
    /// The metadata in front of it.
    #[serde(serialize_with = "digits")]
    pub metadata: Vec<u8>,
    /// How many packets both had run before, since their maps were as at the start: what they do
    /// may depend on them.
    pub before: u64,
}

/// How long the two programs take for one packet, again and again, on this machine, on warm caches
/// and with maps as earlier runs of the packet left them. Every run was one on the same path: this
/// was counted.
///
/// Times are those of a run in the kernel's loop (`BPF_PROG_TEST_RUN` with `repeat`), its own work
/// included, as `bpftool prog run` shows them. Where that loop can be had as it is, because what a
/// program makes of the packet takes the same path again, this is what was timed. Otherwise the packet
/// is put back between runs, and what that adds to the time of an empty program is taken away.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// The original: nanoseconds of a run, the kernel's loop included (`frame_ns`), the median of all
    /// rounds.
    pub original_ns: f64,
    /// The rewritten one, likewise.
    pub rewritten_ns: f64,
    /// Time of the rewritten program by that of the original, the kernel's loop included in both, the
    /// median of all rounds' ratios: below 1 it is faster. What the programs alone take is further
    /// from 1.
    pub ratio: f64,
    /// The quartiles of these ratios.
    pub ratio_quartiles: [f64; 2],
    /// The same ratio of a second copy of the original, which would be 1 if nothing but the
    /// instructions counted. Where code lies in memory counts, too: although programs are loaded anew
    /// after every third round, identical ones of 25 ns with the frame were seen to be up to 3 % apart.
    pub copy_ratio: f64,
    /// An empty program in the kernel's loop: nanoseconds, the median of all rounds.
    pub frame_ns: f64,
    /// What putting the packet back added to each time that was read, and was taken away: a reading of
    /// the clock and a tail call, by an empty program. 0 if nothing was put back.
    pub restoring_ns: f64,
    /// The ratio of the programs alone, without the frame; `None` if less than 5 ns would be left of
    /// one.
    pub ratio_without_frame: Option<f64>,
    /// How often each was timed; each time, the shortest of five calls counts.
    pub rounds: u32,
    /// Runs in each time.
    pub repetitions: u32,
    /// Whether something puts the packet back between runs, outside the time that is read.
    pub restored: bool,
    /// The packet as it arrives at both.
    #[serde(serialize_with = "digits")]
    pub packet: Vec<u8>,
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
