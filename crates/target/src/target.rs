//! A parsed target and the rates that follow from costs on it.
//!
//! Reading and checking is in `decode`, pricing in `model`.

use crate::price::{Mark, PriceTable};
use crate::{CostVector, Cycles, Rate, Slowness, TargetError};

/// How a component works through the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentKind {
    /// Cores that run the program, one packet each at a time. Costs are whole cycles: 1 tick = 1
    /// cycle.
    Cores,
    /// One engine that all cores share. 1 tick = 10⁻⁹ engine cycles.
    Engine,
}

impl ComponentKind {
    /// Ticks in one clock cycle of the component.
    pub fn ticks_per_cycle(self) -> u64 {
        match self {
            ComponentKind::Cores => 1,
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
    /// Clock frequency in hertz.
    pub clock_hz: u64,
    /// Work for every packet besides the program's.
    pub overhead: Cycles,
    /// Prefixes of the classes that load it; `None` when all do.
    pub(crate) serves: Option<Vec<String>>,
}

impl Component {
    /// Whether events of `class` load this component, so that they need a price on it.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// One sentence for humans.
    pub description: String,
    /// How many cores run the program.
    pub cores: u32,
    /// The parts with costs; at most [`MAX_COMPONENTS`](crate::MAX_COMPONENTS), exactly one of
    /// kind [`ComponentKind::Cores`].
    pub components: Vec<Component>,
    /// Fixed limits.
    pub limits: Vec<Limit>,
    /// Smallest packet in bytes, without the frame check sequence.
    pub min_packet: u32,
    /// Largest packet in bytes unless the user says otherwise.
    pub max_packet: u32,
    pub(crate) marks: Vec<Mark>,
    pub(crate) prices: PriceTable,
}

impl Target {
    /// The same device with only `cores` of its cores running the program.
    ///
    /// # Errors
    /// [`TargetError::Cores`] when that is none or more than there are.
    pub fn with_cores(mut self, cores: u32) -> Result<Self, TargetError> {
        if cores == 0 || cores > self.cores {
            let (target, available) = (self.name, self.cores);
            return Err(TargetError::Cores { target, available, requested: cores });
        }
        self.cores = cores;
        Ok(self)
    }

    /// The index of the component that runs the program.
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

    /// Ticks of work that a component gets done in one second.
    ///
    /// # Panics
    /// When there is no such component.
    pub fn ticks_per_second(&self, component: usize) -> u128 {
        let part = &self.components[component];
        let parallel = match part.kind {
            ComponentKind::Cores => u128::from(self.cores),
            ComponentKind::Engine => 1,
        };
        parallel * u128::from(part.clock_hz) * u128::from(part.kind.ticks_per_cycle())
    }

    /// A cost in clock cycles of the component, for printing.
    ///
    /// # Panics
    /// When there is no such component.
    pub fn cycles(&self, component: usize, ticks: u64) -> f64 {
        ticks as f64 / self.components[component].kind.ticks_per_cycle() as f64
    }

    /// Packets per second when each costs `ticks` on a component; no limit when it costs nothing.
    ///
    /// # Panics
    /// When there is no such component.
    pub fn packet_rate(&self, component: usize, ticks: u64) -> Rate {
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
    /// guarantee of a path with this cost.
    pub fn rates(&self, cost: &CostVector, packet_size: u32) -> Vec<ResourceRate> {
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
    /// when `packet_size` is given.
    ///
    /// # Panics
    /// When there is no such component.
    pub fn slowness(&self, component: usize, ticks: u64, packet_size: Option<u32>) -> Slowness {
        let size = u128::from(packet_size.unwrap_or(1));
        Slowness::new(u128::from(ticks), self.ticks_per_second(component) * size)
    }
}

#[cfg(test)]
mod tests;
