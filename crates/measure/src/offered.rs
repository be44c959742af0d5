//! Measures a program under offered load: packets arrive at a given rate, whether or not the
//! program keeps up.
//!
//! An [`OfferedLoad`] is a program on a virtual device, with a sender of packets. A trial offers
//! packets at one rate for a time. Its result is a [`Trial`]: counts of packets by their fate, and
//! quantiles of the latency of packets that came back.
//!
//! Source: RFC 2544, sections 26.1 to 26.3; RFC 1242.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::echo::{
    Echo, EchoCounts, EchoError, EchoPlaces, EchoPort, MARK, MOST_PACKETS,
};

use crate::error::MeasureError;

/// Maximum number of packets that the sender makes up for after a delay. The sender leaves out the
/// rest, because a longer burst would overflow queues that the offered rate does not fill.
const CATCH_UP: u64 = 32;
/// Time after which packets under way count as lost or kept, if the counters have not changed.
const SETTLING: Duration = Duration::from_millis(200);
/// Pause between two readings of the counters.
const PAUSE: Duration = Duration::from_millis(1);
/// Quantiles of the latency that a [`Trial`] contains, in thousandths.
pub const QUANTILES: [u64; 4] = [500, 900, 990, 999];

/// Result of offering packets to a program at one rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// Counts of the packets that were sent in time, and of those that were not.
    pub paced: Paced,
    /// Number of packets for which the queue in front of the program had no room.
    pub refused: u64,
    /// Number of packets that the program received and did not send back: it dropped, aborted,
    /// passed or redirected them.
    pub kept: u64,
    /// Number of packets that the program sent back and for which the sender's device had no room.
    pub lost_back: u64,
    /// Number of packets that came back without the mark that they were sent with.
    pub unmarked: u64,
    /// Number of packets that came back with their mark.
    pub received: u64,
    /// Latencies in nanoseconds: the minimum, the quantiles [`QUANTILES`], and the maximum. Empty
    /// if no packet came back.
    pub latencies: Vec<u32>,
}

/// Counts of the packets that were due while [`pace`] was sending packets at a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paced {
    /// Number of packets that were due.
    pub due: u64,
    /// Number of packets that were due but not sent, because the sender was too late.
    pub late: u64,
    /// Number of packets that were handed to the device.
    pub sent: u64,
    /// Number of packets that were handed to the device and that it refused for lack of room.
    pub refused: u64,
    /// Time from before the first packet until after the last packet, in nanoseconds.
    pub nanoseconds: u64,
}

/// A device on which packets can be sent, with a clock.
pub trait Port {
    /// Returns the current time in nanoseconds.
    fn now(&mut self) -> u64;

    /// Sends up to `count` packets, numbered from `first`. Stops at the first packet that the
    /// device refuses. Returns the number of packets before it.
    ///
    /// # Errors
    /// If sending is not possible at all.
    fn send(&mut self, first: u32, count: u32) -> Result<u32, EchoError>;
}

impl Port for EchoPort<'_> {
    fn now(&mut self) -> u64 {
        EchoPort::now(self)
    }

    fn send(&mut self, first: u32, count: u32) -> Result<u32, EchoError> {
        EchoPort::send(self, first, count)
    }
}

/// Sends packets for `nanoseconds` at `rate`, in packets per second; without a rate, as fast as
/// possible. Sends at most [`MOST_PACKETS`] packets, and ends early if `stop` is set.
///
/// # Errors
/// If sending is not possible at all.
pub fn pace(
    port: &mut impl Port,
    rate: Option<f64>,
    nanoseconds: u64,
    stop: &AtomicBool,
) -> Result<Paced, EchoError> {
    let most = u64::from(MOST_PACKETS);
    let packets = |time: u64, rate: f64| (time as f64 * rate / 1e9) as u64;
    let slots = rate.map_or(most, |rate| packets(nanoseconds, rate).clamp(1, most));
    let mut paced = Paced::default();
    let start = port.now();
    while paced.sent + paced.late < slots && !stop.load(Ordering::Relaxed) {
        let elapsed = port.now().saturating_sub(start);
        let due = match rate {
            Some(rate) => (packets(elapsed, rate) + 1).min(slots),
            None if elapsed < nanoseconds => slots,
            None => break,
        };
        let done = paced.sent + paced.late;
        let Some(waiting) = due.checked_sub(done).filter(|&waiting| waiting > 0) else {
            std::hint::spin_loop();
            continue;
        };
        if rate.is_some() {
            paced.late += waiting.saturating_sub(CATCH_UP);
        }
        let count = waiting.min(CATCH_UP) as u32;
        let accepted = port.send(paced.sent as u32, count)?.min(count);
        // The device has dropped the packet after the accepted ones.
        let refused = u64::from(accepted < count);
        paced.sent += u64::from(accepted) + refused;
        paced.refused += refused;
    }
    paced.due = paced.sent + paced.late;
    paced.nanoseconds = port.now().saturating_sub(start);
    Ok(paced)
}

