//! Functions that create clients and run simulations for several tests.

use slowpath_nicsim::{Client, Device, Functions, NicError, Outcome, Scenario, run};

/// Simulates clients. Returns the outcome of the measured period, which follows a warm-up.
pub fn simulate(clients: Vec<Client>, warm_up_ms: f64, measured_ms: f64) -> Outcome {
    let scenario = Scenario { warm_up_ms, measured_ms, ..Scenario::new(clients, 1) };
    outcome(&scenario).expect("it is possible")
}

/// Runs a scenario on the built-in device.
pub fn outcome(scenario: &Scenario) -> Result<Outcome, NicError> {
    run(&Device::bluefield_2()?, &Functions::built_in()?, scenario)
}

/// Creates a client with this function and traffic.
pub fn function(name: &str, flows: u32, packet_bytes: u32, mtbr: f64) -> Client {
    Client { flows, packet_bytes, mtbr, ..Client::new(name) }
}

/// Creates a client for the competitor `mem-bench`. `rate` is iterations per second; each iteration
/// accesses 32 cache lines.
pub fn mem_bench(working_set: u64, rate: Option<f64>) -> Client {
    Client { working_set, rate, ..Client::new("mem-bench") }
}

/// Checks that two numbers are equal up to the relative error `share`.
pub fn close(found: f64, wanted: f64, share: f64) {
    assert!((found - wanted).abs() <= share * wanted.abs(), "{found} instead of {wanted}");
}
