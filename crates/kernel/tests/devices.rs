//! Tests `bpf_check_mtu` for the device of test runs. With a known MTU and header length of the
//! device, the interpreter must compute the kernel's result instead of leaving it open.

use crate::support;

use slowpath_ir::{Op, Program};
use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;
use support::replay_pair::ReplayPair;
use support::{kernel, object, path};

/// `hard_header_len` of the loopback device (`gen_lo_setup` of `drivers/net/loopback.c`).
const HEADER: u64 = 14;

/// Returns a packet of `length` bytes that contains the arguments `difference` and `given` of a
/// call of `bpf_check_mtu`.
fn packet(length: u64, difference: i64, given: u64) -> Vec<u8> {
    let mut packet = vec![0; length as usize];
    packet[8..16].copy_from_slice(&difference.to_le_bytes());
    packet[24..32].copy_from_slice(&given.to_le_bytes());
    packet
}

/// Sets each result with this name to `value`. In the lifted program, such results are unknown, and
/// the interpreter may choose any value for them.
fn fix_open_value(program: &mut Program, name: &str, value: u64) {
    let mut fixed = 0;
    for origin in program.blocks.iter_mut().flat_map(|block| &mut block.ops) {
        if let Op::Unknown { min, max, draw, .. } = &mut origin.op
            && program.draws[draw.index()].result == name
        {
            (*min, *max, fixed) = (value, value, fixed + 1);
        }
    }
    assert!(fixed > 0, "no open value {name}");
}

/// Returns the MTU of the device that the kernel reports.
fn mtu(kernel: &Kernel, number: usize) -> Result<u64, String> {
    let object = object(&path("tests/objects/packet.bpf.o"));
    let loaded = kernel.load(&object, number).map_err(|e| e.to_string())?;
    loaded.run(&packet(64, 0, 0), 1).map_err(|e| e.to_string())?;
    let out = loaded.map("out").and_then(|out| out.lookup(&[0; 4]).ok().flatten());
    let mtu = out.and_then(|out| out.get(8..16).map(<[u8]>::to_vec));
    let mtu: Option<[u8; 8]> = mtu.and_then(|mtu| mtu.try_into().ok());
    mtu.map(u64::from_le_bytes).ok_or_else(|| "the map has no MTU".to_owned())
}

#[test]
fn lengths_around_the_limit_have_the_kernels_result() {
    let Some(kernel) = kernel() else { return };
    let object = object(&path("tests/objects/packet.bpf.o"));
    let number = object.programs.iter().position(|p| p.name == "as_long_as_possible");
    let number = number.expect("it is there");
    let mtu = mtu(&kernel, number).expect("the program runs");
    let mut lifted = ReplayPair::lifted(&kernel, &object, number).expect("is lifted");
    fix_open_value(&mut lifted.program, "mtu_len", mtu);
    fix_open_value(&mut lifted.program, "length of the device's header", HEADER);
    let mut replay_pair = ReplayPair::of(&kernel, &object, number, lifted).expect("loads");
    let mut compared = 0;
    for (length, given) in [(64, 0), (200, 0), (64, 1), (64, 1500), (64, mtu), (64, mtu + 9)] {
        // The packet's own length includes the header; a given length does not.
        let rest = match given {
            0 => mtu + HEADER - length,
            _ => mtu.wrapping_sub(given),
        };
        for more in [-15, -1, 0, 1, 14] {
            let packet = packet(length, rest as i64 + more, given);
            let run = replay_pair.compare(&packet);
            run.unwrap_or_else(|fault| panic!("{length}, {given}, {more}: {fault}"));
            compared += 1;
        }
    }
    Oracle::Kernel.compared(compared, "lengths around the MTU");
}