/// Returns the minimum of `values`, the quantiles [`QUANTILES`], and the maximum. The quantile q is
/// the smallest of the values for which at least a share q of all values is not greater.
#[must_use]
pub fn quantiles(mut values: Vec<u32>) -> Vec<u32> {
    values.sort_unstable();
    let count = values.len() as u64;
    let at = |thousandths: u64| {
        let rank = (count * thousandths).div_ceil(1000).max(1);
        values.get(usize::try_from(rank - 1).ok()?).copied()
    };
    [0].into_iter().chain(QUANTILES).chain([1000]).filter_map(at).collect()
}

/// A program that runs on a virtual device, and a sender of packets to it.
#[derive(Debug)]
pub struct OfferedLoad {
    echo: Echo,
    packet: Vec<u8>,
    stop: AtomicBool,
}

impl OfferedLoad {
    /// Loads a program, fills its maps from `witness`, and attaches it to a virtual device.
    ///
    /// # Errors
    /// If the process lacks privileges, the machine lacks CPUs, or the kernel rejects the program.
    pub fn new(
        kernel: &Arc<Kernel>,
        (object, program): (&Object, usize),
        witness: &Value,
        packet: Vec<u8>,
        places: EchoPlaces,
    ) -> Result<OfferedLoad, MeasureError> {
        let loaded = kernel.load(object, program)?;
        let echo = Echo::new(kernel, loaded, witness, packet.len() + MARK, places)?;
        Ok(OfferedLoad { echo, packet, stop: AtomicBool::new(false) })
    }

    /// Ends the running trial. All later trials end when they start.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Offers packets at `rate`, in packets per second, for `duration`. Without a rate, sends
    /// packets as fast as possible.
    ///
    /// # Errors
    /// If packets cannot be sent or counted.
    pub fn trial(&self, rate: Option<f64>, duration: Duration) -> Result<Trial, MeasureError> {
        self.echo.forget()?;
        let before = self.echo.counts()?;
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let paced =
            self.echo.send(&self.packet, |port| pace(port, rate, nanoseconds, &self.stop))??;
        let counts = self.settle(before, paced.sent)?;
        let latencies = self.echo.latencies()?;
        let since = |read: fn(&EchoCounts) -> u64| read(&counts).saturating_sub(read(&before));
        Ok(Trial {
            paced,
            refused: since(|all| all.refused),
            kept: since(EchoCounts::kept),
            lost_back: since(|all| all.lost_back),
            unmarked: since(|all| all.recorded.unmarked),
            received: since(|all| all.recorded.marked),
            latencies: quantiles(latencies),
        })
    }

    /// Waits until the fate of `sent` packets since `before` is known. Returns the counters.
    fn settle(&self, before: EchoCounts, sent: u64) -> Result<EchoCounts, MeasureError> {
        settled(before, sent, || Ok(self.echo.counts()?))
    }
}

