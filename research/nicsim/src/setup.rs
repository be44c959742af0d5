//! Set-up of a run: maps the clients of a scenario to cores, memory and links.

use std::collections::BTreeMap;

use crate::accelerator::Accelerator;
use crate::address::{Allocator, LINE, MemoryRegion, places};
use crate::cores::{Touch, Work, cycles};
use crate::count::{Counts, Pages};
use crate::device::Device;
use crate::error::NicError;
use crate::estimate::Estimate;
use crate::function::{Function, Functions, PACKET, Step};
use crate::hierarchy::Level;
use crate::link::Link;
use crate::random::Random;
use crate::scenario::{Client, Scenario};
use crate::state::{Action, ClientState, StageState, ThreadState};
use crate::time::SECOND;

/// Initial state of all parts of a simulation.
#[derive(Debug, Default)]
pub struct Parts {
    /// Clients, in the order of the scenario.
    pub clients: Vec<ClientState>,
    /// Threads of all clients.
    pub threads: Vec<ThreadState>,
    /// Links between the stages of all clients.
    pub links: Vec<Link>,
    /// Accelerators, with a queue for each client.
    pub accelerators: Vec<Accelerator>,
    /// Names of the accelerators, in the order of `accelerators`.
    pub names: Vec<String>,
}

/// Assigns the clients of a scenario to cores, memory and accelerators of a device.
///
/// # Errors
///
/// If a function or an accelerator is unknown, a value is out of range, or the device has too few
/// cores.
pub fn place(
    device: &Device,
    functions: &Functions,
    scenario: &Scenario,
) -> Result<Parts, NicError> {
    scenario.check()?;
    let mut setup = Setup {
        device,
        sampling: scenario.sampling,
        allocator: Allocator::default(),
        next_core: 0,
        parts: Parts::default(),
    };
    let count = scenario.clients.len();
    for (name, parameters) in &device.accelerator {
        setup.parts.names.push(name.clone());
        setup.parts.accelerators.push(Accelerator::new(parameters, count));
    }
    for (at, client) in scenario.clients.iter().enumerate() {
        let function = functions.get(&client.function).ok_or_else(|| NicError::Unknown {
            place: format!("client {}", at + 1),
            what: "function",
            name: client.function.clone(),
            known: functions.names().collect::<Vec<_>>().join(", "),
        })?;
        setup.client(function, client, Random::new(scenario.seed, at as u64 + 1))?;
    }
    Ok(setup.parts)
}

struct Setup<'a> {
    device: &'a Device,
    sampling: u32,
    allocator: Allocator,
    next_core: usize,
    parts: Parts,
}

