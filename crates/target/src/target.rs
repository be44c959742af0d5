//! A parsed target and the rates that follow from costs on it.
//!
//! Reading and checking is in `decode`, pricing in `model`.

use crate::price::{Mark, PriceTable};
use crate::{CostVector, Cycles, Rate, Slowness, TargetError, Timing};

/// The instructions that a target knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// BPF instructions, as the kernel has them.
    Bpf,
    /// Those of the Netronome flow processor, which BPF programs are compiled to.
    Nfp,
}

/// What a target says about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// How fast a device is: its components have clocks, prices and rates.
    Rates,
    /// How much work there is: its components count events. There are no rates, no fixed limits
    /// and no cores.
    Counts,
}

/// How a component works through the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentKind {
    /// Cores that run the program, one packet each at a time. Costs are whole cycles: 1 tick = 1
    /// cycle.
    Cores,
    /// One engine that all cores share. 1 tick = 10⁻⁹ engine cycles.
    Engine,
    /// Nothing that works: it counts events, 1 tick each. All components of a target of kind
    /// [`TargetKind::Counts`] are of this kind, and no others.
    Counter,
}

impl ComponentKind {
    /// Ticks in one clock cycle of the component.
    pub fn ticks_per_cycle(self) -> u64 {
        match self {
            ComponentKind::Cores | ComponentKind::Counter => 1,
            ComponentKind::Engine => 1_000_000_000,
        }
    }
}

/// A part of the device whose load depends on the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name in reports.
    pub name: String,
    /// How it works.
    pub kind: ComponentKind,
    /// Clock frequency in hertz; 0 for counters, which have none.
    pub clock_hz: u64,
    /// Work for every packet besides the program's.
    pub overhead: Cycles,
    /// Prefixes of the classes that load it, or that it counts; `None` when all do.
    pub(crate) serves: Option<Vec<String>>,
}

impl Component {
    /// The name that options have for it: that of reports, without blanks.
    pub fn metric(&self) -> String {
        self.name.split_whitespace().collect::<Vec<_>>().join("-")
    }

    /// Whether events of `class` load this component, so that they need a price on it, or are
    /// counted by it.
    pub fn serves(&self, class: &str) -> bool {
        let under = |prefix: &String| {
            class.strip_prefix(prefix.as_str()).is_some_and(|r| r.is_empty() || r.starts_with('.'))
        };
        self.serves.as_ref().is_none_or(|prefixes| prefixes.iter().any(under))
    }
}

/// What a fixed limit of the device counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// So many packets per second, whatever their size.
    PacketRate {
        /// Packets per second.
        packets_per_second: u64,
    },
    /// So many bits per second on the wire.
    LineRate {
        /// Bits per second.
        bits_per_second: u64,
        /// Bytes that each packet takes on the wire besides its own (checksum, preamble, gap).
        frame_overhead_bytes: u32,
    },
}

/// A fixed limit of the device, the same for all programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name in reports.
    pub name: String,
    /// What it counts.
    pub kind: LimitKind,
}

/// The packet rate that one component or fixed limit allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRate {
    /// The component's or limit's name.
    pub name: String,
    /// Packets per second.
    pub rate: Rate,
    /// Whether it is a fixed limit of the device.
    pub fixed: bool,
}

/// A device description.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// One sentence for humans.
    pub description: String,
    /// What it says about programs.
    pub kind: TargetKind,
    /// The instructions whose work it describes.
    pub instruction_set: InstructionSet,
    /// How many cores run the program; 0 when the target only counts.
    pub cores: u32,
    /// The parts with costs; at most [`MAX_COMPONENTS`](crate::MAX_COMPONENTS). Exactly one is of
    /// kind [`ComponentKind::Cores`], unless the target counts: then all are counters.
    pub components: Vec<Component>,
    /// Fixed limits.
    pub limits: Vec<Limit>,
    /// Smallest packet in bytes, without the frame check sequence.
    pub min_packet: u32,
    /// Largest packet in bytes unless the user says otherwise.
    pub max_packet: u32,
    /// What estimates of times are made with, on a target that counts.
    pub timing: Option<Timing>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) prices: PriceTable,
}

impl Target {
    /// The same device with only `cores` of its cores running the program.
    ///
    /// # Errors
    /// [`TargetError::Cores`] when that is none or more than there are, [`TargetError::NoCores`]
    /// when the target only counts.
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

    /// The component that options call `metric`, on a target that counts.
    pub fn counter(&self, metric: &str) -> Option<usize> {
        match self.kind {
            TargetKind::Rates => None,
            TargetKind::Counts => self.components.iter().position(|c| c.metric() == metric),
        }
    }

    /// What options call the components of a target that counts; `None` when it does not.
    pub fn metrics(&self) -> Option<Vec<String>> {
        let counts = self.kind == TargetKind::Counts;
        counts.then(|| self.components.iter().map(Component::metric).collect())
    }

    /// The index of the component that runs the program; of the first one when none does.
    pub fn cores_component(&self) -> usize {
        self.components.iter().position(|c| c.kind == ComponentKind::Cores).unwrap_or(0)
    }

    /// The name of a component.
    ///
    /// # Panics
    /// When there is no such component.
    pub fn component_name(&self, component: usize) -> &str {
        &self.components[component].name
    }

    /// Ticks of work that a component gets done in one second; 0 for counters, which do nothing.
    ///
    /// # Panics
    /// When there is no such component.
    pub fn ticks_per_second(&self, component: usize) -> u128 {
        let part = &self.components[component];
        let parallel = match part.kind {
            ComponentKind::Cores => u128::from(self.cores),
            ComponentKind::Engine => 1,
            ComponentKind::Counter => 0,
        };
        parallel * u128::from(part.clock_hz) * u128::from(part.kind.ticks_per_cycle())
    }

    /// A cost in clock cycles of the component, or as a count, for printing.
    ///
    /// # Panics
    /// When there is no such component.
    pub fn cycles(&self, component: usize, ticks: u64) -> f64 {
        ticks as f64 / self.components[component].kind.ticks_per_cycle() as f64
    }

    /// Packets per second when each costs `ticks` on a component; no limit when it costs nothing,
    /// and on counters.
    ///
    /// # Panics
    /// When there is no such component.
    pub fn packet_rate(&self, component: usize, ticks: u64) -> Rate {
        if self.components[component].kind == ComponentKind::Counter {
            return Rate::infinite();
        }
        Rate::new(self.ticks_per_second(component), u128::from(ticks))
    }

    /// Packets of `packet_size` bytes per second that a fixed limit allows.
    ///
    /// # Panics
    /// When there is no such limit.
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

    /// Bits per second of packets of `packet_size` bytes, frame check sequence not counted.
    pub fn bit_rate(packets: Rate, packet_size: u32) -> Rate {
        packets.times(8 * u64::from(packet_size))
    }

    /// Packet rates of all components and fixed limits, in their order; the smallest is the
    /// guarantee of a path with this cost. None on a target that counts.
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

    /// The order of a search for the slowest path: seconds of a component per packet, or per byte
    /// when `packet_size` is given. On a target that counts it is the count, whatever the size.
    ///
    /// # Panics
    /// When there is no such component.
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
