//! Translates integers: words of at most 64 bits, and arithmetic on them.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::*;

/// A bit range of a number, and the field of the pipeline that stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Field that stores the bits.
    pub field: FieldRef,
    /// Width of the field in bits.
    pub bits: u32,
    /// Lowest bit of the range inside the field.
    pub low: u32,
    /// Number of bits in the range.
    pub width: u32,
    /// True if the field stores only this range, and its other bits are 0.
    pub whole: bool,
}

/// Storage of a number: pieces in fields of the pipeline, least significant first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Pieces, least significant first.
    pub pieces: Vec<Piece>,
    /// Header that contains the number; `None` for metadata.
    pub header: Option<String>,
}

impl Number {
    /// Returns the width in bits.
    pub fn width(&self) -> u32 {
        self.pieces.iter().map(|piece| piece.width).sum()
    }

    /// Returns the storage of `width` bits from bit `low` on.
    pub fn slice(&self, low: u32, width: u32) -> Number {
        let (mut at, mut pieces) = (0, Vec::new());
        for piece in &self.pieces {
            let (from, to) = (low.max(at), (low + width).min(at + piece.width));
            if from < to {
                pieces.push(Piece {
                    low: piece.low + from - at,
                    width: to - from,
                    whole: piece.whole && to - from == piece.width,
                    ..piece.clone()
                });
            }
            at += piece.width;
        }
        Number { pieces, header: self.header.clone() }
    }
}

/// Value of a number as words of 64 bits, least significant first. The last word has the remaining
/// bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// Words; the bits above the width are 0.
    pub words: Vec<Operand>,
    /// Width in bits.
    pub width: u32,
}

impl Words {
    /// Creates a number of at most 64 bits from one word.
    pub fn one(word: Operand, width: u32) -> Words {
        Words { words: vec![word], width }
    }

    /// Creates a number from a constant, reduced to `width` bits.
    pub fn known(number: &BigInt, width: u32) -> Words {
        let number = crate::check::wrap(number, &Type::Bit(width));
        let count = width.div_ceil(64).max(1);
        let words = (0..count).map(|at| {
            let word: BigInt = (&number >> (at * 64)) & BigInt::from(u64::MAX);
            Operand::Immediate(word.to_u64().unwrap_or(0))
        });
        Words { words: words.collect(), width }
    }

    /// Returns the least significant word.
    pub fn low(&self) -> Operand {
        self.words.first().cloned().unwrap_or(Operand::Immediate(0))
    }

    /// Returns the value if it is constant and has at most 64 bits, or else `None`.
    pub fn immediate(&self) -> Option<u64> {
        match self.words[..] {
            [Operand::Immediate(number)] => Some(number),
            _ => None,
        }
    }

    /// Returns the number of bits of the number that are in the word at index `at`.
    fn bits(&self, at: usize) -> u32 {
        (self.width - (at as u32 * 64).min(self.width)).min(64)
    }
}

/// Returns a mask with the lowest `width` bits set.
pub(super) fn ones(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width.min(64)) }
}

/// Result of a division that the program uses: quotient or remainder.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Division {
    Quotient,
    Rest,
}

impl<'a> Generator<'a> {
    /// Emits a load of a number, and returns its value.
    pub(super) fn load(&mut self, number: &Number) -> Words {
        self.touch(number.header.as_ref());
        let parts: Vec<(Words, u32, u32)> = number
            .pieces
            .iter()
            .map(|piece| {
                let known = if piece.whole { piece.width } else { piece.bits };
                (Words::one(Operand::Field(piece.field.clone()), known), piece.low, piece.width)
            })
            .collect();
        self.assemble(&parts)
    }

