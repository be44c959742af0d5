use crate::{CostVector, Rate, Target, TargetError};

fn agilio() -> Target {
    Target::builtin("agilio-cx-2x40").expect("built in").expect("parses")
}

#[test]
fn rates_of_the_paper_follow_from_cycles() {
    let target = agilio();
    // Section 4.1: #cores × clock frequency / cycles per packet.
    assert_eq!(target.packet_rate(0, 1000), Rate::new(40_000_000, 1));
    let five = target.clone().with_cores(5).expect("has five");
    assert_eq!(five.packet_rate(0, 1000), Rate::new(4_000_000, 1));
    // Section 4.2: one read per packet allows at least 197.4M packets/s, with any number of cores.
    let read = five.packet_rate(1, 4_052_463_036).as_f64();
    assert!((read - 197_410_807.0).abs() < 1.0, "{read}");
}

#[test]
fn fixed_limits_count_packets_or_bits_on_the_wire() {
    let target = agilio();
    assert_eq!(target.limit_rate(0, 60), Rate::new(54_400_000, 1));
    assert_eq!(target.limit_rate(1, 60), Rate::new(80_000_000_000, 8 * 84));
    assert_eq!(Target::bit_rate(Rate::new(1000, 3), 60), Rate::new(160_000, 1));
}

#[test]
fn a_component_without_work_is_no_limit() {
    let target = agilio();
    assert!(target.packet_rate(1, 0).is_infinite());
    assert!(target.slowness(1, 0, None) < target.slowness(0, 1, None));
    assert!(target.slowness(1, 0, None).rate().is_infinite());
}

#[test]
fn slowness_orders_components_and_sizes() {
    let target = agilio();
    // 600 cycles for 60 bytes are as slow per byte as 1500 for 150.
    assert_eq!(target.slowness(0, 600, Some(60)), target.slowness(0, 1500, Some(150)));
    assert!(target.slowness(0, 600, None) < target.slowness(0, 1500, None));
    // 50 cores: one DRAM engine cycle is worth 50 processing cycles.
    assert_eq!(target.slowness(1, 1_000_000_000, None), target.slowness(0, 50, None));
}

#[test]
fn rates_are_of_all_components_and_limits() {
    let target = agilio();
    let mut cost = CostVector::zero(2);
    cost.add(0, 400);
    let rates = target.rates(&cost, 60);
    let names: Vec<_> = rates.iter().map(|r| (r.name.as_str(), r.fixed)).collect();
    assert_eq!(names, [("processing", false), ("dram", false), ("mac", true), ("line", true)]);
    let slowest = rates.iter().min_by_key(|r| r.rate).map(|r| r.name.as_str());
    assert_eq!(slowest, Some("mac"));
}

#[test]
fn cores_that_the_device_does_not_have_are_refused() {
    for requested in [0, 51, u32::MAX] {
        let error = agilio().with_cores(requested).expect_err("refused");
        let target = "agilio-cx-2x40".into();
        assert_eq!(error, TargetError::Cores { target, available: 50, requested });
    }
}

#[test]
fn components_serve_whole_words_of_class_names() {
    let target = agilio();
    let dram = &target.components[1];
    assert!(dram.serves("mem.dram.read32.wait") && dram.serves("mem.dram"));
    assert!(!dram.serves("mem.dramatic") && !dram.serves("mem.sram.read32.wait"));
    assert!(target.components[0].serves("anything"));
}
