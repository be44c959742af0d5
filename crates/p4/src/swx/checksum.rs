//! Checksums and hashes over lists of fields: the Internet checksum (RFC 1071), XOR and identity.

use super::number::{Division, Words, ones};
use super::place::{Place, is_number, width};
use super::*;

impl<'a> Generator<'a> {
    /// Emits `verify_checksum`, `update_checksum` or `hash`.
    pub(super) fn checksum_call(
        &mut self,
        expr: &'a Expr,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<()> {
        let span = expr.span;
        let (data_at, algorithm_at) = if name == "hash" { (3, 1) } else { (1, 3) };
        let (Some(Given::Expr(data)), Some(Given::Expr(algorithm))) =
            (given.get(data_at), given.get(algorithm_at))
        else {
            return self.unsupported(span, name);
        };
        let Some(Value::Member(_, algorithm)) = self.constant(algorithm) else {
            return self.unsupported(span, "a hash algorithm that is not constant");
        };
        if name == "hash" {
            let (Some(Given::Expr(target)), Some(Given::Expr(base)), Some(Given::Expr(most))) =
                (given.first(), given.get(2), given.get(4))
            else {
                return self.unsupported(span, name);
            };
            let target = self.target(target)?;
            return self.hash(&target, base, most, &algorithm, data, span);
        }
        let (Some(Given::Expr(condition)), Some(Given::Expr(checksum))) =
            (given.first(), given.get(2))
        else {
            return self.unsupported(span, name);
        };
        let ty = self.ty(checksum);
        let end = self.label("no_checksum");
        self.jump_if(condition, false, &end)?;
        let known = self.known.clone();
        self.know(condition, true);
        let computed = self.compute_hash(&algorithm, data, span)?;
        let value = self.resized(&computed, width(&ty).unwrap_or(16), false);
        if name == "update_checksum" {
            let target = self.target(checksum)?;
            self.store_words(&target, &value)?;
        } else {
            let found = self.value_as(checksum, &ty)?;
            self.jump_equal(&found, &value, true, &end);
            let error = self.standard.as_ref().and_then(|place| place.member("checksum_error"));
            let Some(Place::Number(error)) = error else {
                return self.unsupported(span, name);
            };
            self.put_number(&error, &Words::known(&1.into(), 1));
        }
        self.known = known;
        self.mark(&end);
        Ok(())
    }

    fn hash(
        &mut self,
        target: &statement::Target,
        base: &'a Expr,
        most: &'a Expr,
        algorithm: &str,
        data: &'a Expr,
        span: Span,
    ) -> Result<()> {
        let bits = width(&target.ty).unwrap_or(64);
        let (base_type, most_type) = (self.ty(base), self.ty(most));
        let number = |ty: Type| if ty == Type::Integer { Type::Bit(64) } else { ty };
        let (base_type, most_type) = (number(base_type), number(most_type));
        let base = self.value_as(base, &base_type)?;
        let most = self.value_as(most, &most_type)?;
        if bits > 64 || base.width > 64 || most.width > 128 {
            return self.unsupported(span, "a hash of more than 64 bits");
        }
        let hash = self.compute_hash(algorithm, data, span)?;
        let value = self.saved(Operand::Immediate(0), 64);
        let end = self.label("hashed");
        let limit = match &most.words[..] {
            [limit] => limit.clone(),
            // A limit of 65 bits or more, which no hash reaches.
            [low, Operand::Immediate(0)] => low.clone(),
            [_, Operand::Immediate(_)] => Operand::Immediate(0),
            _ => return self.unsupported(span, "this limit of a hash"),
        };
        let is_far = matches!(most.words.get(1), Some(Operand::Immediate(1..)));
        if is_far {
            self.copy(value.clone(), hash.low());
        } else {
            self.jump_compared(Relation::Eq, &limit, &Operand::Immediate(0), &end);
            let limit = (&limit, most.width.min(64));
            let rest = self.divide((&hash.low(), hash.width), limit, Division::Rest);
            self.copy(value.clone(), rest);
            self.mark(&end);
        }
        self.alu(Alu::Add, &value, base.low());
        let sum = Words::one(Operand::Field(value), 64);
        let sum = self.slice(&sum, 0, bits);
        self.store_words(target, &sum)
    }

