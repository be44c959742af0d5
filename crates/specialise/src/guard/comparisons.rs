//! Chooses the loads and comparisons with which a guard checks known bits of packet bytes. Loads of
//! 1, 2, 4 or 8 bytes cover all required bits in as few instructions as possible. If a load
//! contains other bits, a mask removes them.

use slowpath_bpf::insn::{AluOp, Condition, Imm64, Insn, Register, Size, Source, Width};
use slowpath_ir::{Field, KnownBits, PacketFacts};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A comparison that a guard makes: some bits of consecutive packet bytes must have a certain
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Offset of the first byte from the start of the packet.
    pub offset: u16,
    /// Number of bytes that are loaded: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Mask of the bits that are compared, as a little-endian number. Bytes that a wide load reads
    /// without need have no bits in the mask.
    pub mask: u64,
    /// Required value of the bits under `mask`, as a little-endian number.
    pub value: u64,
}

/// A constant operand of an instruction.
enum Operand {
    /// A constant that fits into an immediate.
    Short(i32),
    /// A constant that another instruction has to load into a register.
    Long(u64),
}

impl Operand {
    /// Returns the number of instructions that load the constant: 1 for a long constant, otherwise
    /// 0.
    fn instructions(&self) -> usize {
        matches!(self, Operand::Long(_)).into()
    }

    /// Returns the constant as an operand of an instruction. For a long constant, adds an
    /// instruction to `insns` that loads it into `dst`.
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

/// Returns the operand for a 64-bit number. Immediates are sign-extended to 64 bits.
fn exactly(value: u64) -> Operand {
    i32::try_from(value as i64).map_or(Operand::Long(value), Operand::Short)
}

impl Comparison {
    /// Returns the operand that masks the loaded bytes. Returns `None` if no mask is needed. Bits
    /// of the mask above the loaded bytes do not matter, because these bits are zero.
    fn masking(&self) -> Option<Operand> {
        let all = slowpath_domain::mask(8 * self.bytes);
        (self.mask != all).then(|| match u32::try_from(self.mask) {
            Ok(short) if self.bytes <= 4 => Operand::Short(short as i32),
            _ => exactly(self.mask),
        })
    }

    /// Returns the number of instructions of the comparison: a load, a mask, a branch, and loads of
    /// long constants.
    pub fn instructions(&self) -> usize {
        let masking = self.masking().map_or(0, |mask| 1 + mask.instructions());
        2 + masking + exactly(self.value).instructions()
    }

    /// Returns the number of bytes of which at least one bit is compared.
    pub fn compared(&self) -> usize {
        self.places().filter(|(_, mask, _)| *mask != 0).count()
    }

    /// Lists all loaded bytes, each with its packet offset, mask and required value.
    fn places(&self) -> impl Iterator<Item = (u16, u8, u8)> {
        let Comparison { offset, bytes, mask, value } = *self;
        let byte = |number: u64, place: u8| (number >> (8 * place)) as u8;
        (0..bytes).map(move |place| {
            (offset.saturating_add(place.into()), byte(mask, place), byte(value, place))
        })
    }

    /// Lists the bits that are known after the comparison has succeeded, by packet offset of their
    /// byte.
    pub fn bits(&self) -> impl Iterator<Item = (u16, KnownBits)> {
        self.places().filter_map(|(at, mask, value)| Some((at, KnownBits::of(mask, value)?)))
    }

    /// Returns the packet offset after the last loaded byte.
    pub fn end(&self) -> u16 {
        self.offset.saturating_add(self.bytes.into())
    }

    /// Returns instructions that load the packet bytes into `dst` and mask them, where `base`
    /// points to the packet. Also returns the condition and the right operand of a branch that is
    /// taken if `dst` does not have the required value. Long constants are loaded into `spare`.
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

/// Chooses comparisons that check the known bits of the packet bytes at these offsets. The guard
/// separately checks the values of `fields`, so bits that follow from these values are left out.
/// Comparisons with the most bits per instruction come first, because they reject most packets
/// early.
pub(crate) fn comparisons(facts: &PacketFacts, bytes: &[u16], fields: &[Field]) -> Vec<Comparison> {
    let mut needed: BTreeMap<u16, KnownBits> = BTreeMap::new();
    let known = bytes.iter().filter_map(|&at| Some((at, *facts.bits.get(&at)?)));
    needed.extend(known.filter(|&(at, bits)| !fields.iter().any(|&f| implies(facts, f, at, bits))));
    let Some(last) = needed.last_key_value().map(|(&last, _)| last) else { return Vec::new() };
    // A wide load must not reject packets that are long enough for narrow loads.
    let limit = facts.min_length.max(last.saturating_add(1));
    let needed: Vec<(u16, KnownBits)> = needed.into_iter().collect();
    // Dynamic programming from the last byte to the first. The state is the price of comparing a
    // byte and all that follow, and the first load of the cheapest solution.
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
            // If more of the known bytes are compared, a mask may not be needed.
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

/// Factor that makes the number of compared bits per instruction an integer: a common multiple of
/// the numbers of instructions that comparisons can have.
const MOST: usize = 60;

/// Returns true if the packet byte at offset `at` has the given bits for all possible values of a
/// field.
fn implies(facts: &PacketFacts, field: Field, at: u16, bits: KnownBits) -> bool {
    let Some(behind) = (field.offset..field.offset.saturating_add(field.bytes.into()))
        .rev()
        .position(|offset| offset == at)
    else {
        return false;
    };
    // Values are in network byte order, so the last byte of the field is the lowest.
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

/// The price of a set of comparisons: numbers of executed instructions, slots, loads, and loaded
/// bytes, in order of importance.
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
