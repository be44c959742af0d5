//! Which bytes a guard compares at once: loads of 1, 2, 4 or 8 bytes that have all that is relied on in
//! them, masked where that is not all of a load, as few instructions as possible.

use slowpath_bpf::insn::{AluOp, Condition, Imm64, Insn, Register, Size, Source, Width};
use slowpath_ir::{Field, KnownBits, PacketFacts};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A comparison of a guard: so many bytes of the packet, of which some bits have to be so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Where they begin, in bytes from the packet's first one.
    pub offset: u16,
    /// How many they are: 1, 2, 4 or 8.
    pub bytes: u8,
    /// The bits that are compared, as a little-endian number; none of bytes that are there because
    /// others are loaded with them.
    pub mask: u64,
    /// What they have to be.
    pub value: u64,
}

/// A constant as the operand of an instruction.
enum Operand {
    /// Part of it.
    Short(i32),
    /// One that takes an instruction of its own.
    Long(u64),
}

impl Operand {
    /// Instructions that it takes besides.
    fn instructions(&self) -> usize {
        matches!(self, Operand::Long(_)).into()
    }

    /// The operand, with what has to come before, which uses a register.
    fn source(self, insns: &mut Vec<Insn>, dst: Register) -> Source {
        match self {
            Operand::Short(value) => Source::Imm(value),
            Operand::Long(value) => {
                insns.push(Insn::LoadImm64 { dst, value: Imm64::Value(value) });
                Source::Reg(dst)
            }
        }
    }
}

/// A number as it is: operands are sign-extended.
fn exactly(value: u64) -> Operand {
    i32::try_from(value as i64).map_or(Operand::Long(value), Operand::Short)
}

impl Comparison {
    /// Of a mask, nothing above the bytes matters, which are zero there.
    fn masking(&self) -> Option<Operand> {
        let all = slowpath_domain::mask(8 * self.bytes);
        (self.mask != all).then(|| match u32::try_from(self.mask) {
            Ok(short) if self.bytes <= 4 => Operand::Short(short as i32),
            _ => exactly(self.mask),
        })
    }

    /// How many instructions it has: a load, a mask, a branch, and constants that are too long.
    pub fn instructions(&self) -> usize {
        let masking = self.masking().map_or(0, |mask| 1 + mask.instructions());
        2 + masking + exactly(self.value).instructions()
    }

    /// How many bytes it compares, not all of them whole.
    pub fn compared(&self) -> usize {
        self.places().filter(|(_, mask, _)| *mask != 0).count()
    }

    /// What it compares, by offset: bits, and what they have to be.
    fn places(&self) -> impl Iterator<Item = (u16, u8, u8)> {
        let Comparison { offset, bytes, mask, value } = *self;
        let byte = |number: u64, place: u8| (number >> (8 * place)) as u8;
        (0..bytes).map(move |place| {
            (offset.saturating_add(place.into()), byte(mask, place), byte(value, place))
        })
    }

    /// What is known of bytes that it lets through.
    pub fn bits(&self) -> impl Iterator<Item = (u16, KnownBits)> {
        self.places().filter_map(|(at, mask, value)| Some((at, KnownBits::of(mask, value)?)))
    }

    /// The first byte behind it.
    pub fn end(&self) -> u16 {
        self.offset.saturating_add(self.bytes.into())
    }

    /// Loads bytes from a packet at `base`, and leaves in `dst` what has to be the value: the
    /// instructions, and what it is to be compared with. `spare` is for constants.
    pub(super) fn code(
        &self,
        base: Register,
        [dst, spare]: [Register; 2],
    ) -> (Vec<Insn>, Condition, Source) {
        let size = Size::from_bytes(self.bytes.into()).unwrap_or(Size::B);
        let offset = i16::try_from(self.offset).unwrap_or(i16::MAX);
        let mut insns = vec![Insn::Load { size, signed: false, dst, base, offset }];
        if let Some(mask) = self.masking() {
            let src = mask.source(&mut insns, spare);
            insns.push(Insn::Alu { width: Width::W64, op: AluOp::And, dst, src });
        }
        let src = exactly(self.value).source(&mut insns, spare);
        (insns, Condition::Ne, src)
    }
}