    /// Emits a store of `value` to `number`, which has the same width.
    pub(super) fn put_number(&mut self, number: &Number, value: &Words) {
        self.touch(number.header.as_ref());
        let mut at = 0;
        for piece in &number.pieces {
            let part = self.slice(value, at, piece.width).low();
            at += piece.width;
            if piece.whole || (piece.low == 0 && piece.width == piece.bits) {
                self.copy(piece.field.clone(), part);
                continue;
            }
            let place = ones(piece.width) << piece.low;
            let part = match part {
                Operand::Immediate(number) => Operand::Immediate(number << piece.low),
                part if piece.low == 0 => part,
                part => {
                    let moved = self.saved(part, 64);
                    self.alu(Alu::Shl, &moved, Operand::Immediate(piece.low.into()));
                    Operand::Field(moved)
                }
            };
            let rest = ones(piece.bits) & !place;
            if part != Operand::Immediate(place) {
                self.alu(Alu::And, &piece.field, Operand::Immediate(rest));
            }
            if part != Operand::Immediate(0) {
                self.alu(Alu::Or, &piece.field, part);
            }
        }
    }

    /// Emits a copy of `value` to a new temporary field, and returns the field.
    pub(super) fn saved(&mut self, value: Operand, width: u32) -> FieldRef {
        let to = self.temporary(width);
        self.copy(to.clone(), value);
        to
    }

    /// Emits a copy of a number to new temporary fields. Constant words stay constants.
    pub(super) fn save(&mut self, value: &Words) -> Words {
        let words = (0..value.words.len()).map(|at| match &value.words[at] {
            known @ Operand::Immediate(_) => known.clone(),
            word => Operand::Field(self.saved(word.clone(), value.bits(at))),
        });
        Words { words: words.collect(), width: value.width }
    }

    /// Emits code that extracts `width` bits of a number from bit `low` on, and returns them.
    pub(super) fn slice(&mut self, value: &Words, low: u32, width: u32) -> Words {
        self.assemble(&[(value.clone(), low, width)])
    }

    /// Emits code that concatenates bit ranges of numbers, least significant first. Each range
    /// consists of a number, its lowest bit, and the number of bits.
    pub(super) fn assemble(&mut self, parts: &[(Words, u32, u32)]) -> Words {
        let width: u32 = parts.iter().map(|part| part.2).sum();
        // Bit ranges: the word, its width, the lowest bit, the number of bits, and the position in
        // the result.
        let mut chunks: Vec<(Operand, u32, u32, u32, u32)> = Vec::new();
        let mut at = 0;
        for (value, low, count) in parts {
            let (mut from, mut left) = (*low, *count);
            while left > 0 {
                let word = (from / 64) as usize;
                let take = left.min(64 - from % 64).min(64 - at % 64);
                let operand = value.words.get(word).cloned().unwrap_or(Operand::Immediate(0));
                chunks.push((operand, value.bits(word), from % 64, take, at));
                (from, left, at) = (from + take, left - take, at + take);
            }
        }
        let mut words = Vec::new();
        for number in 0..width.div_ceil(64).max(1) {
            let mut known = 0;
            let mut rest = Vec::new();
            for (operand, bits, low, take, place) in &chunks {
                if place / 64 != number {
                    continue;
                }
                match operand {
                    Operand::Immediate(value) => {
                        known |= ((value >> low) & ones(*take)) << (place % 64);
                    }
                    Operand::Field(field) => {
                        rest.push((field.clone(), *bits, *low, *take, place % 64));
                    }
                }
            }
            let whole = (width - number * 64).min(64);
            let mut sum: Option<FieldRef> = None;
            let count = rest.len();
            for (field, bits, low, take, shift) in rest {
                if count == 1 && known == 0 && low == 0 && shift == 0 && take >= bits {
                    words.push(Operand::Field(field));
                    sum = None;
                    break;
                }
                // A field as wide as the result's word drops the bits above it.
                let part = self.temporary(whole.max(bits));
                self.copy(part.clone(), Operand::Field(field));
                if low > 0 {
                    self.alu(Alu::Shr, &part, Operand::Immediate(low.into()));
                }
                if low + take < bits {
                    self.alu(Alu::And, &part, Operand::Immediate(ones(take)));
                }
                if shift > 0 {
                    self.alu(Alu::Shl, &part, Operand::Immediate(shift.into()));
                }
                match &sum {
                    None => sum = Some(part),
                    Some(sum) => self.alu(Alu::Or, sum, Operand::Field(part)),
                }
            }
            if words.len() > number as usize {
                continue;
            }
            words.push(match sum {
                None => Operand::Immediate(known),
                Some(sum) => {
                    if known != 0 {
                        self.alu(Alu::Or, &sum, Operand::Immediate(known));
                    }
                    Operand::Field(sum)
                }
            });
        }
        Words { words, width }
    }

