//! Description of the simulated NIC.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::NicError;

const BUILT_IN: &str = include_str!("../devices/simulated-bluefield-2.toml");

/// Cores, caches, memory and accelerators of a NIC. The files in `devices/` show the format.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Name; it begins with `simulated-` to prevent confusion with a real device.
    pub name: String,
    /// Parameters of the cores.
    pub cores: CoreParameters,
    /// Level-1 data cache of each core.
    pub l1: PrivateCache,
    /// Level-2 cache of each cluster of cores.
    pub l2: SharedCache,
    /// Level-3 cache of all cores.
    pub l3: SharedCache,
    /// Memory behind the caches.
    pub memory: MemoryParameters,
    /// Packet buffers, and transfer of packets to and from the network.
    pub packets: PacketParameters,
    /// Accelerators by their names.
    pub accelerator: BTreeMap<String, AcceleratorParameters>,
}

/// Cores of a NIC, all of one type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreParameters {
    /// Number of cores.
    pub count: usize,
    /// Number of cores that share a level-2 cache.
    pub per_cluster: usize,
    /// Cycles per second.
    pub clock_hz: f64,
    /// Number of instructions that the core can execute while an earlier one waits for memory.
    pub window_instructions: f64,
    /// Maximum number of cache lines in flight for a core without prefetching.
    pub outstanding: usize,
    /// Maximum number of cache lines in flight for sequential accesses.
    pub stream_outstanding: usize,
    /// Instructions per cycle of a thread that polls for work.
    pub poll_ipc: f64,
    /// Loads per instruction of a polling thread.
    pub poll_reads: f64,
    /// Stores per instruction of a polling thread.
    pub poll_writes: f64,
}

/// A level-1 data cache. It has no latency, because a function's cycles per instruction include
/// hits.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateCache {
    /// Capacity in bytes.
    pub bytes: u64,
    /// Associativity: lines per set.
    pub ways: usize,
}

/// A level-2 or level-3 cache.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedCache {
    /// Capacity in bytes.
    pub bytes: u64,
    /// Associativity: lines per set.
    pub ways: usize,
    /// Round-trip latency from the core to a line in the cache.
    pub latency_ns: f64,
}

/// Memory: banks behind one bus.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryParameters {
    /// Bandwidth of the bus.
    pub bytes_per_second: f64,
    /// Round-trip latency from the core to idle memory.
    pub latency_ns: f64,
    /// Number of banks; each has at most one open row.
    pub banks: u32,
    /// Number of groups of banks; neighbouring lines are spread over the groups.
    pub bank_groups: u32,
    /// Bytes of a row of a bank.
    pub row_bytes: u32,
    /// Time for which an access to a closed row occupies its bank.
    pub bank_busy_ns: f64,
    /// Time for which an access to the open row occupies its bank.
    pub row_hit_busy_ns: f64,
    /// Time from the start of a DRAM refresh to the start of the next refresh.
    pub refresh_every_ns: f64,
    /// Time for which a DRAM refresh blocks the bus.
    pub refresh_for_ns: f64,
}

/// Packet buffers in memory, and transfers of packets.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketParameters {
    /// Number of buffers of each function, used in turn.
    pub buffers: u32,
    /// Distance between two buffers, in bytes.
    pub buffer_bytes: u32,
    /// Number of header bytes of a packet; the rest is payload.
    pub header_bytes: u32,
    /// Rate at which the network interface reads or writes packets.
    pub bytes_per_second: f64,
    /// Maximum number of packets between two pipeline stages of a function, including those in an
    /// accelerator.
    pub ring: usize,
}

/// Service time of an accelerator: the sum of three parts for each request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorParameters {
    /// Part of the service time that does not depend on the payload.
    pub request_ns: f64,
    /// Rate at which the payload is processed.
    pub bytes_per_second: f64,
    /// Time for each regular-expression match in the payload.
    pub match_ns: f64,
}

impl Device {
    /// Returns the NIC modelled after published figures of BlueField-2.
    ///
    /// # Errors
    ///
    /// None; a test checks that the built-in description is valid.
    pub fn bluefield_2() -> Result<Self, NicError> {
        Self::parse("simulated-bluefield-2", BUILT_IN)
    }