/// What a guard compares, so that bytes at these offsets have the known bits that facts speak of; bytes
/// of `fields`, of which it checks the values, only where these do not say as much. In the order in
/// which it does, what few packets have by chance, for what it takes, first.
pub(crate) fn comparisons(facts: &PacketFacts, bytes: &[u16], fields: &[Field]) -> Vec<Comparison> {
    let mut needed: BTreeMap<u16, KnownBits> = BTreeMap::new();
    let known = bytes.iter().filter_map(|&at| Some((at, *facts.bits.get(&at)?)));
    needed.extend(known.filter(|&(at, bits)| !fields.iter().any(|&f| says(facts, f, at, bits))));
    let Some(last) = needed.last_key_value().map(|(&last, _)| last) else { return Vec::new() };
    // No packet has to be longer for a load that is wide.
    let limit = facts.min_length.max(last.saturating_add(1));
    let needed: Vec<(u16, KnownBits)> = needed.into_iter().collect();
    // From the last byte on: what comparing it and all behind it takes, and the first of these loads.
    let mut best: Vec<(Price, Option<Comparison>)> = vec![(Price::default(), None)];
    for (first, &(offset, _)) in needed.iter().enumerate().rev() {
        let sizes = [Size::B, Size::H, Size::W, Size::DW].map(|size| u16::from(size.bytes()));
        let fits = |&size: &u16| size == 1 || offset.checked_add(size).is_some_and(|e| e <= limit);
        let each = sizes.into_iter().filter(fits).flat_map(|size| {
            let end = needed.partition_point(|&(at, _)| at < offset.saturating_add(size));
            let behind = best[needed.len() - end].0;
            let one = |bits: &dyn Fn(u16) -> Option<KnownBits>| {
                let one = comparison(offset, size as u8, bits);
                (behind.plus(&one), Some(one))
            };
            let within = &needed[first..end];
            let only =
                |at: u16| within.iter().find(|&&(other, _)| other == at).map(|&(_, bits)| bits);
            // Where all bytes are known, nothing has to be masked.
            let all = |at: u16| facts.bits.get(&at).copied();
            [one(&only), one(&all)]
        });
        let cheapest = each.reduce(|one, other| if other.0 < one.0 { other } else { one });
        best.extend(cheapest);
    }
    let mut found = Vec::new();
    let mut left = needed.len();
    while let Some((_, Some(one))) = best.get(left).filter(|_| left > 0) {
        found.push(*one);
        left = needed.len() - needed.partition_point(|&(at, _)| at < one.end());
    }
    found.sort_by_key(|one| {
        let bits = one.mask.count_ones() as usize;
        (Reverse(bits * MOST / one.instructions()), one.offset)
    });
    found
}

/// A multiple of how many instructions any comparison has.
const MOST: usize = 60;

/// Whether the values of a field, of which facts know, say as much as bits of a byte.
fn says(facts: &PacketFacts, field: Field, at: u16, bits: KnownBits) -> bool {
    let Some(behind) = (field.offset..field.offset.saturating_add(field.bytes.into()))
        .rev()
        .position(|offset| offset == at)
    else {
        return false;
    };
    // The last byte is the lowest.
    let conforms = |value: &u64| (value >> (8 * behind)) as u8 & bits.mask == bits.value;
    facts.values.get(&field).is_some_and(|values: &BTreeSet<u64>| values.iter().all(conforms))
}

fn comparison(offset: u16, bytes: u8, known: &dyn Fn(u16) -> Option<KnownBits>) -> Comparison {
    let (mut mask, mut value) = (0, 0);
    for place in (0..u16::from(bytes)).rev() {
        let bits = known(offset.saturating_add(place)).unwrap_or(KnownBits { mask: 0, value: 0 });
        mask = mask << 8 | u64::from(bits.mask);
        value = value << 8 | u64::from(bits.value);
    }
    Comparison { offset, bytes, mask, value }
}

/// What comparisons take: instructions, slots of them, loads, bytes that are loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Price([usize; 4]);

impl Price {
    fn plus(self, one: &Comparison) -> Price {
        let Price([instructions, slots, loads, bytes]) = self;
        let long =
            one.masking().map_or(0, |mask| mask.instructions()) + exactly(one.value).instructions();
        let own = one.instructions();
        Price([instructions + own, slots + own + long, loads + 1, bytes + usize::from(one.bytes)])
    }
}

#[cfg(test)]
mod tests;
