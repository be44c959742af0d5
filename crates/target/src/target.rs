//! Defines a parsed target description, and computes the rates that follow from costs.
//!
//! `decode` reads and checks targets, and `model` prices events.

use crate::price::{Mark, PriceTable};
use crate::{CostVector, Cycles, Interpreter, Rate, Slowness, TargetError, Timing};

/// The instruction set of the programs that a target runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// BPF instructions, as the kernel runs them.
    Bpf,
    /// Instructions of the Netronome flow processor, to which BPF programs are compiled.
    Nfp,
    /// Instructions of DPDK's software switch, which interprets `.spec` files.
    Swx,
}

/// The kind of results that analyses compute for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Rates of a device, whose components have clocks and prices.
    Rates,
    /// Numbers of events, which the components count. A counting target has no rates, fixed limits
    /// or cores.
    Counts,
}

/// The way in which a component processes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentKind {
    /// Cores that run the program. Each core processes one packet at a time. A tick is a cycle.
    Cores,
    /// One engine that all cores share. A tick is 10⁻⁹ cycles of the engine.
    Engine,
    /// A counter of events. A tick is an event. Targets of kind [`TargetKind::Counts`] have only
    /// counters, and other targets have none.
    Counter,
}

impl ComponentKind {
    /// Returns the number of ticks in one clock cycle of the component.
    pub fn ticks_per_cycle(self) -> u64 {
        match self {
            ComponentKind::Cores | ComponentKind::Counter => 1,
            ComponentKind::Engine => 1_000_000_000,
        }
    }
}

/// A part of the device whose load depends on the path that a packet takes through the program. A
/// component of a counting target is a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Name of the component in reports.
    pub name: String,
    /// Kind of the component.
    pub kind: ComponentKind,
    /// Clock frequency in hertz. It is 0 for counters, which have no clock.
    pub clock_hz: u64,
    /// Work for each packet that is added to the work of the program, in cycles.
    pub overhead: Cycles,
    /// Prefixes of the cost classes that this component processes or counts. `None` for all
    /// classes.
    pub(crate) serves: Option<Vec<String>>,
}

impl Component {
    /// Returns the name of the component in command-line options, with hyphens instead of spaces.
    pub fn metric(&self) -> String {
        self.name.split_whitespace().collect::<Vec<_>>().join("-")
    }

    /// Returns true if events of the cost class `class` need a price on this component, or if this
    /// component counts them.
    pub fn serves(&self, class: &str) -> bool {
        let has_prefix = |prefix: &String| {
            class.strip_prefix(prefix.as_str()).is_some_and(|r| r.is_empty() || r.starts_with('.'))
        };
        self.serves.as_ref().is_none_or(|prefixes| prefixes.iter().any(has_prefix))
    }
}

/// The quantity that a fixed limit restricts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Packets per second, independent of their size.
    PacketRate {
        /// Maximum number of packets per second.
        packets_per_second: u64,
    },
    /// Bits per second on the wire.
    LineRate {
        /// Maximum number of bits per second.
        bits_per_second: u64,
        /// Number of additional bytes on the wire for each packet (checksum, preamble, gap).
        frame_overhead_bytes: u32,
    },
}

/// A fixed limit of the device, such as its line rate, which is the same for all programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the limit in reports.
    pub name: String,
    /// The limited quantity, with its maximum rate.
    pub kind: LimitKind,
}

/// The packet rate that a component or a fixed limit of a device allows, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRate {
    /// Name of the component or limit.
    pub name: String,
    /// Maximum number of packets per second.
    pub rate: Rate,
    /// True for a fixed limit of the device, false for a component.
    pub fixed: bool,
}

/// A description of a device: its components, prices and limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Name of the target, by which users select it.
    pub name: String,
    /// Description of the target in one sentence.
    pub description: String,
    /// Kind of results that analyses compute for the target.
    pub kind: TargetKind,
    /// Instruction set of the programs on the target.
    pub instruction_set: InstructionSet,
    /// Number of cores that run the program. It is 0 for counting targets.
    pub cores: u32,
    /// Components that have costs, at most [`MAX_COMPONENTS`](crate::MAX_COMPONENTS). Exactly one
    /// is of kind [`ComponentKind::Cores`], except on counting targets.
    pub components: Vec<Component>,
    /// Fixed limits of the device, such as its line rate.
    pub limits: Vec<Limit>,
    /// Minimum packet length in bytes, without the frame check sequence.
    pub min_packet: u32,
    /// Default maximum packet length in bytes, without the frame check sequence.
    pub max_packet: u32,
    /// Measurements for time estimates; `None` if there are none. Only counting targets can have
    /// them.
    pub timing: Option<Timing>,
    /// Measurements for time estimates of pipelines; `None` if there are none. Only targets that
    /// count the instructions of pipelines can have them.
    pub interpreter: Option<Interpreter>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) prices: PriceTable,
}

