//! What runs: subjects, whose speed is asked for, and competitors; and what of it makes no sense.

use serde::Deserialize;

use crate::error::{NeighbourError, within};
use crate::traffic::Traffic;

/// Least and most bytes of a working set.
const WORKING_SET: (f64, f64) = (4096.0, 68_719_476_736.0);
/// Least and most accesses or requests a second.
const RATES: (f64, f64) = (1.0, 1e10);
const QUEUE: (f64, f64) = (1.0, 65_536.0);
const QUEUES: (f64, f64) = (1.0, 64.0);

/// Subjects and competitors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixSpec {
    /// What is measured, alone and beside the competitors.
    #[serde(default)]
    pub subjects: Vec<WorkSpec>,
    /// What disturbs it.
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
    /// `mem-bench`.
    Memory(MemorySpec),
    /// The probe.
    Probe(ProbeSpec),
    /// Work that the caller hands over.
    Given(GivenSpec),
}

/// A network function: stages for headers, then an accelerator for payloads, either of which may be
/// missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionSpec {
    /// CPU of its thread.
    pub cpu: usize,
    /// CPU of the accelerator, of a pipeline.
    #[serde(default)]
    pub accelerator_cpu: Option<usize>,
    /// How it uses the accelerator.
    pub pattern: Pattern,
    /// What it gets.
    pub traffic: Traffic,
    /// What it does with headers, in order.
    #[serde(default)]
    pub stages: Vec<HeaderStage>,
    /// What the accelerator does.
    #[serde(default)]
    pub service: Option<Service>,
    /// Requests that its queue at the accelerator has room for.
    #[serde(default = "default_queue")]
    pub queue: usize,
    /// Who else sends requests to the accelerator, in blocks beside competitors.
    #[serde(default)]
    pub clients: Vec<ClientSpec>,
}

fn default_queue() -> usize {
    256
}

/// An accelerator, whose first client always has a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorSpec {
    /// CPU of its thread.
    pub cpu: usize,
    /// What it does.
    pub service: Service,
    /// Payloads of the first client.
    pub traffic: Traffic,
    /// Who else sends requests, in blocks beside competitors.
    #[serde(default)]
    pub clients: Vec<ClientSpec>,
}

/// `regex-bench` or `compression-bench`, by the accelerator that it sends its requests to. Requests
/// are there when they are due, without a thread that makes them.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// Bytes of the packets whose payloads it sends.
    pub packet_bytes: usize,
    /// Matches in a megabyte of them.
    pub mtbr: f64,
    /// Requests a second, of all its queues; without, all have one at any time.
    #[serde(default)]
    pub rate: Option<f64>,
    /// How many queues it has.
    #[serde(default = "one")]
    pub queues: usize,
}

fn one() -> usize {
    1
}

/// `mem-bench`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySpec {
    /// CPU of its thread.
    pub cpu: usize,
    /// Its working set.
    pub bytes: usize,
    /// What it does there.
    pub touch: Touch,
    /// Accesses a second; without, as many as it can.
    #[serde(default)]
    pub rate: Option<f64>,
}

/// The probe.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    /// CPU of its thread.
    pub cpu: usize,
    /// Its working set.
    pub bytes: usize,
}

/// Work that is not made here, of one thread.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenSpec {
    /// CPU of its thread.
    pub cpu: usize,
    /// Its number among what is handed over.
    pub work: usize,
}

/// How a function uses the accelerator.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One thread does everything for a packet before the next one, the accelerator's work included:
    /// while its request waits, it serves those of others in front of it.
    RunToCompletion,
    /// Headers in one thread, the accelerator in another, a bounded queue between them.
    Pipeline,
}

/// A stage for headers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum HeaderStage {
    /// Packets and bytes of each flow.
    FlowStatistics,
    /// Source network address translation.
    Nat,
    /// The longest prefix says where a packet goes.
    Router {
        /// How many there are.
        prefixes: usize,
    },
    /// The first rule says whether a packet passes.
    Acl {
        /// How many there are.
        rules: usize,
    },
}

/// What an accelerator does.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Counts matches of regular expressions.
    Regex,
    /// Compresses with zstd.
    Compression,
}

/// How `mem-bench` uses its working set.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    /// Reads and writes words at random.
    Updates,
    /// Copies one half over the other, a line of 64 bytes an access.
    Copies,
}

impl FunctionSpec {
    /// Finds out whether it makes sense.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self) -> Result<(), NeighbourError> {
        self.traffic.check()?;
        within("requests in a queue", self.queue as f64, QUEUE.0, QUEUE.1)?;
        self.clients.iter().try_for_each(ClientSpec::check)?;
        let why = match (self.pattern, self.service, self.accelerator_cpu) {
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
        Err(NeighbourError::Unfit(why))
    }
}

impl AcceleratorSpec {
    /// Finds out whether it makes sense.
    ///
    /// # Errors
    /// If it does not.
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
    /// Finds out whether it makes sense.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self) -> Result<(), NeighbourError> {
        within("bytes of a working set", self.bytes as f64, WORKING_SET.0, WORKING_SET.1)?;
        self.rate.map_or(Ok(()), |rate| within("accesses a second", rate, RATES.0, RATES.1))
    }
}

impl ProbeSpec {
    /// Finds out whether it makes sense.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self) -> Result<(), NeighbourError> {
        within("bytes of the probe", self.bytes as f64, WORKING_SET.0, WORKING_SET.1)
    }
}