/// Reads counters until the fate of `sent` packets since `before` is known, and returns them. The
/// counters do not distinguish packets that the program keeps from packets that it still processes,
/// because the kernel counts arrivals before it sends packets back. Therefore, if packets seem to
/// be kept or are not accounted for, reads on until the counters stay unchanged for [`SETTLING`].
///
/// Source: `drivers/net/veth.c` (`veth_poll`: `veth_xdp_rcv` counts, then `veth_xdp_flush` sends).
fn settled(
    before: EchoCounts,
    sent: u64,
    mut read: impl FnMut() -> Result<EchoCounts, MeasureError>,
) -> Result<EchoCounts, MeasureError> {
    let (mut last, mut changed) = (read()?, Instant::now());
    let all_known = |counts: &EchoCounts| {
        counts.settled().saturating_sub(before.settled()) >= sent && counts.kept() == before.kept()
    };
    while !all_known(&last) && changed.elapsed() < SETTLING {
        sleep(PAUSE);
        let counts = read()?;
        if counts != last {
            (last, changed) = (counts, Instant::now());
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use slowpath_kernel::echo::Recorded;

    use super::{
        CATCH_UP, EchoCounts, EchoError, MOST_PACKETS, Paced, Port, pace, quantiles, settled,
    };

    /// A device with a simulated clock. Each reading of the clock, each call and each packet take
    /// time, and the sender pauses once.
    #[derive(Default)]
    struct Simulated {
        time: u64,
        call: u64,
        packet: u64,
        pause: (u64, u64),
        room: u32,
        numbers: Vec<u32>,
        times: Vec<u64>,
    }

    impl Port for Simulated {
        fn now(&mut self) -> u64 {
            self.time += 20;
            let (at, length) = self.pause;
            if length > 0 && self.time >= at {
                self.time += length;
                self.pause = (0, 0);
            }
            self.time
        }

        fn send(&mut self, first: u32, count: u32) -> Result<u32, EchoError> {
            self.time += self.call;
            let accepted = count.min(self.room);
            let tried = accepted + u32::from(accepted < count);
            for number in first..first + tried {
                self.time += self.packet;
                self.numbers.push(number);
                self.times.push(self.time);
            }
            Ok(accepted)
        }
    }

    fn device(call: u64, packet: u64) -> Simulated {
        Simulated { call, packet, room: u32::MAX, ..Simulated::default() }
    }

    fn paced(device: &mut Simulated, rate: Option<f64>, nanoseconds: u64) -> Paced {
        pace(device, rate, nanoseconds, &AtomicBool::new(false)).expect("sends")
    }

    #[test]
    fn packets_come_at_the_offered_rate() {
        for rate in [1e3, 12_345.0, 3e5, 9.5e5] {
            let mut device = device(200, 300);
            let result = paced(&mut device, Some(rate), 20_000_000);
            assert_eq!((result.due, result.late), ((rate * 0.02) as u64, 0), "{rate}");
            assert_eq!(device.numbers, (0..result.sent as u32).collect::<Vec<_>>());
            // No packet comes early, and none is later than one call with the packets before it.
            for (number, &time) in device.times.iter().enumerate() {
                let due = number as f64 / rate * 1e9;
                assert!(time as f64 >= due && (time as f64) < due + 15_000.0, "{rate}: {number}");
            }
        }
    }

    #[test]
    fn a_slow_sender_is_counted_and_sends_no_more_than_it_can() {
        let mut device = device(0, 1000);
        let result = paced(&mut device, Some(4e6), 10_000_000);
        assert_eq!(result.due, 40_000);
        assert_eq!(result.sent + result.late, result.due);
        let able = result.nanoseconds / 1000;
        assert!(result.sent <= able && result.sent + CATCH_UP > able, "{result:?}");
    }

    #[test]
    fn a_long_pause_is_not_made_up_for() {
        let mut device = Simulated { pause: (1_000_000, 5_000_000), ..device(100, 100) };
        let result = paced(&mut device, Some(1e5), 10_000_000);
        assert_eq!(result.due, 1000);
        assert!((400..=500).contains(&result.late), "{result:?}");
        // After the pause, at most the packets of one burst come closer than the rate allows.
        let after = device.times.iter().filter(|&&time| (6_000_000..6_050_000).contains(&time));
        assert!(after.count() as u64 <= CATCH_UP + 6);
    }

    #[test]
    fn refused_packets_are_sent_packets_and_not_repeated() {
        let mut device = Simulated { room: 3, ..device(0, 50) };
        let result = paced(&mut device, None, 1_000_000);
        assert_eq!(result.late, 0);
        assert_eq!(device.numbers, (0..result.sent as u32).collect::<Vec<_>>());
        assert_eq!(result.refused, result.sent / 4);
    }

    #[test]
    fn the_number_of_packets_is_limited() {
        let result = paced(&mut device(0, 1), Some(1e9), 10_000_000_000);
        assert_eq!(result.due, u64::from(MOST_PACKETS));
    }

    #[test]
    fn a_stop_ends_pacing() {
        let stop = AtomicBool::new(true);
        let result = pace(&mut device(0, 1), Some(1e3), 1_000_000_000, &stop).expect("sends");
        assert_eq!((result.due, result.sent), (0, 0));
    }

    /// Returns the counters for a program that received 50 packets. It sent back `returned`
    /// packets, of which `recorded` have reached the sender.
    fn counts(returned: u64, recorded: u64) -> EchoCounts {
        let recorded = Recorded { marked: recorded, unmarked: 0 };
        EchoCounts { arrived: 50, returned, recorded, ..EchoCounts::default() }
    }

    /// Returns the counters that [`settled`] returns after 50 packets, if it reads the counters
    /// `states` one after the other. Further readings repeat the last one.
    fn after(states: &[EchoCounts]) -> EchoCounts {
        let mut readings = states.iter();
        let mut last = EchoCounts::default();
        let read = || {
            last = readings.next().copied().unwrap_or(last);
            Ok(last)
        };
        settled(EchoCounts::default(), 50, read).expect("readings")
    }

    #[test]
    fn packets_that_the_program_still_has_do_not_count_as_kept() {
        let under_way = [counts(0, 0), counts(45, 45), counts(45, 45), counts(50, 45)];
        assert_eq!(after(&[&under_way[..], &[counts(50, 50)]].concat()), counts(50, 50));
        assert_eq!(after(&under_way[..3]), counts(45, 45));
        assert_eq!(after(&under_way[..1]), counts(0, 0));
    }

    #[test]
    fn quantiles_are_those_of_brute_force() {
        assert_eq!(quantiles(Vec::new()), Vec::<u32>::new());
        assert_eq!(quantiles(vec![7]), [7; 6]);
        for count in [2_u32, 9, 10, 99, 100, 999, 1000, 1001, 2500] {
            let values: Vec<u32> = (0..count).map(|n| n * 7919 % 1_000_003).collect();
            let expected = |thousandths: u64| {
                let enough = |&&limit: &&u32| {
                    let below = values.iter().filter(|&&value| value <= limit).count() as u64;
                    below * 1000 >= thousandths * values.len() as u64
                };
                values.iter().filter(enough).min().copied().expect("a value")
            };
            let all = [1, 500, 900, 990, 999, 1000].map(expected);
            assert_eq!(quantiles(values.clone())[1..], all[1..], "{count}");
            assert_eq!(quantiles(values.clone())[0], *values.iter().min().expect("a value"));
        }
    }
}