    /// Returns the description of `bluefield_2` as TOML, with the sources of its numbers.
    pub fn bluefield_2_text() -> &'static str {
        BUILT_IN
    }

    /// Parses a description.
    ///
    /// # Errors
    ///
    /// If the text is not a valid description; the error names the invalid value.
    pub fn parse(name: &str, text: &str) -> Result<Self, NicError> {
        let device: Device = toml::from_str(text).map_err(|error| NicError::Unreadable {
            name: name.into(),
            reason: error.to_string(),
        })?;
        device.check()?;
        Ok(device)
    }

    fn check(&self) -> Result<(), NicError> {
        if !self.name.starts_with("simulated-") {
            return Err(NicError::impossible("name", "has to begin with `simulated-`"));
        }
        let cores = &self.cores;
        let counts = [
            ("cores.count", cores.count, 1024),
            ("cores.per_cluster", cores.per_cluster, 1024),
            ("cores.outstanding", cores.outstanding, 64),
            ("cores.stream_outstanding", cores.stream_outstanding, 64),
            ("l1.ways", self.l1.ways, 64),
            ("l2.ways", self.l2.ways, 64),
            ("l3.ways", self.l3.ways, 64),
            ("memory.banks", self.memory.banks as usize, 4096),
            ("memory.bank_groups", self.memory.bank_groups as usize, 64),
            ("memory.row_bytes", self.memory.row_bytes as usize, 1 << 20),
            ("packets.buffers", self.packets.buffers as usize, 1 << 20),
            ("packets.ring", self.packets.ring, 1 << 16),
            ("packets.buffer_bytes", self.packets.buffer_bytes as usize, 1 << 16),
        ];
        for (place, value, most) in counts {
            within(place, value as f64, 1.0, most as f64)?;
        }
        if !cores.count.is_multiple_of(cores.per_cluster) {
            return Err(NicError::impossible("cores.count", "is no multiple of cores.per_cluster"));
        }
        if !self.memory.banks.is_multiple_of(self.memory.bank_groups) {
            let reason = "is no multiple of memory.bank_groups";
            return Err(NicError::impossible("memory.banks", reason));
        }
        if !self.packets.buffer_bytes.is_multiple_of(1024) {
            return Err(NicError::impossible("packets.buffer_bytes", "is no multiple of 1024"));
        }
        let sizes = [
            ("l1.bytes", self.l1.bytes, self.l1.ways),
            ("l2.bytes", self.l2.bytes, self.l2.ways),
            ("l3.bytes", self.l3.bytes, self.l3.ways),
        ];
        for (place, bytes, ways) in sizes {
            within(place, bytes as f64, 1024.0, 1e10)?;
            if !bytes
                .is_multiple_of(ways as u64 * crate::address::LINE * crate::scenario::MOST_SAMPLING)
            {
                let reason = "is no multiple of 16 sets of as many lines as it has ways";
                return Err(NicError::impossible(place, reason));
            }
        }
        self.check_times()
    }

    fn check_times(&self) -> Result<(), NicError> {
        let (cores, memory) = (&self.cores, &self.memory);
        let times = [
            ("l2.latency_ns", self.l2.latency_ns),
            ("l3.latency_ns", self.l3.latency_ns),
            ("memory.latency_ns", memory.latency_ns),
            ("memory.bank_busy_ns", memory.bank_busy_ns),
            ("memory.row_hit_busy_ns", memory.row_hit_busy_ns),
            ("memory.refresh_for_ns", memory.refresh_for_ns),
        ];
        for (place, value) in times {
            within(place, value, 0.0, 1e5)?;
        }
        within("memory.refresh_every_ns", memory.refresh_every_ns, 500.0, 1e9)?;
        if memory.refresh_for_ns > memory.refresh_every_ns / 2.0 {
            let reason = "is more than half of memory.refresh_every_ns";
            return Err(NicError::impossible("memory.refresh_for_ns", reason));
        }
        within("memory.bytes_per_second", memory.bytes_per_second, 1e8, 1e13)?;
        within("packets.bytes_per_second", self.packets.bytes_per_second, 1e6, 1e13)?;
        within("cores.clock_hz", cores.clock_hz, 1e6, 1e11)?;
        within("cores.window_instructions", cores.window_instructions, 0.0, 1e4)?;
        within("cores.poll_ipc", cores.poll_ipc, 0.0, 16.0)?;
        within("cores.poll_reads", cores.poll_reads, 0.0, 1.0)?;
        within("cores.poll_writes", cores.poll_writes, 0.0, 1.0)?;
        within("packets.header_bytes", f64::from(self.packets.header_bytes), 0.0, 1e4)?;
        for (name, accelerator) in &self.accelerator {
            let place = |field| format!("accelerator.{name}.{field}");
            within(place("request_ns"), accelerator.request_ns, 0.0, 1e9)?;
            within(place("bytes_per_second"), accelerator.bytes_per_second, 1e5, 1e14)?;
            within(place("match_ns"), accelerator.match_ns, 0.0, 1e9)?;
        }
        Ok(())
    }
}

fn within(place: impl Into<String>, value: f64, least: f64, most: f64) -> Result<(), NicError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(NicError::impossible(place, format!("{value} is not between {least} and {most}")))
}

#[cfg(test)]
mod tests {
    use super::Device;
    use crate::error::NicError;

    #[test]
    fn the_device_that_comes_along_is_valid() {
        let device = Device::bluefield_2().expect("it is");
        assert_eq!(device.cores.count, 8);
        assert!(device.accelerator.contains_key("regex"));
    }

    #[test]
    fn every_number_has_a_source_or_is_assumed() {
        for line in Device::bluefield_2_text().lines() {
            if line.contains(" = ") && !line.starts_with("name") {
                assert!(line.contains('#'), "no source: {line}");
            }
        }
    }

    #[test]
    fn wrong_descriptions_are_named() {
        let text = Device::bluefield_2_text();
        let wrong = [
            ("count = 8", "count = 0", "cores.count"),
            ("count = 8", "count = 7", "cores.count"),
            ("bytes = 6_291_456", "bytes = 6_291_455", "l3.bytes"),
            ("simulated-bluefield-2\"", "bluefield-2\"", "name"),
            ("refresh_for_ns = 350.0", "refresh_for_ns = 7_000.0", "memory.refresh_for_ns"),
            ("match_ns = 1_453.5", "match_ns = nan", "accelerator.regex.match_ns"),
        ];
        for (old, new, place) in wrong {
            assert!(text.contains(old), "{old}");
            match Device::parse("x", &text.replace(old, new)) {
                Err(NicError::Impossible { place: found, .. }) => assert_eq!(found, place),
                other => panic!("{new}: {other:?}"),
            }
        }
        let unknown = Device::parse("x", &text.replace("count = 8", "amount = 8"));
        assert!(matches!(unknown, Err(NicError::Unreadable { .. })));
    }
}