    /// Emits code that changes the width of a number: removes high bits, or adds zeros or, if
    /// `signed` is true, copies of the sign bit.
    pub(super) fn resized(&mut self, value: &Words, width: u32, signed: bool) -> Words {
        if width <= value.width {
            return self.slice(value, 0, width);
        }
        let zeros = Words::known(&BigInt::ZERO, width - value.width);
        let longer =
            self.assemble(&[(value.clone(), 0, value.width), (zeros, 0, width - value.width)]);
        if !signed || value.width == 0 {
            return longer;
        }
        // (number ^ sign) - sign
        let sign = Words::known(&(BigInt::from(1) << (value.width - 1)), width);
        let turned = self.bitwise(Alu::Xor, &longer, &sign);
        self.add_or_subtract(Alu::Sub, &turned, &sign)
    }

    /// Emits an operation on two words, and returns the result reduced to `width` bits.
    pub(super) fn word(&mut self, alu: Alu, a: &Operand, b: &Operand, width: u32) -> Operand {
        if let (Operand::Immediate(a), Operand::Immediate(b)) = (a, b) {
            let result = match alu {
                Alu::Add => a.wrapping_add(*b),
                Alu::Sub => a.wrapping_sub(*b),
                Alu::And => a & b,
                Alu::Or => a | b,
                Alu::Xor => a ^ b,
                Alu::Shl => a.checked_shl(*b as u32).unwrap_or(0),
                Alu::Shr => a.checked_shr(*b as u32).unwrap_or(0),
            };
            return Operand::Immediate(result & ones(width));
        }
        let to = self.saved(a.clone(), width);
        self.alu(alu, &to, b.clone());
        if matches!(alu, Alu::Add | Alu::Sub | Alu::Shl) && ![8, 16, 32, 64].contains(&width) {
            self.alu(Alu::And, &to, Operand::Immediate(ones(width)));
        }
        Operand::Field(to)
    }

    /// Emits AND, OR or XOR of two numbers of the same width.
    pub(super) fn bitwise(&mut self, alu: Alu, a: &Words, b: &Words) -> Words {
        let words = (0..a.words.len())
            .map(|at| {
                let (left, right) = (a.words[at].clone(), b.words[at].clone());
                self.word(alu, &left, &right, a.bits(at))
            })
            .collect();
        Words { words, width: a.width }
    }

    /// Emits a sum or difference, with carries between words.
    pub(super) fn add_or_subtract(&mut self, alu: Alu, a: &Words, b: &Words) -> Words {
        if let ([left], [right]) = (&a.words[..], &b.words[..]) {
            return Words::one(self.word(alu, left, right, a.width), a.width);
        }
        let (mut words, mut carry) = (Vec::new(), Operand::Immediate(0));
        for at in 0..a.words.len() {
            let (left, right, bits) = (a.words[at].clone(), b.words[at].clone(), a.bits(at));
            let part = self.word(alu, &left, &right, bits);
            let result = self.word(alu, &part, &carry, bits);
            if at + 1 < a.words.len() {
                let next = self.saved(Operand::Immediate(0), 64);
                let end = self.label("no_carry");
                let carried = self.label("carry");
                // After a carry, a + b is smaller than a; after a borrow, a - b is larger.
                let relation = if alu == Alu::Add { Relation::Lt } else { Relation::Gt };
                self.jump_compared(relation, &part, &left, &carried);
                self.jump_compared(relation, &result, &part, &carried);
                self.jump(&end);
                self.mark(&carried);
                self.copy(next.clone(), Operand::Immediate(1));
                self.mark(&end);
                carry = Operand::Field(next);
            }
            words.push(result);
        }
        Words { words, width: a.width }
    }

