//! Pipelines of DPDK: every text is a fault of one line, or a pipeline whose printed form is read as
//! the same pipeline. Its translation ends with a program or a fault.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_swx::LiftOptions;

fuzz_target!(|text: &str| {
    let Ok(pipeline) = slowpath_swx::parse(text) else { return };
    let printed = slowpath_swx::print(&pipeline);
    let again = slowpath_swx::parse(&printed).expect("a printed pipeline is read");
    assert_eq!(slowpath_swx::print(&again), printed);
    let options = LiftOptions { file: "fuzz.spec".into(), min_packet: 60, max_packet: 1514 };
    let _ = slowpath_swx::lift(&pipeline, "fuzz", &options);
});