    /// Returns the values of the fields that a checksum covers, in order.
    pub(super) fn data_of(&mut self, data: &'a Expr) -> Result<Vec<Words>> {
        let mut numbers = Vec::new();
        self.add_data(data, &mut numbers)?;
        Ok(numbers)
    }

    fn add_data(&mut self, data: &'a Expr, numbers: &mut Vec<Words>) -> Result<()> {
        let ty = self.ty(data);
        match &data.kind {
            ExprKind::List { items, .. } => {
                items.iter().try_for_each(|item| self.add_data(item, numbers))
            }
            ExprKind::Record { fields, .. } => {
                fields.iter().try_for_each(|(_, item)| self.add_data(item, numbers))
            }
            _ if is_number(&ty) => {
                numbers.push(self.value(data)?);
                Ok(())
            }
            _ if ty == Type::Integer => {
                self.unsupported(data.span, "a number without a width in a checksum")
            }
            _ => {
                let place = self.place_as(data, &ty)?;
                self.add_numbers(&place, numbers, data.span)
            }
        }
    }

    fn add_numbers(&mut self, place: &Place, numbers: &mut Vec<Words>, span: Span) -> Result<()> {
        match place {
            Place::Number(number) => numbers.push(self.load(number)),
            Place::Header(header) => {
                for (_, part) in &header.fields {
                    self.add_numbers(part, numbers, span)?;
                }
            }
            Place::Parts(parts) => {
                for (_, part) in &parts.members {
                    self.add_numbers(part, numbers, span)?;
                }
            }
            Place::Varbit(_) => return self.unsupported(span, "a varbit in a checksum"),
        }
        Ok(())
    }

    fn compute_hash(&mut self, algorithm: &str, data: &'a Expr, span: Span) -> Result<Words> {
        let numbers = self.data_of(data)?;
        match algorithm {
            "csum16" | "ONES_COMPLEMENT16" => {
                let sum = self.sum(&numbers);
                let sum = Words::one(Operand::Field(sum), 16);
                Ok(self.complement(&sum))
            }
            "xor16" => {
                let sum = self.saved(Operand::Immediate(0), 16);
                for (word, shift) in self.units(&numbers, 16) {
                    let part = self.word(Alu::Shl, &word, &Operand::Immediate(shift.into()), 16);
                    self.alu(Alu::Xor, &sum, part);
                }
                Ok(Words::one(Operand::Field(sum), 16))
            }
            "identity" | "IDENTITY" => {
                let mut parts: Vec<_> =
                    numbers.iter().rev().map(|one| (one.clone(), 0, one.width)).collect();
                let bits: u32 = numbers.iter().map(|one| one.width).sum();
                // Zero bits after the data fill the last byte.
                let rest = bits.next_multiple_of(8) - bits;
                if rest > 0 {
                    parts.insert(0, (Words::known(&0.into(), rest), 0, rest));
                }
                let whole = self.assemble(&parts);
                let low = self.slice(&whole, 0, whole.width.min(64));
                Ok(self.resized(&low, 64, false))
            }
            "crc16" | "CRC16" => Ok(self.crc(&numbers, 0xa001, 0, 16)),
            "crc32" | "CRC32" => {
                let crc = self.crc(&numbers, 0xedb8_8320, 0xffff_ffff, 32);
                Ok(self.complement(&crc))
            }
            other => self.unsupported(span, format!("the hash algorithm {other}")),
        }
    }

    /// Emits a CRC in reflected bit order, and returns its value. SWX has hash instructions, but
    /// they compute other functions.
    ///
    /// Each step takes as many bits as the CRC is wide, or the remaining bits, without branches.
    /// The remainder modulo the CRC polynomial is linear, so shifts and XOR compute it.
    fn crc(&mut self, numbers: &[Words], polynomial: u64, start: u64, width: u32) -> Words {
        let crc = self.saved(Operand::Immediate(start), width);
        let (quotient, shifted) = (self.temporary(width), self.temporary(width));
        let (mut bits, mut is_open) = (0, false);
        for (part, shift) in self.units(numbers, 8) {
            let part = match shift + bits {
                0 => part,
                by => self.word(Alu::Shl, &part, &Operand::Immediate(by.into()), width),
            };
            self.alu(Alu::Xor, &crc, part);
            is_open = shift > 0;
            if !is_open {
                bits += 8;
            }
            if bits == width {
                self.crc_step(&crc, (&quotient, &shifted), polynomial, (bits, width));
                bits = 0;
            }
        }
        // The bits of an incomplete byte stand at its top.
        bits += if is_open { 8 } else { 0 };
        if bits > 0 {
            self.crc_step(&crc, (&quotient, &shifted), polynomial, (bits, width));
        }
        Words::one(Operand::Field(crc), width)
    }

