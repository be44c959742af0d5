//! Translates expressions: numbers to words of 64 bits, other values to locations.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::number::{Division, Words};
use super::place::{Memory, Place, is_number, is_signed, plain, width};
use super::*;

/// A location that an expression can denote, with the condition under which it does. An expression
/// with an index that is not constant has several.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// Condition of this location: operands, each with the value that it must have.
    pub when: Vec<(Operand, u64)>,
    /// Location of the value.
    pub place: Place,
    /// Names of the other headers of the union, if the location is a header in a header union.
    pub siblings: Vec<String>,
}

impl Choice {
    /// Creates the choice for an expression that can denote only the location `place`.
    pub(super) fn only(place: Place) -> Choice {
        Choice { when: Vec::new(), place, siblings: Vec::new() }
    }
}

/// An operand of a binary operation.
pub(super) struct Side {
    /// Value of the operand.
    pub words: Words,
}

impl<'a> Generator<'a> {
    /// Converts a compile-time value to a number of type `ty`.
    pub(super) fn literal(&self, value: &Value, ty: &Type, span: Span) -> Result<Words> {
        let number = match value {
            Value::Bool(value) => BigInt::from(u8::from(*value)),
            Value::Number(number) => number.clone(),
            Value::Error(name) => {
                self.checked.errors.iter().position(|one| one == name).unwrap_or(0).into()
            }
            Value::Member(id, name) => {
                let members = self.checked.enums.get(id).map(|one| &one.members);
                let at = members.and_then(|all| all.iter().position(|one| one.0 == *name));
                at.unwrap_or(0).into()
            }
            _ => return self.unsupported(span, "this constant"),
        };
        Ok(Words::known(&number, width(ty).unwrap_or(32)))
    }

    /// Emits code that evaluates an expression, and returns its value as a number of type `ty`.
    pub(super) fn value_as(&mut self, expr: &'a Expr, ty: &Type) -> Result<Words> {
        match self.constant(expr) {
            Some(value) => self.literal(&value, ty, expr.span),
            None => self.value(expr),
        }
    }

