//! Descriptions of the subjects, whose speed is measured, and of the competitors that disturb them.
//! Also checks that the descriptions are valid.

use serde::Deserialize;

use crate::error::{NeighbourError, within};
use crate::traffic::Traffic;

/// Minimum and maximum size of a working set in bytes.
const WORKING_SET: (f64, f64) = (4096.0, 68_719_476_736.0);
/// Minimum and maximum rate of memory accesses or requests, in each second.
const RATES: (f64, f64) = (1.0, 1e10);
/// Minimum and maximum capacity of a queue in requests.
const QUEUE: (f64, f64) = (1.0, 65_536.0);
/// Minimum and maximum number of request queues of one client of an accelerator.
const QUEUES: (f64, f64) = (1.0, 64.0);

/// A description of the subjects and competitors that run together. The speed of subjects is
/// measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixSpec {
    /// Subjects, whose speed is measured with and without the competitors.
    #[serde(default)]
    pub subjects: Vec<WorkSpec>,
    /// Competitors, which share caches, memory or an accelerator with the subjects.
    #[serde(default)]
    pub competitors: Vec<WorkSpec>,
}

/// A description of the work of one or two threads.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WorkSpec {
    /// A network function, which has one or two threads.
    Function(FunctionSpec),
    /// An accelerator on its own thread, which is always busy: its first client always has a
    /// request.
    Accelerator(AcceleratorSpec),
    /// The competitor `mem-bench`, which accesses memory.
    Memory(MemorySpec),
    /// The probe, which measures how much other threads slow down caches and memory.
    Probe(ProbeSpec),
    /// Work that the caller passes in.
    Given(GivenSpec),
}

/// A network function: stages that process packet headers, and an accelerator that processes
/// payloads. The stages or the accelerator may be missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionSpec {
    /// Number of the CPU for the function's only thread, or for the thread that processes headers.
    pub cpu: usize,
    /// Number of the CPU for the accelerator's thread. It is `None` unless `pattern` is a pipeline.
    #[serde(default)]
    pub accelerator_cpu: Option<usize>,
    /// Assignment of the function's work to threads.
    pub pattern: Pattern,
    /// Traffic whose packets the function processes.
    pub traffic: Traffic,
    /// Stages that process the headers of each packet, in this order.
    #[serde(default)]
    pub stages: Vec<HeaderStage>,
    /// Service that the accelerator provides; `None` if the function uses no accelerator.
    #[serde(default)]
    pub service: Option<Service>,
    /// Capacity of the queue from the function to the accelerator, in requests.
    #[serde(default = "default_queue")]
    pub queue: usize,
    /// Other clients of the accelerator. They send requests only while competitors run.
    #[serde(default)]
    pub clients: Vec<ClientSpec>,
}

fn default_queue() -> usize {
    256
}

/// An accelerator that is always busy, because its first client always has a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorSpec {
    /// CPU of the accelerator's thread.
    pub cpu: usize,
    /// Service that the accelerator provides.
    pub service: Service,
    /// Traffic from which the first client takes its payloads.
    pub traffic: Traffic,
    /// Other clients of the accelerator. They send requests only while competitors run.
    #[serde(default)]
    pub clients: Vec<ClientSpec>,
}

/// A client of an accelerator: `regex-bench` or `compression-bench`, depending on the service. It
/// has no thread, because the accelerator generates its requests when they are due.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// Size in bytes of the packets that contain the client's payloads.
    pub packet_bytes: usize,
    /// Number of regular-expression matches per megabyte of payload.
    pub mtbr: f64,
    /// Number of requests per second, in all queues of the client together. If it is `None`, each
    /// queue always has a request.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Number of queues in which the client's requests wait.
    #[serde(default = "one")]
    pub queues: usize,
}

fn one() -> usize {
    1
}