    /// Emits a step of a CRC: the polynomial division of the low `bits` bits of the field `crc`.
    ///
    /// For the polynomial `x^width + P`, bit `p` of `P` in reflected order adds bit `i` of the
    /// quotient to bit `i + p + 1` of the quotient, and to bit `i + p + 1 - bits` of the new
    /// remainder.
    fn crc_step(
        &mut self,
        crc: &FieldRef,
        (quotient, shifted): (&FieldRef, &FieldRef),
        polynomial: u64,
        (bits, width): (u32, u32),
    ) {
        let places: Vec<u32> = (0..width).filter(|at| polynomial >> at & 1 == 1).collect();
        self.copy(quotient.clone(), Operand::Field(crc.clone()));
        if bits < width {
            self.alu(Alu::And, quotient, Operand::Immediate(ones(bits)));
        }
        // The inverse of F modulo x^bits is F(x) F(x^2) F(x^4) and so on, because squares of sums
        // are sums of squares.
        let mut power = 1;
        while places.first().is_some_and(|first| (first + 1) * power < bits) {
            let of = places.iter().map(|at| (at + 1) * power).filter(|shift| *shift < bits);
            self.copy(shifted.clone(), Operand::Field(quotient.clone()));
            self.add_shifted(quotient, shifted, Alu::Shl, of);
            power *= 2;
        }
        match bits < width {
            true => {
                self.alu(Alu::And, quotient, Operand::Immediate(ones(bits)));
                self.alu(Alu::Shr, crc, Operand::Immediate(bits.into()));
            }
            false => self.copy(crc.clone(), Operand::Immediate(0)),
        }
        let right = places.iter().rev().filter(|at| **at < bits).map(|at| bits - 1 - at);
        self.copy(shifted.clone(), Operand::Field(quotient.clone()));
        self.add_shifted(crc, shifted, Alu::Shr, right);
        let left = places.iter().filter(|at| **at >= bits).map(|at| at + 1 - bits);
        if left.clone().next().is_some() {
            self.copy(shifted.clone(), Operand::Field(quotient.clone()));
            self.add_shifted(crc, shifted, Alu::Shl, left);
        }
    }

    /// Emits `sum ^= shifted` for each shift distance in `by`, which must be in ascending order.
    /// Afterwards, `shifted` is shifted by the last distance.
    fn add_shifted(
        &mut self,
        sum: &FieldRef,
        shifted: &FieldRef,
        direction: Alu,
        by: impl Iterator<Item = u32>,
    ) {
        let mut before = 0;
        for by in by {
            if by > before {
                self.alu(direction, shifted, Operand::Immediate((by - before).into()));
            }
            self.alu(Alu::Xor, sum, Operand::Field(shifted.clone()));
            before = by;
        }
    }