    /// Emits code that flips all bits of a number.
    pub(super) fn complement(&mut self, a: &Words) -> Words {
        let all = Words::known(&((BigInt::from(1) << a.width) - 1), a.width);
        self.bitwise(Alu::Xor, a, &all)
    }

    /// Emits a product of two words as a sum of shifted numbers, because SWX has no multiplication.
    pub(super) fn product(&mut self, a: &Operand, b: &Operand, width: u32) -> Operand {
        let (a, b) = if let Operand::Immediate(_) = a { (b, a) } else { (a, b) };
        let sum = self.saved(Operand::Immediate(0), 64);
        let part = self.saved(a.clone(), 64);
        if let Operand::Immediate(mut factor) = *b {
            while factor != 0 {
                let skip = factor.trailing_zeros();
                if skip > 0 {
                    self.alu(Alu::Shl, &part, Operand::Immediate(skip.into()));
                }
                self.alu(Alu::Add, &sum, Operand::Field(part.clone()));
                factor = (factor >> skip) & !1;
            }
        } else {
            let (rest, bit) = (self.saved(b.clone(), 64), self.temporary(8));
            let (again, even, end) =
                (self.label("times"), self.label("even"), self.label("product"));
            self.mark(&again);
            self.jump_compared(
                Relation::Eq,
                &Operand::Field(rest.clone()),
                &Operand::Immediate(0),
                &end,
            );
            self.copy(bit.clone(), Operand::Field(rest.clone()));
            self.alu(Alu::And, &bit, Operand::Immediate(1));
            self.jump_compared(Relation::Eq, &Operand::Field(bit), &Operand::Immediate(0), &even);
            self.alu(Alu::Add, &sum, Operand::Field(part.clone()));
            self.mark(&even);
            self.alu(Alu::Shl, &part, Operand::Immediate(1));
            self.alu(Alu::Shr, &rest, Operand::Immediate(1));
            self.jump(&again);
            self.mark(&end);
        }
        self.alu(Alu::And, &sum, Operand::Immediate(ones(width)));
        Operand::Field(sum)
    }

    /// Emits a division of words with the given widths in bits, and returns quotient or remainder.
    /// Division by 0 gives all ones and the dividend.
    ///
    /// Every packet runs the same instructions, unless an operand has 63 or 64 bits.
    pub(super) fn divide(
        &mut self,
        (a, width): (&Operand, u32),
        (b, divisor_width): (&Operand, u32),
        part: Division,
    ) -> Operand {
        if let Operand::Immediate(by) = b
            && by.is_power_of_two()
        {
            return match part {
                Division::Quotient => {
                    let shift = Operand::Immediate(by.trailing_zeros().into());
                    self.word(Alu::Shr, a, &shift, width)
                }
                Division::Rest => self.word(Alu::And, a, &Operand::Immediate(by - 1), width),
            };
        }
        let divisor_width = match b {
            Operand::Immediate(by) => 64 - by.leading_zeros(),
            Operand::Field(_) => divisor_width,
        };
        // Differences of numbers below 2^63 have their sign in the highest bit.
        if width + divisor_width <= 62 {
            self.divide_in_word((a, width), b, part)
        } else if width < 63 && divisor_width < 63 {
            self.divide_in_words((a, width), b, part)
        } else {
            self.divide_in_loop((a, width), b, part)
        }
    }

