//! Tests the simulated accelerators, with one client and with several.

use crate::support;

use proptest::prelude::*;
use slowpath_nicsim::{Client, Device, Outcome};
use support::{close, function, simulate};

fn bench(packet_bytes: u32, mtbr: f64, rate: Option<f64>) -> Client {
    Client { rate, ..function("regex-bench", 1, packet_bytes, mtbr) }
}

/// Returns the expected service time of a request in nanoseconds, from the device's parameters.
fn service(client: &Client) -> f64 {
    let device = Device::bluefield_2().expect("it is valid");
    let regex = &device.accelerator["regex"];
    let payload = f64::from(client.packet_bytes - device.packets.header_bytes);
    let matches = client.mtbr * payload * 1e-6;
    regex.request_ns + payload / regex.bytes_per_second * 1e9 + matches * regex.match_ns
}

fn regex(outcome: &Outcome) -> (f64, Vec<f64>) {
    let found = &outcome.accelerators["regex"];
    (found.busy, found.served.clone())
}

#[test]
fn one_client_saturates_at_the_reciprocal_of_its_service_time() {
    for (bytes, mtbr) in [(600, 0.0), (1500, 0.0), (1500, 600.0), (800, 2000.0)] {
        let client = bench(bytes, mtbr, None);
        let wanted = 1e9 / service(&client);
        let (busy, served) = regex(&simulate(vec![client], 1.0, 20.0));
        // Matches are random: a deviation of some hundredths remains for thousands of requests.
        close(served[0], wanted, if mtbr > 0.0 { 0.03 } else { 0.01 });
        close(busy, 1.0, 0.01);
    }
}

#[test]
fn who_asks_for_less_than_the_share_of_a_round_gets_it_and_leaves_the_rest() {
    let (slow, fast) = (bench(1500, 0.0, Some(400_000.0)), bench(1500, 800.0, None));
    let left = 1.0 - 400_000.0 * service(&slow) * 1e-9;
    let wanted = left / service(&fast) * 1e9;
    let (busy, served) = regex(&simulate(vec![slow, fast], 1.0, 30.0));
    close(served[0], 400_000.0, 0.01);
    close(served[1], wanted, 0.03);
    close(busy, 1.0, 0.01);
}

#[test]
fn what_is_asked_for_is_served_where_there_is_room() {
    let (busy, served) = regex(&simulate(vec![bench(1500, 0.0, Some(1e6))], 1.0, 10.0));
    close(served[0], 1e6, 0.01);
    close(busy, 1e6 * service(&bench(1500, 0.0, None)) * 1e-9, 0.02);
}

#[test]
fn two_accelerators_do_not_know_of_each_other() {
    let compression = || function("compression-bench", 1, 1500, 0.0);
    let alone = simulate(vec![compression()], 1.0, 5.0);
    let beside = simulate(vec![compression(), bench(1500, 600.0, None)], 1.0, 5.0);
    let served = |outcome: &Outcome| outcome.accelerators["compression"].served[0];
    close(served(&beside), served(&alone), 0.01);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Checks that queues that always have requests are served equally often, however long requests
    /// take.
    #[test]
    fn saturated_queues_are_served_in_turn(
        loads in prop::collection::vec((100_u32..1500, 0.0_f64..1500.0), 2..4),
    ) {
        let clients: Vec<_> = loads.iter().map(|load| bench(load.0, load.1, None)).collect();
        let round: f64 = clients.iter().map(service).sum();
        let found = simulate(clients, 1.0, 20.0);
        let (busy, served) = regex(&found);
        for one in &served {
            // The counts may differ by one request at each end of the measured period.
            prop_assert!((one - served[0]).abs() * found.seconds <= 2.0, "{served:?}");
        }
        prop_assert!((served[0] * round * 1e-9 - 1.0).abs() < 0.08, "{served:?}");
        prop_assert!(busy > 0.99);
    }
}