impl Target {
    /// Returns the same device restricted to `cores` of its cores.
    ///
    /// # Errors
    /// [`TargetError::Cores`] if `cores` is 0 or exceeds the device's cores,
    /// [`TargetError::NoCores`] on counting targets.
    pub fn with_cores(mut self, cores: u32) -> Result<Self, TargetError> {
        if self.kind == TargetKind::Counts {
            return Err(TargetError::NoCores { target: self.name });
        }
        if cores == 0 || cores > self.cores {
            let (target, available) = (self.name, self.cores);
            return Err(TargetError::Cores { target, available, requested: cores });
        }
        self.cores = cores;
        Ok(self)
    }

    /// Returns the index of the component with the option name `metric` on a counting target (see
    /// [`Component::metric`]). Returns `None` for an unknown name, and on other targets.
    pub fn counter(&self, metric: &str) -> Option<usize> {
        match self.kind {
            TargetKind::Rates => None,
            TargetKind::Counts => self.components.iter().position(|c| c.metric() == metric),
        }
    }

    /// Returns the names of all components of a counting target in command-line options. Returns
    /// `None` for other targets.
    pub fn metrics(&self) -> Option<Vec<String>> {
        let counts = self.kind == TargetKind::Counts;
        counts.then(|| self.components.iter().map(Component::metric).collect())
    }

    /// Returns the index of the component whose cores run the program, or 0 if the target has no
    /// cores.
    pub fn cores_component(&self) -> usize {
        self.components.iter().position(|c| c.kind == ComponentKind::Cores).unwrap_or(0)
    }

    /// Returns the name of a component.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn component_name(&self, component: usize) -> &str {
        &self.components[component].name
    }

    /// Returns the number of ticks of work that a component completes in one second, or 0 for
    /// counters.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn ticks_per_second(&self, component: usize) -> u128 {
        let component = &self.components[component];
        let parallel = match component.kind {
            ComponentKind::Cores => u128::from(self.cores),
            ComponentKind::Engine => 1,
            ComponentKind::Counter => 0,
        };
        parallel * u128::from(component.clock_hz) * u128::from(component.kind.ticks_per_cycle())
    }

    /// Converts ticks to clock cycles of the component, or to a number of events for counters, for
    /// display.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn cycles(&self, component: usize, ticks: u64) -> f64 {
        ticks as f64 / self.components[component].kind.ticks_per_cycle() as f64
    }

    /// Returns the number of packets per second if each packet costs `ticks` on a component. The
    /// rate is infinite for zero ticks and on counters.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn packet_rate(&self, component: usize, ticks: u64) -> Rate {
        if self.components[component].kind == ComponentKind::Counter {
            return Rate::infinite();
        }
        Rate::new(self.ticks_per_second(component), u128::from(ticks))
    }

    /// Returns the rate of packets of `packet_size` bytes that a fixed limit allows. `limit` is its
    /// index in `limits`.
    ///
    /// # Panics
    /// If there is no such limit.
    pub fn limit_rate(&self, limit: usize, packet_size: u32) -> Rate {
        match self.limits[limit].kind {
            LimitKind::PacketRate { packets_per_second } => {
                Rate::new(u128::from(packets_per_second), 1)
            }
            LimitKind::LineRate { bits_per_second, frame_overhead_bytes } => {
                let bytes = u128::from(packet_size) + u128::from(frame_overhead_bytes);
                Rate::new(u128::from(bits_per_second), 8 * bytes)
            }
        }
    }

    /// Converts a packet rate to bits per second, for packets of `packet_size` bytes without the
    /// frame check sequence.
    pub fn bit_rate(packets: Rate, packet_size: u32) -> Rate {
        packets.times(8 * u64::from(packet_size))
    }

    /// Returns the packet rates that all components, and then all fixed limits, allow for a path
    /// with this cost. The smallest of these rates is the rate of the path. The list is empty on
    /// counting targets.
    pub fn rates(&self, cost: &CostVector, packet_size: u32) -> Vec<ResourceRate> {
        if self.kind == TargetKind::Counts {
            return Vec::new();
        }
        let components = self.components.iter().zip(cost.as_slice()).enumerate();
        let limits = self.limits.iter().enumerate();
        components
            .map(|(index, (component, &ticks))| ResourceRate {
                name: component.name.clone(),
                rate: self.packet_rate(index, ticks),
                fixed: false,
            })
            .chain(limits.map(|(index, limit)| ResourceRate {
                name: limit.name.clone(),
                rate: self.limit_rate(index, packet_size),
                fixed: true,
            }))
            .collect()
    }

    /// Returns the slowness of a path that costs `ticks` on a component. Searches for the slowest
    /// path order paths by slowness. It is in seconds per packet, or per byte if `packet_size` is
    /// given. On counting targets it is the number of events, independent of the size.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn slowness(&self, component: usize, ticks: u64, packet_size: Option<u32>) -> Slowness {
        if self.components[component].kind == ComponentKind::Counter {
            return Slowness::new(u128::from(ticks), 1);
        }
        let size = u128::from(packet_size.unwrap_or(1));
        Slowness::new(u128::from(ticks), self.ticks_per_second(component) * size)
    }
}

#[cfg(test)]
mod tests;
