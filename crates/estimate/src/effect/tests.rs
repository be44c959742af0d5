use super::*;
use slowpath_bpf::insn::decode;

/// Returns the registers that the atomic instruction with this immediate reads and writes. Its
/// address is in r2, its operand in r3.
fn atomic(opcode: u8, imm: u8) -> ([Option<u8>; 3], Option<u8>) {
    let insns = decode(&[opcode, 0x32, 0, 0, imm, 0, 0, 0]).unwrap();
    let effect = of(&insns[0]);
    assert_eq!(effect.work, Work::On(Unit::Atomic));
    (effect.reads, effect.writes)
}

#[test]
fn only_fetching_atomics_write_registers() {
    // Class STX, mode ATOMIC, for 4 and 8 bytes (RFC 9669, section 5.3).
    for opcode in [0xc3, 0xdb] {
        for operation in [0x00, 0x40, 0x50, 0xa0] {
            assert_eq!(atomic(opcode, operation), ([Some(2), Some(3), None], None));
            assert_eq!(atomic(opcode, operation | 1), ([Some(2), Some(3), None], Some(3)));
        }
        let exchange = atomic(opcode, 0xe1);
        assert_eq!(exchange, ([Some(2), Some(3), None], Some(3)));
        let compare_and_exchange = atomic(opcode, 0xf1);
        assert_eq!(compare_and_exchange, ([Some(2), Some(3), Some(0)], Some(0)));
    }
}
