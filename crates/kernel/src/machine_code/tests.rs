use super::*;
use slowpath_bpf::insn::Register;

#[test]
fn a_part_ends_where_the_next_one_begins() {
    let functions = vec![(1000, 10), (5000, 4)];
    let lines = vec![(0, 1000), (1, 1003), (3, 1003), (4, 1008), (5, 5000), (7, 5002)];
    let image = RawImage { code: vec![0; 14], functions, lines };
    let expected = [(0, 0..3), (1, 3..3), (3, 3..8), (4, 8..10), (5, 10..12), (7, 12..14)];
    assert_eq!(parts(&image), BTreeMap::from(expected));
}

#[test]
fn nothing_is_outside_of_the_code() {
    let lines = vec![(0, 1000), (1, 1003), (2, 999), (3, 1010)];
    let image = RawImage { code: vec![0; 4], functions: vec![(1000, 10)], lines };
    assert_eq!(parts(&image), BTreeMap::from([(0, 0..3), (1, 3..4)]));
}

#[test]
fn each_instruction_has_a_line() {
    let value = slowpath_bpf::insn::Imm64::Value(1);
    let insns = [Insn::LoadImm64 { dst: Register::R0, value }, Insn::SecondSlot, Insn::Exit];
    let words: Vec<u32> =
        lines(&insns).as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
    assert_eq!(words, [0, 0, 0, 0, 2, 0, 0, 2]);
}