/// The competitor `mem-bench`, which accesses memory.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySpec {
    /// CPU of the competitor's thread.
    pub cpu: usize,
    /// Size of the working set in memory, in bytes.
    pub bytes: usize,
    /// Kind of the memory accesses.
    pub touch: Touch,
    /// Number of accesses per second. If it is `None`, as many as possible.
    #[serde(default)]
    pub rate: Option<f64>,
}

/// The probe, which measures how much other threads slow down caches and memory.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    /// CPU of the probe's thread.
    pub cpu: usize,
    /// Size of the working set in memory, in bytes.
    pub bytes: usize,
}

/// Work of one thread that the caller passes in as an object.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenSpec {
    /// CPU of the thread.
    pub cpu: usize,
    /// Index of the work in the list `given` that the caller passes to
    /// [`Mix::new`](crate::Mix::new).
    pub work: usize,
}

/// Assignment of a network function's work to threads.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One thread processes each packet completely before the next one, and also runs the
    /// accelerator. While its own request waits, it serves the requests of other clients that come
    /// first.
    RunToCompletion,
    /// One thread processes headers and another one runs the accelerator. A bounded queue connects
    /// them.
    Pipeline,
}

/// A stage of a network function that processes the headers of packets.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum HeaderStage {
    /// Counts packets and bytes of each flow.
    FlowStatistics,
    /// Translates the source address and port of each flow.
    Nat,
    /// Finds the next hop of each packet by longest-prefix matching.
    Router {
        /// Number of address prefixes in the routing table.
        prefixes: usize,
    },
    /// Passes or drops packets by an access control list, whose first matching rule decides.
    Acl {
        /// Number of rules in the list.
        rules: usize,
    },
}

/// Operation of an accelerator on the payload of a request.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Counts the matches of regular expressions.
    Regex,
    /// Compresses the payload with zstd.
    Compression,
}

/// Kind of the memory accesses of `mem-bench`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    /// Reads, changes and writes 8-byte words at random addresses.
    Updates,
    /// Copies one half of the working set to the other; each access copies a cache line of 64
    /// bytes.
    Copies,
}

impl FunctionSpec {
    /// Checks that the description is valid.
    ///
    /// # Errors
    /// If a number is out of range, or parts of the description contradict each other.
    pub fn check(&self) -> Result<(), NeighbourError> {
        self.traffic.check()?;
        within("requests in a queue", self.queue as f64, QUEUE.0, QUEUE.1)?;
        self.clients.iter().try_for_each(ClientSpec::check)?;
        let reason = match (self.pattern, self.service, self.accelerator_cpu) {
            (Pattern::Pipeline, None, _) => "a pipeline needs an accelerator; name its service",
            (Pattern::Pipeline, _, None) => "the accelerator of a pipeline needs its own CPU",
            (Pattern::RunToCompletion, _, Some(_)) => {
                "with run-to-completion, the accelerator uses the CPU of the function"
            }
            (_, None, _) if !self.clients.is_empty() => "clients need an accelerator",
            (_, None, _) if self.stages.is_empty() => "a function without stages does nothing",
            _ => return Ok(()),
        };
        Err(NeighbourError::Unfit(reason))
    }
}

impl AcceleratorSpec {
    /// Checks that the description is valid.
    ///
    /// # Errors
    /// If a number of the traffic or of a client is out of range.
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
    /// Checks that the description is valid.
    ///
    /// # Errors
    /// If a number is out of range.
    pub fn check(&self) -> Result<(), NeighbourError> {
        within("bytes of a working set", self.bytes as f64, WORKING_SET.0, WORKING_SET.1)?;
        self.rate.map_or(Ok(()), |rate| within("accesses a second", rate, RATES.0, RATES.1))
    }
}

impl ProbeSpec {
    /// Checks that the description is valid.
    ///
    /// # Errors
    /// If the size of the working set is out of range.
    pub fn check(&self) -> Result<(), NeighbourError> {
        within("bytes of the probe", self.bytes as f64, WORKING_SET.0, WORKING_SET.1)
    }
}