    /// Emits a long division that keeps the remainder and the quotient in one word, with the
    /// remainder in the upper bits.
    fn divide_in_word(
        &mut self,
        (a, width): (&Operand, u32),
        b: &Operand,
        part: Division,
    ) -> Operand {
        let by = match b {
            Operand::Immediate(by) => Operand::Immediate(by << width),
            Operand::Field(_) => {
                let by = self.saved(b.clone(), 64);
                self.alu(Alu::Shl, &by, Operand::Immediate(width.into()));
                Operand::Field(by)
            }
        };
        let word = self.saved(a.clone(), 64);
        let (negative, back) = (self.temporary(64), self.temporary(64));
        for _ in 0..width {
            self.alu(Alu::Shl, &word, Operand::Immediate(1));
            self.subtract_if_it_fits(&word, &by, (&negative, &back));
            if part == Division::Quotient {
                self.alu(Alu::Or, &word, Operand::Field(negative.clone()));
            }
        }
        match part {
            Division::Quotient => self.invert(&word, width),
            Division::Rest => self.alu(Alu::Shr, &word, Operand::Immediate(width.into())),
        }
        Operand::Field(word)
    }

    /// Emits a long division with remainder and quotient in separate words.
    fn divide_in_words(
        &mut self,
        (a, width): (&Operand, u32),
        b: &Operand,
        part: Division,
    ) -> Operand {
        let quotient = self.saved(a.clone(), 64);
        self.alu(Alu::Shl, &quotient, Operand::Immediate((64 - width).into()));
        let rest = self.saved(Operand::Immediate(0), 64);
        let (bit, back) = (self.temporary(64), self.temporary(64));
        for _ in 0..width {
            self.copy(bit.clone(), Operand::Field(quotient.clone()));
            self.alu(Alu::Shr, &bit, Operand::Immediate(63));
            self.alu(Alu::Shl, &quotient, Operand::Immediate(1));
            self.alu(Alu::Shl, &rest, Operand::Immediate(1));
            self.alu(Alu::Or, &rest, Operand::Field(bit.clone()));
            self.subtract_if_it_fits(&rest, b, (&bit, &back));
            if part == Division::Quotient {
                self.alu(Alu::Or, &quotient, Operand::Field(bit.clone()));
            }
        }
        if part == Division::Rest {
            return Operand::Field(rest);
        }
        self.invert(&quotient, width);
        Operand::Field(quotient)
    }

    /// Emits code that flips the low `width` bits of a field and clears the bits above them.
    fn invert(&mut self, field: &FieldRef, width: u32) {
        self.alu(Alu::And, field, Operand::Immediate(ones(width)));
        self.alu(Alu::Xor, field, Operand::Immediate(ones(width)));
    }

    /// Emits code that subtracts `by` from `word`, unless the difference is negative. The code sets
    /// `negative` to 1 if it is, otherwise to 0, and uses `back` as temporary storage. Both
    /// operands are below 2^63.
    fn subtract_if_it_fits(
        &mut self,
        word: &FieldRef,
        by: &Operand,
        (negative, back): (&FieldRef, &FieldRef),
    ) {
        self.alu(Alu::Sub, word, by.clone());
        self.copy(negative.clone(), Operand::Field(word.clone()));
        self.alu(Alu::Shr, negative, Operand::Immediate(63));
        self.copy(back.clone(), Operand::Immediate(0));
        self.alu(Alu::Sub, back, Operand::Field(negative.clone()));
        self.alu(Alu::And, back, by.clone());
        self.alu(Alu::Add, word, Operand::Field(back.clone()));
    }