    /// Emits a method of PSA's `Hash`, `Checksum` or `InternetChecksum`. Returns `None` for other
    /// methods, and `Some(None)` for a method without result.
    pub(super) fn psa_checksum(
        &mut self,
        expr: &'a Expr,
        instance: &Instance,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<Option<Option<Place>>> {
        let Type::Extern(named) = &instance.ty else { return Ok(None) };
        let algorithm = match instance.args.first() {
            Some(Some(Binding::Constant(Value::Member(_, name)))) => name.to_string(),
            _ => String::new(),
        };
        let arg = |at: usize| match given.get(at) {
            Some(Given::Expr(expr)) => Some(*expr),
            _ => None,
        };
        let kind = (&*named.name, name);
        if kind.0 == "Hash" {
            let ty = self.ty(expr);
            let place = self.new_place("hash", &ty, place::Memory::Temporary)?;
            let target = statement::Target::to(place.clone(), ty);
            match (arg(0), arg(1), arg(2)) {
                (Some(data), None, None) => {
                    let hash = self.compute_hash(&algorithm, data, expr.span)?;
                    let hash = self.resized(&hash, width(&target.ty).unwrap_or(32), false);
                    self.store_words(&target, &hash)?;
                }
                (Some(base), Some(data), Some(most)) => {
                    self.hash(&target, base, most, &algorithm, data, expr.span)?;
                }
                _ => return Ok(None),
            }
            return Ok(Some(Some(place)));
        }
        let is_sum = kind.0 == "InternetChecksum"
            || (kind.0 == "Checksum" && algorithm == "ONES_COMPLEMENT16");
        if !is_sum {
            return Ok(None);
        }
        let field = FieldRef::Meta(self.state_of(&instance.path));
        let state = Words::one(Operand::Field(field.clone()), 16);
        let found = match name {
            "clear" => {
                self.copy(field, Operand::Immediate(0));
                return Ok(Some(None));
            }
            "add" | "update" | "subtract" => {
                let Some(data) = arg(0) else { return Ok(None) };
                let numbers = self.data_of(data)?;
                let numbers = match name {
                    "subtract" => {
                        let sum = self.sum(&numbers);
                        vec![self.complement(&Words::one(Operand::Field(sum), 16))]
                    }
                    _ => numbers,
                };
                let all = [&[state][..], &numbers[..]].concat();
                let sum = self.sum(&all);
                self.copy(field, Operand::Field(sum));
                return Ok(Some(None));
            }
            "set_state" => {
                let Some(value) = arg(0) else { return Ok(None) };
                let value = self.value_as(value, &Type::Bit(16))?;
                self.copy(field, value.low());
                return Ok(Some(None));
            }
            "get_state" => state,
            "get" => self.complement(&state),
            _ => return Ok(None),
        };
        let ty = self.ty(expr);
        let place = self.new_place("checksum", &ty, place::Memory::Temporary)?;
        let found = self.resized(&found, width(&ty).unwrap_or(16), false);
        self.store_words(&statement::Target::to(place.clone(), ty), &found)?;
        Ok(Some(Some(place)))
    }

    /// Returns the metadata field that stores the sum of a checksum object. It is 0 when a packet
    /// arrives.
    fn state_of(&mut self, path: &str) -> String {
        let name: String = plain_name(&format!("{path}_sum")).chars().take(LONGEST_NAME).collect();
        if self.names.insert(name.clone()) {
            self.fields.push((name.clone(), 16));
            self.cleared.insert(name.clone());
        }
        name
    }

    /// Divides numbers into units of `unit` bits, most significant bits first. A unit can consist
    /// of parts of several numbers. Returns the parts, each with its left shift in its unit; shift
    /// 0 completes a unit.
    fn units(&mut self, numbers: &[Words], unit: u32) -> Vec<(Operand, u32)> {
        let (mut filled, mut units) = (0, Vec::new());
        for number in numbers {
            let mut left = number.width;
            while left > 0 {
                let take = left.min(unit - filled);
                left -= take;
                filled = (filled + take) % unit;
                let word = self.slice(number, left, take).low();
                units.push((word, (unit - filled) % unit));
            }
        }
        units
    }

    /// Emits the one's complement sum of numbers in units of 16 bits, and returns its field.
    ///
    /// A carry out of a unit wraps around to its end, because 65536 and 1 are equal modulo 65535.
    /// So the emitted code adds up to 32 bits at once, and adds the carries to the lowest 16 bits
    /// at the end.
    pub(super) fn sum(&mut self, numbers: &[Words]) -> FieldRef {
        let sum = self.saved(Operand::Immediate(0), 64);
        let mut end = 0;
        for number in numbers {
            end += number.width;
            let shift = (16 - end % 16) % 16;
            // Parts of 32 bits leave room for a shift and many terms.
            let mut low = 0;
            while low < number.width {
                let take = (number.width - low).min(32);
                let word = self.slice(number, low, take).low();
                let part = match shift {
                    0 => word,
                    _ => self.word(Alu::Shl, &word, &Operand::Immediate(shift.into()), 64),
                };
                self.alu(Alu::Add, &sum, part);
                low += take;
            }
        }
        // Of up to 2^16 terms below 2^48: 64 bits, then 49, 34, 20, 17 and 16.
        let high = self.temporary(64);
        for bits in [32, 16, 16, 16] {
            self.copy(high.clone(), Operand::Field(sum.clone()));
            self.alu(Alu::Shr, &high, Operand::Immediate(bits));
            self.alu(Alu::And, &sum, Operand::Immediate(ones(bits as u32)));
            self.alu(Alu::Add, &sum, Operand::Field(high.clone()));
        }
        sum
    }
}