    /// Emits code that evaluates an expression of a number type, and returns its value.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Result<Words> {
        let ty = self.ty(expr);
        if let Some(value) = self.constant(expr)
            && (is_number(&ty) || ty == Type::Integer)
        {
            return self.literal(&value, &ty, expr.span);
        }
        match &expr.kind {
            ExprKind::Name { .. } | ExprKind::Index { .. } => self.read(expr, &ty),
            ExprKind::Member { base, name } => match self.ty(base) {
                Type::TableResult(_) if matches!(&*name.text, "hit" | "miss") => self.truth(expr),
                Type::Stack(..) if &*name.text == "lastIndex" => {
                    let next = self.next_of(base)?;
                    Ok(Words::known(&u32::wrapping_sub(next, 1).into(), 32))
                }
                _ => self.read(expr, &ty),
            },
            ExprKind::Call { function, args, .. } => {
                match self.call(expr, function, args)? {
                    Some(Place::Number(number)) => Ok(self.load(&number)),
                    // A condition, as `isValid`.
                    None if ty == Type::Bool => self.truth(expr),
                    _ => self.unsupported(expr.span, "a call without a result, in an expression,"),
                }
            }
            ExprKind::Slice { base, high, low } => {
                let (Some(high), Some(low)) = (self.known_number(high), self.known_number(low))
                else {
                    return self.unsupported(expr.span, "a bit number that is not constant");
                };
                let base = self.value(base)?;
                Ok(self.slice(&base, low, high - low + 1))
            }
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::Not => self.truth(expr),
                UnaryOp::Plus => self.value(operand),
                UnaryOp::Negate => {
                    let value = self.value(operand)?;
                    let zero = Words::known(&0.into(), value.width);
                    Ok(self.add_or_subtract(Alu::Sub, &zero, &value))
                }
                UnaryOp::Complement => {
                    let value = self.value(operand)?;
                    Ok(self.complement(&value))
                }
            },
            ExprKind::Binary { op, left, right } => self.binary(expr, *op, left, right),
            ExprKind::Conditional { condition, yes, no } => {
                let place = self.new_place("choice", &ty, Memory::Temporary)?;
                let (other, end) = (self.label("else"), self.label("chosen"));
                self.jump_if(condition, false, &other)?;
                self.scoped(|this| this.assign(&place, &ty, yes))?;
                self.jump(&end);
                self.mark(&other);
                self.scoped(|this| this.assign(&place, &ty, no))?;
                self.mark(&end);
                self.read_place(&place, expr.span)
            }
            ExprKind::Cast { operand, .. } => {
                let from = self.ty(operand);
                let value = self.value(operand)?;
                Ok(self.resized(&value, width(&ty).unwrap_or(32), is_signed(&from)))
            }
            _ => self.unsupported(expr.span, format!("this expression of type {ty}")),
        }
    }

    /// Emits a load of the number at a location.
    pub(super) fn read_place(&mut self, place: &Place, span: Span) -> Result<Words> {
        match place {
            Place::Number(number) => Ok(self.load(number)),
            _ => self.unsupported(span, "this value as a number"),
        }
    }

    /// Emits a load of the variable or element that an expression denotes. An index that is not
    /// constant selects among several locations.
    fn read(&mut self, expr: &'a Expr, ty: &Type) -> Result<Words> {
        let choices = self.choices(expr)?;
        if let [only] = &choices[..]
            && only.when.is_empty()
        {
            return self.read_place(&only.place, expr.span);
        }
        let to = self.new_place("read", ty, Memory::Temporary)?;
        self.choose(&to, &choices, expr.span)?;
        self.read_place(&to, expr.span)
    }

    /// Emits code that copies a value to `to` from the location in `choices` whose condition is
    /// true. If none is true, `to` becomes zero.
    pub(super) fn choose(&mut self, to: &Place, choices: &[Choice], span: Span) -> Result<()> {
        let end = self.label("read");
        self.clear(to);
        for choice in choices {
            let next = self.label("next");
            self.jump_unless(&choice.when, &next);
            self.copy_place(to, &choice.place, span)?;
            self.jump(&end);
            self.mark(&next);
        }
        self.mark(&end);
        Ok(())
    }

    /// Emits code that evaluates two expressions to numbers, and returns the numbers. A side effect
    /// of the second expression does not change the first result.
    pub(super) fn two(
        &mut self,
        left: &'a Expr,
        right: &'a Expr,
        ty: &Type,
    ) -> Result<(Words, Words)> {
        let mut a = self.value_as(left, ty)?;
        if self.has_call(right) && self.constant(right).is_none() {
            a = self.save(&a);
        }
        let b = self.value_as(right, ty)?;
        Ok((a, b))
    }

    fn has_call(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Call { .. } => true,
            ExprKind::Member { base, .. } | ExprKind::Slice { base, .. } => self.has_call(base),
            ExprKind::Index { base, index } => self.has_call(base) || self.has_call(index),
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => {
                self.has_call(operand)
            }
            ExprKind::Binary { left, right, .. } => self.has_call(left) || self.has_call(right),
            ExprKind::Conditional { condition, yes, no } => {
                [condition, yes, no].into_iter().any(|one| self.has_call(one))
            }
            ExprKind::List { items, .. } => items.iter().any(|one| self.has_call(one)),
            ExprKind::Record { fields, .. } => fields.iter().any(|one| self.has_call(&one.1)),
            _ => false,
        }
    }

    fn binary(
        &mut self,
        expr: &'a Expr,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
    ) -> Result<Words> {
        let ty = self.ty(expr);
        if ty == Type::Bool {
            return match op {
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                    let (a, b) = self.two(left, right, &ty)?;
                    self.compute(expr.span, op, &ty, Side { words: a }, Side { words: b })
                }
                _ => self.truth(expr),
            };
        }
        let side = |this: &Self, one: &Expr| match this.ty(one) {
            Type::Integer if !matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight) => {
                ty.clone()
            }
            of => of,
        };
        let (left_type, right_type) = (side(self, left), side(self, right));
        let mut a = self.value_as(left, &left_type)?;
        if self.has_call(right) {
            a = self.save(&a);
        }
        let b = match self.constant(right) {
            // A shift may exceed the 32 bits of a number without a width.
            Some(Value::Number(number)) if right_type == Type::Integer => {
                Words::known(&number.min(u32::MAX.into()), 32)
            }
            _ => self.value_as(right, &right_type)?,
        };
        let b = Side { words: b };
        self.compute(expr.span, op, &ty, Side { words: a }, b)
    }

    /// Emits an operation on two numbers, other than a comparison, and returns the result.
    pub(super) fn compute(
        &mut self,
        span: Span,
        op: BinaryOp,
        ty: &Type,
        a: Side,
        b: Side,
    ) -> Result<Words> {
        use BinaryOp as B;
        let bits = a.words.width;
        let wide = bits > 64;
        Ok(match op {
            B::And => self.bitwise(Alu::And, &a.words, &b.words),
            B::Or => self.bitwise(Alu::Or, &a.words, &b.words),
            B::Xor => self.bitwise(Alu::Xor, &a.words, &b.words),
            B::Add => self.add_or_subtract(Alu::Add, &a.words, &b.words),
            B::Subtract => self.add_or_subtract(Alu::Sub, &a.words, &b.words),
            B::Concat => {
                let (low, high) = (b.words.width, a.words.width);
                self.assemble(&[(b.words, 0, low), (a.words, 0, high)])
            }
            B::ShiftLeft | B::ShiftRight => return self.shift(span, op, ty, a, b),
            B::AddSaturating | B::SubtractSaturating if !wide => {
                self.saturating(op == B::AddSaturating, ty, &a.words, &b.words)
            }
            B::Multiply if !wide => {
                Words::one(self.product(&a.words.low(), &b.words.low(), bits), bits)
            }
            B::Divide | B::Modulo if !wide => {
                let part = if op == B::Divide { Division::Quotient } else { Division::Rest };
                let (a, b) = (a.words.low(), b.words.low());
                Words::one(self.divide((&a, bits), (&b, bits), part), bits)
            }
            _ => {
                return self
                    .unsupported(span, format!("this operation on {ty}, wider than 64 bits,"));
            }
        })
    }

    fn shift(&mut self, span: Span, op: BinaryOp, ty: &Type, a: Side, b: Side) -> Result<Words> {
        let bits = a.words.width;
        let right = op == BinaryOp::ShiftRight;
        let signed = right && is_signed(ty);
        if let Some(by) = b.words.immediate() {
            let by = u32::try_from(by).unwrap_or(u32::MAX).min(bits);
            let zeros = Words::known(&0.into(), by.max(1));
            return Ok(match (right, signed) {
                (true, false) => self.assemble(&[(a.words, by, bits - by), (zeros, 0, by)]),
                (true, true) => {
                    let kept = self.slice(&a.words, by.min(bits - 1), bits - by.min(bits - 1));
                    self.resized(&kept, bits, true)
                }
                (false, _) => self.assemble(&[(zeros, 0, by), (a.words, 0, bits - by)]),
            });
        }
        if bits > 64 {
            return self.unsupported(span, format!("a shift of {ty} by a number that varies"));
        }
        let by = b.words;
        // A shift by less than the width is one instruction. A longer shift leaves no bits.
        let value = if signed { self.resized(&a.words, 64, true) } else { a.words };
        let to = self.saved(value.low(), 64);
        let (end, far) = (self.label("shifted"), self.label("far"));
        for high in by.words.iter().skip(1) {
            self.jump_compared(Relation::Ne, high, &Operand::Immediate(0), &far);
        }
        let most = Operand::Immediate(u64::from(bits) - 1);
        self.jump_compared(Relation::Gt, &by.low(), &most, &far);
        if signed {
            self.shift_signed(&to, &by.low());
        } else {
            self.alu(if right { Alu::Shr } else { Alu::Shl }, &to, by.low());
        }
        self.jump(&end);
        self.mark(&far);
        if signed {
            self.shift_signed(&to, &Operand::Immediate(63));
        } else {
            self.copy(to.clone(), Operand::Immediate(0));
        }
        self.mark(&end);
        self.alu(Alu::And, &to, Operand::Immediate(super::number::ones(bits)));
        Ok(Words::one(Operand::Field(to), bits))
    }

    /// Emits an arithmetic right shift of 64 bits, which copies the sign bit.
    fn shift_signed(&mut self, to: &FieldRef, by: &Operand) {
        // The complement of a negative number is not negative, so a logical shift of it is correct.
        let sign = self.saved(Operand::Field(to.clone()), 64);
        self.alu(Alu::Shr, &sign, Operand::Immediate(63));
        let ones = self.saved(Operand::Immediate(0), 64);
        self.alu(Alu::Sub, &ones, Operand::Field(sign));
        self.alu(Alu::Xor, to, Operand::Field(ones.clone()));
        self.alu(Alu::Shr, to, by.clone());
        self.alu(Alu::Xor, to, Operand::Field(ones));
    }

    fn saturating(&mut self, add: bool, ty: &Type, a: &Words, b: &Words) -> Words {
        let bits = a.width;
        let (end, alu) = (self.label("saturated"), if add { Alu::Add } else { Alu::Sub });
        if !is_signed(ty) {
            let (a, b) = (self.save(a), self.save(b));
            let result = self.add_or_subtract(alu, &a, &b);
            let to = self.saved(result.low(), bits);
            // A sum that overflows is smaller than its operands. A difference is negative if a < b.
            let limit = if add { super::number::ones(bits) } else { 0 };
            match add {
                true => self.jump_less(&result, &a, false, &end),
                false => self.jump_less(&a, &b, false, &end),
            }
            self.copy(to.clone(), Operand::Immediate(limit));
            self.mark(&end);
            return Words::one(Operand::Field(to), bits);
        }
        // A sum overflows if both operands have the same sign and the result has the other one.
        let sign = 1u64 << (bits - 1);
        let result = self.add_or_subtract(alu, a, b);
        let to = self.saved(result.low(), bits);
        let wrong = self.saved(a.low(), bits);
        self.alu(Alu::Xor, &wrong, b.low());
        if add {
            self.alu(Alu::Xor, &wrong, Operand::Immediate(super::number::ones(bits)));
        }
        let turned = self.word(Alu::Xor, &a.low(), &Operand::Field(to.clone()), bits);
        self.alu(Alu::And, &wrong, turned);
        self.alu(Alu::And, &wrong, Operand::Immediate(sign));
        let none = Operand::Immediate(0);
        self.jump_compared(Relation::Eq, &Operand::Field(wrong), &none, &end);
        // The largest number, or the lowest one if the first term is negative.
        let negative = self.word(Alu::And, &a.low(), &Operand::Immediate(sign), bits);
        self.copy(to.clone(), Operand::Immediate(sign));
        let low = self.label("lowest");
        self.jump_compared(Relation::Ne, &negative, &none, &low);
        self.copy(to.clone(), Operand::Immediate(sign - 1));
        self.mark(&low);
        self.mark(&end);
        Words::one(Operand::Field(to), bits)
    }

    /// Returns the type in which two operands are compared. It is the type of the operand that is
    /// not a literal.
    pub(super) fn operand_type(&self, left: &Expr, right: &Expr) -> Type {
        let (a, b) = (self.ty(left), self.ty(right));
        match a {
            Type::ListLiteral(..)
            | Type::RecordLiteral(..)
            | Type::InvalidLiteral
            | Type::Integer => b,
            _ => a,
        }
    }

    // --- places --------------------------------------------------------------------------------

    /// Returns the location of an expression of type `ty`. If the expression is not stored
    /// anywhere, emits code that stores its value to a new location.
    pub(super) fn place_as(&mut self, expr: &'a Expr, ty: &Type) -> Result<Place> {
        if self.has_place(expr) {
            let choices = self.choices(expr)?;
            if let [only] = &choices[..]
                && only.when.is_empty()
            {
                return Ok(only.place.clone());
            }
            let place = self.new_place("chosen", ty, Memory::Temporary)?;
            self.choose(&place, &choices, expr.span)?;
            return Ok(place);
        }
        let place = self.new_place("value", ty, Memory::Temporary)?;
        self.assign(&place, ty, expr)?;
        Ok(place)
    }

    pub(super) fn has_place(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name { .. } => matches!(
                self.checked.uses.get(&expr.id).and_then(|id| self.bindings.get(id)),
                Some(Binding::Place(_))
            ),
            ExprKind::Member { base, .. } => {
                !matches!(self.ty(base), Type::TableResult(_) | Type::Name(_))
                    && self.has_place(base)
            }
            ExprKind::Index { base, .. } => self.has_place(base),
            _ => false,
        }
    }

    /// Returns the locations that an expression can denote.
    pub(super) fn choices(&mut self, expr: &'a Expr) -> Result<Vec<Choice>> {
        match &expr.kind {
            ExprKind::Name { name, .. } => {
                let id = self.checked.uses.get(&expr.id);
                let value = match id.and_then(|id| self.bindings.get(id)) {
                    Some(Binding::Place(place)) => return Ok(vec![Choice::only(place.clone())]),
                    Some(Binding::Constant(value)) => value.clone(),
                    _ => match self.checked.constants.get(&expr.id) {
                        Some(value) => value.clone(),
                        None => return self.unsupported(expr.span, format!("'{}'", name.text)),
                    },
                };
                let ty = self.ty(expr);
                let place = self.new_place("value", &ty, Memory::Temporary)?;
                self.assign_value(&place, &ty, &value, expr.span)?;
                Ok(vec![Choice::only(place)])
            }
            ExprKind::Member { base, name } => {
                if let Type::Stack(_, size) = self.ty(base)
                    && matches!(&*name.text, "next" | "last")
                {
                    return self.stack_member(expr, base, &name.text, size);
                }
                if let Type::Fields(_, named) = self.ty(base) {
                    if let Some(why) = pipeline::unknown(&named.name, &name.text) {
                        return self.unsupported(expr.span, format!("{}, {why},", name.text));
                    }
                    if &*named.name == "standard_metadata_t" && pipeline::is_of_queue(&name.text) {
                        let what = "times and depths of queues are 0, because SWX has no queues";
                        self.conditions.insert(what.to_owned());
                    }
                }
                let bases = self.bases(base)?;
                let is_union = matches!(self.ty(base), Type::Fields(FieldsKind::HeaderUnion, _));
                let mut choices = Vec::new();
                for one in bases {
                    let Some(place) = one.place.member(&name.text) else {
                        return self.unsupported(expr.span, format!("'{}' here", name.text));
                    };
                    let mut siblings = Vec::new();
                    if is_union {
                        let all = one.place.headers();
                        siblings = all.iter().map(|one| one.name.clone()).collect();
                        let own = place.headers();
                        siblings.retain(|name| own.iter().all(|own| own.name != *name));
                    }
                    choices.push(Choice { when: one.when, place, siblings });
                }
                Ok(choices)
            }
            ExprKind::Index { base, index } => {
                let known = self.constant(index).and_then(|value| value.number().cloned());
                let base_type = self.ty(base);
                let bases = self.bases(base)?;
                let size = match base_type {
                    Type::Stack(_, size) => size,
                    _ => 0,
                };
                if let Some(at) = known {
                    let name = at.to_string();
                    let part =
                        |one: Choice| Some(Choice { place: one.place.member(&name)?, ..one });
                    let choices: Option<Vec<Choice>> = bases.into_iter().map(part).collect();
                    return match choices {
                        Some(choices) => Ok(choices),
                        None => self.unsupported(expr.span, format!("the index {at} here")),
                    };
                }
                if size == 0 {
                    return self.unsupported(expr.span, "this index");
                }
                let value = self.value(index)?;
                let value = self.save(&value);
                let mut choices = Vec::new();
                for one in bases {
                    for number in 0..size {
                        let mut when = one.when.clone();
                        when.push((value.low(), number.into()));
                        when.extend(value.words.iter().skip(1).map(|word| (word.clone(), 0)));
                        if let Some(place) = one.place.member(&number.to_string()) {
                            choices.push(Choice { when, place, siblings: Vec::new() });
                        }
                    }
                }
                Ok(choices)
            }
            _ => {
                let ty = self.ty(expr);
                let place = self.place_as(expr, &ty)?;
                Ok(vec![Choice::only(place)])
            }
        }
    }

    fn bases(&mut self, base: &'a Expr) -> Result<Vec<Choice>> {
        if self.has_place(base) {
            return self.choices(base);
        }
        // The value of a name without a place is known; other values are computed.
        let ty = self.ty(base);
        let place = self.place_as(base, &ty)?;
        Ok(vec![Choice::only(place)])
    }

    /// Returns the index of the header that `next` of a header stack denotes in the current parser
    /// state.
    fn next_of(&mut self, base: &'a Expr) -> Result<u32> {
        let ty = self.ty(base);
        match self.place_as(base, &ty)? {
            Place::Parts(parts) => Ok(self.next.get(&parts.path).copied().unwrap_or(0)),
            _ => self.unsupported(base.span, "this stack"),
        }
    }

    /// Returns the location of `next` or `last` of a header stack. The index is constant in each
    /// emitted parser state.
    fn stack_member(
        &mut self,
        expr: &'a Expr,
        base: &'a Expr,
        member: &str,
        size: u32,
    ) -> Result<Vec<Choice>> {
        let next = self.next_of(base)?;
        let ty = self.ty(base);
        let place = self.place_as(base, &ty)?;
        let at = if member == "next" { Some(next) } else { next.checked_sub(1) };
        let inside = at.filter(|at| *at < size);
        if inside.is_none() {
            // The code after the jump is never reached.
            self.reject("StackOutOfBounds", expr.span)?;
        }
        match place.member(&inside.unwrap_or(0).to_string()) {
            Some(place) => Ok(vec![Choice::only(place)]),
            None => self.unsupported(expr.span, "a member of this stack"),
        }
    }
}

/// Returns a constant number as an index of 32 bits; `None` if it is larger or not constant.
pub(super) fn small(words: &Words) -> Option<u32> {
    words.immediate().and_then(|number| number.to_u32())
}

/// Returns true if values of the type are numbers of at most 64 bits.
pub(super) fn is_word(ty: &Type) -> bool {
    plain(ty).width().is_some_and(|width| width <= 64)
}
