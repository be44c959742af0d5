//! The NIC that is simulated, as data.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::NicError;

const BUILT_IN: &str = include_str!("../devices/simulated-bluefield-2.toml");

/// Cores, caches, memory and accelerators of a NIC. Format and sources: `devices/`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// What it is called; it begins with `simulated-`, so that nobody takes it for a real one.
    pub name: String,
    /// The cores.
    pub cores: CoreParameters,
    /// Data cache of each core.
    pub l1: PrivateCache,
    /// Cache of each cluster of cores.
    pub l2: SharedCache,
    /// Cache of all cores.
    pub l3: SharedCache,
    /// The memory behind them.
    pub memory: MemoryParameters,
    /// Where packets are kept.
    pub packets: PacketParameters,
    /// Accelerators by their names.
    pub accelerator: BTreeMap<String, AcceleratorParameters>,
}

/// Cores; times that depend on instructions are in cycles of `clock_hz`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreParameters {
    /// How many there are.
    pub count: usize,
    /// How many share a level-2 cache.
    pub per_cluster: usize,
    /// Cycles per second.
    pub clock_hz: f64,
    /// Instructions that go on while one waits for memory.
    pub window_instructions: f64,
    /// Lines on their way to a core at once, where no prefetcher knows them.
    pub outstanding: usize,
    /// The same of accesses in sequence.
    pub stream_outstanding: usize,
    /// Instructions per cycle of a thread that looks for work.
    pub poll_ipc: f64,
    /// Loads per instruction of such a thread.
    pub poll_reads: f64,
    /// Stores per instruction of such a thread.
    pub poll_writes: f64,
}

/// A cache whose time is part of the cycles per instruction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateCache {
    /// Its size.
    pub bytes: u64,
    /// Lines that a set has.
    pub ways: usize,
}

/// A cache with a latency.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedCache {
    /// Its size.
    pub bytes: u64,
    /// Lines that a set has.
    pub ways: usize,
    /// From the core to a line in it and back.
    pub latency_ns: f64,
}

/// Memory: banks behind one bus.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryParameters {
    /// What the bus transfers.
    pub bytes_per_second: f64,
    /// From the core to memory and back, where nobody else is there.
    pub latency_ns: f64,
    /// Banks, each of which opens one row at a time.
    pub banks: u32,
    /// Groups that they are in, over which neighbouring lines are spread.
    pub bank_groups: u32,
    /// Bytes of a row of a bank.
    pub row_bytes: u32,
    /// How long a bank is busy with an access to a row that is not open.
    pub bank_busy_ns: f64,
    /// The same, of the row that is.
    pub row_hit_busy_ns: f64,
    /// From the beginning of one refresh to the next.
    pub refresh_every_ns: f64,
    /// How long one takes.
    pub refresh_for_ns: f64,
}

/// Packets in memory.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketParameters {
    /// Buffers of each function, used in turn.
    pub buffers: u32,
    /// Bytes from one buffer to the next.
    pub buffer_bytes: u32,
    /// Bytes of a packet that are no payload.
    pub header_bytes: u32,
    /// What the network brings and takes of each packet.
    pub bytes_per_second: f64,
    /// Packets between two stages at once, those in an accelerator included.
    pub ring: usize,
}

/// How long an accelerator takes for a request: the sum of three parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorParameters {
    /// For any request.
    pub request_ns: f64,
    /// For its payload.
    pub bytes_per_second: f64,
    /// For each match in it.
    pub match_ns: f64,
}

impl Device {
    /// The NIC after published figures of BlueField-2.
    ///
    /// # Errors
    ///
    /// None, which a test holds.
    pub fn bluefield_2() -> Result<Self, NicError> {
        Self::parse("simulated-bluefield-2", BUILT_IN)
    }

    /// The description of that NIC, with the sources of its numbers.
    pub fn bluefield_2_text() -> &'static str {
        BUILT_IN
    }

    /// Reads a description.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
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