    /// Emits a long division of 64-bit words as a loop.
    fn divide_in_loop(
        &mut self,
        (a, width): (&Operand, u32),
        b: &Operand,
        part: Division,
    ) -> Operand {
        let quotient = self.saved(a.clone(), 64);
        if width < 64 {
            self.alu(Alu::Shl, &quotient, Operand::Immediate((64 - width).into()));
        }
        let rest = self.saved(Operand::Immediate(0), 64);
        let (bit, left) = (self.temporary(64), self.saved(Operand::Immediate(width.into()), 8));
        let (again, fits, next) = (self.label("divide"), self.label("fits"), self.label("next"));
        let at = |field: &FieldRef| Operand::Field(field.clone());
        // A remainder with a 65th bit exceeds every divisor.
        let over = self.temporary(64);
        self.mark(&again);
        self.copy(over.clone(), at(&rest));
        self.alu(Alu::Shr, &over, Operand::Immediate(63));
        self.copy(bit.clone(), at(&quotient));
        self.alu(Alu::Shr, &bit, Operand::Immediate(63));
        self.alu(Alu::Shl, &quotient, Operand::Immediate(1));
        self.alu(Alu::Shl, &rest, Operand::Immediate(1));
        self.alu(Alu::Or, &rest, at(&bit));
        self.jump_compared(Relation::Eq, &at(&over), &Operand::Immediate(1), &fits);
        self.jump_compared(Relation::Lt, &at(&rest), b, &next);
        self.mark(&fits);
        self.alu(Alu::Sub, &rest, b.clone());
        self.alu(Alu::Or, &quotient, Operand::Immediate(1));
        self.mark(&next);
        self.alu(Alu::Sub, &left, Operand::Immediate(1));
        self.jump_compared(Relation::Gt, &at(&left), &Operand::Immediate(0), &again);
        match part {
            Division::Quotient => Operand::Field(quotient),
            Division::Rest => Operand::Field(rest),
        }
    }

    // --- comparisons ---------------------------------------------------------------------------

    /// Emits a jump to `target` if the relation holds between two words.
    pub(super) fn jump_compared(
        &mut self,
        relation: Relation,
        a: &Operand,
        b: &Operand,
        target: &str,
    ) {
        match (compared(relation, a, b), a, b) {
            (Some(condition), ..) => self.jump_on(condition, target),
            (None, Operand::Immediate(a), Operand::Immediate(b)) => {
                let holds = match relation {
                    Relation::Eq => a == b,
                    Relation::Ne => a != b,
                    Relation::Lt => a < b,
                    Relation::Gt => a > b,
                };
                if holds {
                    self.jump(target);
                }
            }
            _ => {}
        }
    }

    /// Emits a jump to `target` if two numbers are equal (if `wanted` is true), or if they differ
    /// (if `wanted` is false).
    pub(super) fn jump_equal(&mut self, a: &Words, b: &Words, wanted: bool, target: &str) {
        let pairs: Vec<_> = a.words.iter().cloned().zip(b.words.iter().cloned()).collect();
        if let [(left, right)] = &pairs[..] {
            let relation = if wanted { Relation::Eq } else { Relation::Ne };
            return self.jump_compared(relation, left, right, target);
        }
        let end = self.label("differ");
        for (left, right) in &pairs {
            let to = if wanted { &*end } else { target };
            self.jump_compared(Relation::Ne, left, right, to);
        }
        if wanted {
            self.jump(target);
        }
        self.mark(&end);
    }

    /// Emits a jump to `target` if `a < b` holds (if `wanted` is true), or does not hold (if
    /// `wanted` is false). The numbers are unsigned.
    pub(super) fn jump_less(&mut self, a: &Words, b: &Words, wanted: bool, target: &str) {
        let end = self.label("compared");
        let (less, not) = if wanted { (target, &*end) } else { (&*end, target) };
        let pairs: Vec<_> = a.words.iter().cloned().zip(b.words.iter().cloned()).rev().collect();
        let count = pairs.len();
        for (at, (left, right)) in pairs.iter().enumerate() {
            if at + 1 < count {
                self.jump_compared(Relation::Lt, left, right, less);
                self.jump_compared(Relation::Gt, left, right, not);
            } else if wanted {
                self.jump_compared(Relation::Lt, left, right, target);
            } else {
                self.jump_compared(Relation::Gt, left, right, target);
                self.jump_compared(Relation::Eq, left, right, target);
            }
        }
        self.mark(&end);
    }
}