impl Setup<'_> {
    fn client(
        &mut self,
        function: &Function,
        client: &Client,
        random: Random,
    ) -> Result<(), NicError> {
        let first_line = self.allocator.next();
        let regions = places(&mut self.allocator, function, client)?;
        let packets = self.packets(function, client)?;
        let cores = self.cores(function)?;
        let payload = client.packet_bytes.saturating_sub(self.device.packets.header_bytes);
        let lines = (first_line, self.allocator.next());
        let mut state = ClientState {
            name: function.name.clone(),
            packets: packets.clone(),
            buffers: self.device.packets.buffers,
            next_buffer: 0,
            packet_lines: client.packet_bytes.div_ceil(LINE as u32),
            payload,
            payload_lines: payload.div_ceil(LINE as u32),
            matches: client.mtbr * f64::from(payload) * 1e-6,
            flows: client.flows,
            interval: client
                .rate
                .map(|rate| SECOND as f64 / rate * function.stages[0].threads as f64),
            cores,
            lines,
            random,
            counts: Counts::default(),
            pages: Pages::new(lines.0, lines.1),
            inside: (0, 0),
            stages: Vec::new(),
        };
        let number = self.parts.clients.len();
        let mut core = state.cores.clone().into_iter();
        for (at, stage) in function.stages.iter().enumerate() {
            let from = (at > 0).then(|| self.parts.links.len() - 1);
            let last = at + 1 == function.stages.len();
            if let Some(next) = function.stages.get(at + 1) {
                let through = next.through.as_deref().map(|name| self.accelerator(function, name));
                let link = Link::new(self.device.packets.ring, through.transpose()?);
                self.parts.links.push(link);
            }
            let to = (!last).then(|| self.parts.links.len() - 1);
            let steps = stage.steps.iter();
            let steps = steps.map(|step| self.step(function, step, &state, &regions));
            let steps = steps.collect::<Result<Vec<_>, _>>()?;
            for part in 0..stage.threads {
                self.parts.threads.push(ThreadState {
                    client: number,
                    stage: at,
                    core: core.next().unwrap_or_default(),
                    part: (part as u32, stage.threads as u32),
                    cursor: 0,
                    packet: None,
                    step: 0,
                    idle_since: None,
                    due: state.interval.unwrap_or_default() * state.random.share(),
                });
            }
            state.stages.push(StageState { steps, from, to });
        }
        self.parts.clients.push(state);
        Ok(())
    }

    fn packets(
        &mut self,
        function: &Function,
        client: &Client,
    ) -> Result<Option<MemoryRegion>, NicError> {
        if !function.receives {
            return Ok(None);
        }
        let packets = &self.device.packets;
        if client.packet_bytes > packets.buffer_bytes {
            let reason = format!(
                "packets of {} bytes do not fit into buffers of {}",
                client.packet_bytes, packets.buffer_bytes
            );
            return Err(NicError::impossible(client.function.clone(), reason));
        }
        self.allocator.packets(packets.buffers, packets.buffer_bytes, &function.name).map(Some)
    }

    /// Allocates cores in whole clusters, so that functions do not share a level-2 cache.
    fn cores(&mut self, function: &Function) -> Result<Vec<usize>, NicError> {
        let cores = &self.device.cores;
        let first = self.next_core;
        self.next_core += function.threads().next_multiple_of(cores.per_cluster);
        if self.next_core > cores.count {
            let reason = format!(
                "there are {} cores, and this function would need cores up to number {}",
                cores.count, self.next_core
            );
            return Err(NicError::impossible(function.name.clone(), reason));
        }
        Ok((first..first + function.threads()).collect())
    }

    fn accelerator(&self, function: &Function, name: &str) -> Result<usize, NicError> {
        let names = &self.parts.names;
        names.iter().position(|known| known == name).ok_or_else(|| NicError::Unknown {
            place: function.name.clone(),
            what: "accelerator",
            name: name.into(),
            known: names.join(", "),
        })
    }

    fn step(
        &self,
        function: &Function,
        step: &Step,
        client: &ClientState,
        regions: &BTreeMap<String, MemoryRegion>,
    ) -> Result<Action, NicError> {
        if let Some(name) = &step.call {
            return Ok(Action::Call(self.accelerator(function, name)?));
        }
        let per_byte = step.instructions_per_byte * f64::from(client.payload);
        let instructions = step.instructions + per_byte;
        let window = self.device.cores.window_instructions * function.cycles_per_instruction;
        let touch = match (&step.touches, step.order) {
            (Some(name), Some(order)) => {
                let region = match name.as_str() {
                    PACKET => client.packets.as_ref(),
                    name => regions.get(name),
                };
                region.map(|region| {
                    let tiny = region.lines() < self.sampling;
                    Touch {
                        region: region.clone(),
                        lines: if step.payload { client.packet_lines } else { step.lines },
                        order,
                        writes: (step.writes * (1_u64 << 32) as f64) as u64,
                        estimate: Estimate::new(if tiny { Level::L1 } else { Level::Memory }),
                        tiny,
                    }
                })
            }
            _ => None,
        };
        Ok(Action::Work(Work {
            instructions,
            compute: cycles(self.device, instructions * function.cycles_per_instruction).max(1),
            hidden: cycles(self.device, window),
            touch,
        }))
    }
}
