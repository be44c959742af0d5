use super::*;
use proptest::prelude::*;

/// Returns facts about packets of at least `min_length` bytes. `bits` has the mask and value of the
/// known bits of each byte from offset 12 on.
fn known(bits: &[Option<(u8, u8)>], min_length: u16) -> PacketFacts {
    let mut facts = PacketFacts::lengths(min_length, 1500);
    for (at, bits) in (12..).zip(bits) {
        facts.bits.extend(bits.and_then(|(mask, byte)| Some((at, KnownBits::of(mask, byte)?))));
    }
    facts
}

/// Returns the smallest number of instructions with which loads that do not overlap can check the
/// bytes in `needed`. Tries all sets of loads.
fn fewest(facts: &PacketFacts, needed: &[u16], limit: u16) -> usize {
    let Some(&first) = needed.first() else { return 0 };
    let price = |size: u16| {
        let end = first + size;
        let behind = needed.iter().copied().filter(|&at| at >= end).collect::<Vec<_>>();
        let whole = |at: u16| facts.bits.get(&at).copied();
        let own = |at: u16| whole(at).filter(|_| needed.contains(&at));
        let one = [comparison(first, size as u8, &own), comparison(first, size as u8, &whole)];
        one.map(|one| one.instructions()).into_iter().min().unwrap() + fewest(facts, &behind, limit)
    };
    let sizes = [1, 2, 4, 8].into_iter().filter(|size| *size == 1 || first + size <= limit);
    sizes.map(price).min().unwrap()
}

proptest! {
    #[test]
    fn what_is_needed_is_compared_and_nothing_that_is_not_known(
        bits in prop::collection::vec(
            prop::option::of((prop_oneof![Just(0xff), 1_u8..], any::<u8>())), 1..14),
        asked in prop::collection::vec(any::<bool>(), 14),
        min_length in 12_u16..30,
    ) {
        let facts = known(&bits, min_length);
        let needed: Vec<u16> = facts.bits.keys().copied()
            .filter(|at| asked[usize::from(at - 12)]).collect();
        let found = comparisons(&facts, &needed, &[]);
        let compared: BTreeMap<u16, KnownBits> =
            found.iter().flat_map(Comparison::bits).collect();
        for at in &needed {
            prop_assert_eq!(compared.get(at), facts.bits.get(at));
        }
        for (at, bits) in &compared {
            prop_assert_eq!(Some(bits), facts.bits.get(at));
        }
        let mut places: Vec<(u16, u16)> = found.iter().map(|one| (one.offset, one.end())).collect();
        places.sort_unstable();
        prop_assert!(places.windows(2).all(|two| two[0].1 <= two[1].0), "{places:?}");
        // Loads must lie within the minimum packet length, or end at the last needed byte.
        let limit = min_length.max(needed.last().map_or(0, |last| last + 1));
        prop_assert!(places.iter().all(|&(_, end)| end <= limit), "{places:?} {limit}");
        let instructions = found.iter().map(Comparison::instructions).sum::<usize>();
        prop_assert_eq!(instructions, fewest(&facts, &needed, limit));
    }

    #[test]
    fn code_lets_through_what_it_compares(
        bytes in prop::sample::select(vec![1_u8, 2, 4, 8]),
        mask in any::<u64>(),
        value in any::<u64>(),
        loaded in any::<u64>(),
        differs in any::<u8>(),
    ) {
        let all = slowpath_domain::mask(8 * bytes);
        let mask = if mask & all == 0 { all } else { mask & all };
        let one = Comparison { offset: 0, bytes, mask, value: value & mask };
        let (insns, cond, src) = one.code(Register::R2, [Register::R4, Register::R5]);
        prop_assert_eq!(cond, Condition::Ne);
        prop_assert_eq!(insns.len() + 1, one.instructions());
        // Packets with the required value, with one bit flipped, and with any value.
        for loaded in [(loaded & !mask) | one.value, one.value ^ (1 << (differs % 64)), loaded] {
            let loaded = loaded & all;
            let (mut dst, mut spare) = (0, 0);
            for insn in &insns {
                match *insn {
                    Insn::Load { .. } => dst = loaded,
                    Insn::LoadImm64 { value: Imm64::Value(value), .. } => spare = value,
                    Insn::Alu { src: Source::Imm(by), .. } => dst &= i64::from(by) as u64,
                    Insn::Alu { .. } => dst &= spare,
                    _ => unreachable!(),
                }
            }
            let right = match src {
                Source::Imm(value) => i64::from(value) as u64,
                Source::Reg(_) => spare,
            };
            prop_assert_eq!(dst == right, loaded & mask == one.value);
        }
    }
}

#[test]
fn what_the_values_of_a_field_say_is_not_compared_as_well() {
    let mut facts = known(&[Some((0xe8, 0)), Some((0xff, 7))], 60);
    let field = Field { offset: 11, bytes: 2 };
    facts.values.insert(field, BTreeSet::from([0x106, 0x111]));
    let found = comparisons(&facts, &[12, 13], &[field]);
    assert_eq!(
        found.iter().flat_map(Comparison::bits).collect::<Vec<_>>(),
        [(13, KnownBits::all(7))]
    );
    // 0x09 has another value in a bit that is known to be zero.
    facts.values.insert(field, BTreeSet::from([0x106, 0x109]));
    assert_eq!(comparisons(&facts, &[12], &[field]).len(), 1);
    assert_eq!(comparisons(&facts, &[12], &[]).len(), 1);
}

#[test]
fn what_decides_most_comes_first() {
    let facts = known(
        &[
            Some((0x01, 1)),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            Some((0xff, 1)),
            Some((0xff, 2)),
        ],
        60,
    );
    let found = comparisons(&facts, &[12, 21, 22], &[]);
    let places: Vec<(u16, u8)> = found.iter().map(|one| (one.offset, one.bytes)).collect();
    assert_eq!(places, [(21, 2), (12, 1)]);
}
