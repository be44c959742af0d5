//! Description of a run: its functions, their traffic, and its duration.

use serde::Deserialize;

use crate::error::NicError;

/// Maximum value of the sampling factor [`Scenario::sampling`].
pub const MOST_SAMPLING: u64 = 16;

/// A run of the simulation: the functions, their traffic, and the simulated time.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Functions that run side by side.
    pub clients: Vec<Client>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Milliseconds of warm-up before the measured period.
    #[serde(default = "warm_up")]
    pub warm_up_ms: f64,
    /// Milliseconds of the measured period.
    #[serde(default = "measured")]
    pub measured_ms: f64,
    /// Sampling factor n of cache sets, a power of two up to 16: one of n sets is simulated. For
    /// lines of other sets, the cache level is drawn at random, as frequently as in recent accesses
    /// of the same step.
    #[serde(default = "sampling")]
    pub sampling: u32,
    /// True if throughputs have measurement noise ([`crate::NOISE`]).
    #[serde(default)]
    pub noise: bool,
}

/// A network function with its traffic.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Name of the function.
    pub function: String,
    /// Number of flows, all equally likely.
    #[serde(default = "flows")]
    pub flows: u32,
    /// Packet size in bytes. Functions without packets send payloads for this packet size to
    /// accelerators.
    #[serde(default = "packet_bytes")]
    pub packet_bytes: u32,
    /// Number of matches of regular expressions per MB of payload.
    #[serde(default)]
    pub mtbr: f64,
    /// Packets per second, at nearly equal intervals; `None` for as many as possible.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Size in bytes of each memory region of kind `array` (the working set).
    #[serde(default)]
    pub working_set: u64,
}

impl Client {
    /// Creates a client with the default traffic of Wu et al. (section 7.1), but without matches.
    pub fn new(function: &str) -> Self {
        Client {
            function: function.into(),
            flows: flows(),
            packet_bytes: packet_bytes(),
            mtbr: 0.0,
            rate: None,
            working_set: 0,
        }
    }
}

impl Scenario {
    /// Creates a scenario with default times and sampling.
    pub fn new(clients: Vec<Client>, seed: u64) -> Self {
        Scenario {
            clients,
            seed,
            warm_up_ms: warm_up(),
            measured_ms: measured(),
            sampling: sampling(),
            noise: false,
        }
    }

    pub(crate) fn check(&self) -> Result<(), NicError> {
        let within = |place: String, value: f64, least: f64, most: f64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            let reason = format!("{value} is not between {least} and {most}");
            Err(NicError::Impossible { place, reason })
        };
        within("warm_up_ms".into(), self.warm_up_ms, 0.0, 1e5)?;
        within("measured_ms".into(), self.measured_ms, 1e-3, 1e5)?;
        if !self.sampling.is_power_of_two() || u64::from(self.sampling) > MOST_SAMPLING {
            let reason = format!("{} is none of 1, 2, 4, 8 and 16", self.sampling);
            return Err(NicError::impossible("sampling", reason));
        }
        for (at, client) in self.clients.iter().enumerate() {
            let place = |field| format!("client {} ({}), {field}", at + 1, client.function);
            within(place("flows"), f64::from(client.flows), 1.0, 5e7)?;
            within(place("packet_bytes"), f64::from(client.packet_bytes), 60.0, 9216.0)?;
            within(place("mtbr"), client.mtbr, 0.0, 1e6)?;
            within(place("working_set"), client.working_set as f64, 0.0, 1e10)?;
            if let Some(rate) = client.rate {
                within(place("rate"), rate, 1.0, 1e10)?;
            }
        }
        Ok(())
    }
}

fn flows() -> u32 {
    16_000
}

fn packet_bytes() -> u32 {
    1500
}

fn warm_up() -> f64 {
    30.0
}

fn measured() -> f64 {
    20.0
}

fn sampling() -> u32 {
    16
}
