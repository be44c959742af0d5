//! Tests that a program gets packets of many flows: how often each flow occurs, and what each
//! packet contains.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::insn::helper::{XDP_ADJUST_HEAD, XDP_ADJUST_TAIL};
use slowpath_bpf::insn::{AluOp, Call, Insn, Register, Source, Width};
use slowpath_kernel::timing::{Feed, Flows, TimingError, Undo};
use slowpath_kernel::{Kernel, LoadedProgram, Variant};
use support::kernel;

const ALL: Flows = Flows { count: 40, seed: 7, destinations: true, destination_ports: true };

fn packet() -> Vec<u8> {
    let mut packet = vec![0; 64];
    packet[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    packet[14..20].copy_from_slice(&[0x45, 0, 0, 50, 0x12, 0x34]);
    packet[22..24].copy_from_slice(&[64, 17]);
    packet[26..34].copy_from_slice(&[198, 51, 100, 2, 192, 0, 2, 1]);
    packet[34..40].copy_from_slice(&[0x9c, 0x40, 0, 53, 0, 30]);
    packet
}

/// Computes the ones' complement sum of the IPv4 header (RFC 791).
fn sum(packet: &[u8]) -> u32 {
    let words = packet[14..34].chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
    let all: u32 = words.sum();
    (all & 0xffff) + (all >> 16)
}

fn calls(kernel: &Kernel, helper: i32, by: i32) -> LoadedProgram {
    let set = |dst, src| Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src };
    let insns = [
        set(Register::R2, Source::Imm(by)),
        Insn::Call(Call::Helper(helper)),
        set(Register::R0, Source::Imm(2)),
        Insn::Exit,
    ];
    kernel.load_generated("test", &insns, Variant::xdp(false)).expect("loads")
}

#[test]
fn flows_are_drawn_evenly_and_their_checksums_are_right() {
    let Some(kernel) = kernel() else { return };
    let feed = Feed::new(&kernel, false, &packet(), &Undo::default(), &ALL).expect("loads");
    let pass = kernel.load_pass().expect("loads");
    feed.select(&pass).expect("is called");
    let mut seen = BTreeMap::<Vec<u8>, u32>::new();
    for _ in 0..4000 {
        let run = feed.run(1).expect("runs");
        assert_eq!(sum(&run.packet), 0xffff, "{:?}", run.packet);
        assert!(run.packet[34] & 4 != 0, "a port of no service");
        let same = (&run.packet[..24], &run.packet[38..]);
        assert_eq!(same, (&packet()[..24], &packet()[38..]));
        *seen.entry(run.packet[26..38].to_vec()).or_default() += 1;
    }
    assert_eq!(seen.len(), 40);
    let sources: BTreeSet<_> = seen.keys().map(|flow| flow[..4].to_vec()).collect();
    assert_eq!(sources.len(), 40);
    // Each flow occurs 100 times on average; the range is 5 standard deviations.
    assert!(seen.values().all(|&count| (50..150).contains(&count)), "{seen:?}");
}

#[test]
fn fixed_fields_keep_their_values() {
    let Some(kernel) = kernel() else { return };
    let flows = Flows { destinations: false, destination_ports: false, ..ALL };
    let feed = Feed::new(&kernel, false, &packet(), &Undo::default(), &flows).expect("loads");
    feed.select(&kernel.load_pass().expect("loads")).expect("is called");
    for _ in 0..100 {
        let run = feed.run(1).expect("runs");
        assert_eq!(sum(&run.packet), 0xffff);
        assert_eq!((&run.packet[30..34], &run.packet[36..38]), (&packet()[30..34], &[0, 53][..]));
    }
}

#[test]
fn packets_are_put_back_between_runs_of_a_call() {
    let Some(kernel) = kernel() else { return };
    let head = Undo { head: -20, ..Undo::default() };
    let tail = Undo { tail: -10, packet: vec![(54, vec![0; 10])], ..Undo::default() };
    for (helper, by, undo) in [(XDP_ADJUST_HEAD, -20, head), (XDP_ADJUST_TAIL, -10, tail)] {
        let program = calls(&kernel, helper, by);
        let feed = Feed::new(&kernel, false, &packet(), &undo, &ALL).expect("loads");
        feed.select(&program).expect("is called");
        // Without restoration, the room in front of the packet would not suffice for these runs.
        let last = feed.run(1000).expect("runs");
        let next = feed.generator().expect("is known");
        feed.seek(0).expect("is set");
        let mut one = feed.run(1).expect("runs");
        for _ in 1..1000 {
            one = feed.run(1).expect("runs");
        }
        assert_eq!((one.packet, feed.generator().expect("is known")), (last.packet, next));
        // Without restoration, the feed reports an error or the packet has another length.
        let feed = Feed::new(&kernel, false, &packet(), &Undo::default(), &ALL).expect("loads");
        feed.select(&program).expect("is called");
        let grown = feed.run(1000);
        assert!(
            matches!(grown, Err(TimingError::NotRestored { .. }))
                || grown.is_ok_and(|run| run.packet.len() != 64 + 20),
        );
    }
}

#[test]
fn flows_need_a_packet_that_they_fit_into() {
    let Some(kernel) = kernel() else { return };
    let mut ipv6 = packet();
    ipv6[12..14].copy_from_slice(&[0x86, 0xdd]);
    for (packet, flows) in
        [(ipv6, ALL), (packet()[..40].to_vec(), ALL), (packet(), Flows { count: 0, ..ALL })]
    {
        let refused = Feed::new(&kernel, false, &packet, &Undo::default(), &flows);
        assert!(matches!(refused, Err(TimingError::CodeTooLong { .. })));
    }
}
