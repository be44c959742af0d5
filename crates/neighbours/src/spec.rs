//! Descriptions of subjects, whose speed is measured, and of competitors, with their checks.

use serde::Deserialize;

use crate::error::{NeighbourError, within};
use crate::traffic::Traffic;

/// Minimum and maximum bytes of a working set.
const WORKING_SET: (f64, f64) = (4096.0, 68_719_476_736.0);
/// Minimum and maximum accesses or requests per second.
const RATES: (f64, f64) = (1.0, 1e10);
/// Minimum and maximum capacity of a queue in requests.
const QUEUE: (f64, f64) = (1.0, 65_536.0);
/// Minimum and maximum number of queues of a client.
const QUEUES: (f64, f64) = (1.0, 64.0);

/// Description of subjects and competitors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixSpec {
    /// Subjects, which are measured with and without the competitors.
    #[serde(default)]
    pub subjects: Vec<WorkSpec>,
    /// Competitors, which disturb the subjects.
    #[serde(default)]
    pub competitors: Vec<WorkSpec>,
}

/// Work of one or two threads.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WorkSpec {
    /// A network function.
    Function(FunctionSpec),
    /// An accelerator that one client keeps busy.
    Accelerator(AcceleratorSpec),
    /// The competitor `mem-bench`.
    Memory(MemorySpec),
    /// The probe, which measures pressure on caches and memory.
    Probe(ProbeSpec),
    /// Work that the caller provides.
    Given(GivenSpec),
}

/// A network function: stages for headers, and an accelerator for payloads. One of the two parts
/// may be missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionSpec {
    /// CPU of the function's thread.
    pub cpu: usize,
    /// CPU of the accelerator's thread, in a pipeline.
    #[serde(default)]
    pub accelerator_cpu: Option<usize>,
    /// Execution pattern.
    pub pattern: Pattern,
    /// Traffic of the function.
    pub traffic: Traffic,
    /// Stages that process headers, in order.
    #[serde(default)]
    pub stages: Vec<HeaderStage>,
    /// Service of the accelerator, if the function has one.
    #[serde(default)]
    pub service: Option<Service>,
    /// Capacity of the function's queue at the accelerator, in requests.
    #[serde(default = "default_queue")]
    pub queue: usize,
    /// Other clients of the accelerator, active in blocks with competitors.
    #[serde(default)]
    pub clients: Vec<ClientSpec>,
}

fn default_queue() -> usize {
    256
}

/// An accelerator whose first client always has a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorSpec {
    /// CPU of its thread.
    pub cpu: usize,
    /// Service of the accelerator.
    pub service: Service,
    /// Traffic with the payloads of the first client.
    pub traffic: Traffic,
    /// Other clients, active in blocks with competitors.
    #[serde(default)]
    pub clients: Vec<ClientSpec>,
}

/// A client of an accelerator: `regex-bench` or `compression-bench`, depending on the service. The
/// accelerator itself generates its requests when they are due.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// Bytes of the packets that contain the client's payloads.
    pub packet_bytes: usize,
    /// Matches per megabyte of payload.
    pub mtbr: f64,
    /// Requests per second over all queues; without a rate, each queue always has a request.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Number of queues.
    #[serde(default = "one")]
    pub queues: usize,
}

fn one() -> usize {
    1
}

/// The competitor `mem-bench`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySpec {
    /// CPU of its thread.
    pub cpu: usize,
    /// Bytes of the working set.
    pub bytes: usize,
    /// Kind of accesses.
    pub touch: Touch,
    /// Accesses per second; without a rate, as many as possible.
    #[serde(default)]
    pub rate: Option<f64>,
}

/// The probe.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    /// CPU of its thread.
    pub cpu: usize,
    /// Bytes of the working set.
    pub bytes: usize,
}

/// Work of one thread that the caller provides.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenSpec {
    /// CPU of its thread.
    pub cpu: usize,
    /// Index of the work in the caller's list.
    pub work: usize,
}

/// The execution pattern of a function.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One thread processes each packet completely before the next one, and does the accelerator's
    /// work, too. While its request waits, it serves the requests of other clients that come first.
    RunToCompletion,
    /// One thread for headers and one for the accelerator, connected by a bounded queue.
    Pipeline,
}

/// A stage for headers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum HeaderStage {
    /// Counts packets and bytes of each flow.
    FlowStatistics,
    /// Source network address translation.
    Nat,
    /// Routes by longest-prefix matching.
    Router {
        /// Number of prefixes.
        prefixes: usize,
    },
    /// Filters packets: the first matching rule decides.
    Acl {
        /// Number of rules.
        rules: usize,
    },
}

/// The service of an accelerator.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Counts matches of regular expressions.
    Regex,
    /// Compresses with zstd.
    Compression,
}

/// The kind of accesses of `mem-bench`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    /// Reads and writes words at random.
    Updates,
    /// Copies one half of the working set to the other; each access copies a line of 64 bytes.
    Copies,
}

impl FunctionSpec {
    /// Checks the description.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn check(&self) -> Result<(), NeighbourError> {
        self.traffic.check()?;
        within("requests in a queue", self.queue as f64, QUEUE.0, QUEUE.1)?;
        self.clients.iter().try_for_each(ClientSpec::check)?;
        let reason = match (self.pattern, self.service, self.accelerator_cpu) {
            (Pattern::Pipeline, None, _) => "a pipeline has an accelerator; name what it does",
            (Pattern::Pipeline, _, None) => "the accelerator of a pipeline has a CPU of its own",
            (Pattern::RunToCompletion, _, Some(_)) => {
                "run to completion, the accelerator has the CPU of the function"
            }
            (_, None, _) if !self.clients.is_empty() => {
                "there is no accelerator to send requests to"
            }
            (_, None, _) if self.stages.is_empty() => "a function without stages does nothing",
            _ => return Ok(()),
        };
        Err(NeighbourError::Unfit(reason))
    }
}

impl AcceleratorSpec {
    /// Checks the description.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn check(&self) -> Result<(), NeighbourError> {
        self.traffic.check()?;
        self.clients.iter().try_for_each(ClientSpec::check)
    }
}

impl ClientSpec {
    fn check(&self) -> Result<(), NeighbourError> {
        Traffic { flows: 1, packet_bytes: self.packet_bytes, mtbr: self.mtbr, ring: 16, seed: 0 }
            .check()?;
        within("queues of a client", self.queues as f64, QUEUES.0, QUEUES.1)?;
        self.rate.map_or(Ok(()), |rate| within("requests a second", rate, RATES.0, RATES.1))
    }
}

impl MemorySpec {
    /// Checks the description.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn check(&self) -> Result<(), NeighbourError> {
        within("bytes of a working set", self.bytes as f64, WORKING_SET.0, WORKING_SET.1)?;
        self.rate.map_or(Ok(()), |rate| within("accesses a second", rate, RATES.0, RATES.1))
    }
}

impl ProbeSpec {
    /// Checks the description.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn check(&self) -> Result<(), NeighbourError> {
        within("bytes of the probe", self.bytes as f64, WORKING_SET.0, WORKING_SET.1)
    }
}
