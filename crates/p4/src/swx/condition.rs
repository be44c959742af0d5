//! Translates conditions to jumps. Tracks the headers that certainly have memory where a condition
//! holds.

use num_bigint::BigInt;

use super::number::Words;
use super::place::{Place, is_number, is_signed};
use super::table::Applied;
use super::*;

impl<'a> Generator<'a> {
    /// Emits code that evaluates a condition to 0 or 1, and returns this number.
    pub(super) fn truth(&mut self, expr: &'a Expr) -> Result<Words> {
        let to = self.temporary(1);
        let (no, end) = (self.label("false"), self.label("truth"));
        self.jump_if(expr, false, &no)?;
        self.copy(to.clone(), Operand::Immediate(1));
        self.jump(&end);
        self.mark(&no);
        self.copy(to.clone(), Operand::Immediate(0));
        self.mark(&end);
        Ok(Words::one(Operand::Field(to), 1))
    }

    /// Emits code that jumps to `target` if the condition has the value `wanted`.
    pub(super) fn jump_if(&mut self, expr: &'a Expr, wanted: bool, target: &str) -> Result<()> {
        if let Some(Value::Bool(known)) = self.constant(expr) {
            if known == wanted {
                self.jump(target);
            }
            return Ok(());
        }
        match &expr.kind {
            ExprKind::Unary { op: UnaryOp::Not, operand } => {
                return self.jump_if(operand, !wanted, target);
            }
            ExprKind::Binary { op, left, right } => {
                return self.jump_on_binary(expr, *op, left, right, wanted, target);
            }
            ExprKind::Member { base, name } if matches!(self.ty(base), Type::TableResult(_)) => {
                let applied = self.apply_table(base)?;
                let hit = (&*name.text == "hit") == wanted;
                self.jump_on_hit(&applied, hit, target);
                return Ok(());
            }
            ExprKind::Call { function, .. } if self.is_validity(expr) => {
                let ExprKind::Member { base, .. } = &function.kind else {
                    return self.unsupported(expr.span, "this call");
                };
                return self.jump_on_validity(base, wanted, target);
            }
            _ => {}
        }
        let value = self.value(expr)?;
        let relation = if wanted { Relation::Ne } else { Relation::Eq };
        self.jump_compared(relation, &value.low(), &Operand::Immediate(0), target);
        Ok(())
    }

    fn is_validity(&self, expr: &Expr) -> bool {
        use crate::check::{Builtin, Callee};
        let callee = self.checked.calls.get(&expr.id).map(|call| call.callee);
        callee == Some(Callee::Builtin(Builtin::IsValid))
    }

    fn jump_on_validity(&mut self, base: &'a Expr, wanted: bool, target: &str) -> Result<()> {
        let choices = self.choices(base)?;
        let end = self.label("validity");
        let is_indexed = choices.iter().any(|choice| !choice.when.is_empty());
        for choice in choices {
            let next = self.label("next");
            self.jump_unless(&choice.when, &next);
            let headers = choice.place.headers();
            for (at, header) in headers.iter().enumerate() {
                let last = at + 1 == headers.len();
                let name = header.name.clone();
                match (wanted, last) {
                    (true, _) => self.jump_on(Condition::Valid(name), target),
                    (false, false) => self.jump_on(Condition::Valid(name), &end),
                    (false, true) => self.jump_on(Condition::Invalid(name), target),
                }
            }
            if !choice.when.is_empty() {
                self.jump(&end);
            }
            self.mark(&next);
        }
        // An index outside of the stack means no header.
        if is_indexed && !wanted {
            self.jump(target);
        }
        self.mark(&end);
        Ok(())
    }

    /// Emits code that jumps to `target` unless each operand in `when` equals the value beside it.
    pub(super) fn jump_unless(&mut self, when: &[(Operand, u64)], target: &str) {
        for (word, value) in when {
            self.jump_compared(Relation::Ne, word, &Operand::Immediate(*value), target);
        }
    }

    fn jump_on_binary(
        &mut self,
        expr: &'a Expr,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
        wanted: bool,
        target: &str,
    ) -> Result<()> {
        use BinaryOp as B;
        match op {
            B::LogicalAnd | B::LogicalOr => {
                // (a && b) is false if a is false; (a || b) is true if a is true.
                let end = self.label("short");
                match (op == B::LogicalOr) == wanted {
                    true => self.jump_if(left, wanted, target)?,
                    false => self.jump_if(left, !wanted, &end)?,
                }
                let known = self.known.clone();
                self.know(left, op == B::LogicalAnd);
                self.jump_if(right, wanted, target)?;
                self.known = known;
                self.mark(&end);
                Ok(())
            }
            B::Equal | B::NotEqual => {
                let wanted = (op == B::Equal) == wanted;
                let compared = self.operand_type(left, right);
                if is_number(&compared) || compared == Type::Integer {
                    let (a, b) = self.two(left, right, &compared)?;
                    self.jump_equal(&a, &b, wanted, target);
                    return Ok(());
                }
                let a = self.place_as(left, &compared)?;
                let b = self.place_as(right, &compared)?;
                self.jump_same(&a, &b, wanted, target, expr.span)
            }
            B::Less | B::LessEqual | B::Greater | B::GreaterEqual => {
                let ty = self.operand_type(left, right);
                let (a, b) = self.two(left, right, &ty)?;
                let (a, b) =
                    if is_signed(&ty) { (self.turned(&a), self.turned(&b)) } else { (a, b) };
                match op {
                    B::Less => self.jump_less(&a, &b, wanted, target),
                    B::Greater => self.jump_less(&b, &a, wanted, target),
                    B::LessEqual => self.jump_less(&b, &a, !wanted, target),
                    _ => self.jump_less(&a, &b, !wanted, target),
                }
                Ok(())
            }
            _ => {
                let value = self.value(expr)?;
                let relation = if wanted { Relation::Ne } else { Relation::Eq };
                self.jump_compared(relation, &value.low(), &Operand::Immediate(0), target);
                Ok(())
            }
        }
    }

    /// Emits code that flips a number's sign bit, so that an unsigned comparison orders signed
    /// numbers.
    fn turned(&mut self, value: &Words) -> Words {
        if value.width == 0 {
            return value.clone();
        }
        let sign = Words::known(&(BigInt::from(1) << (value.width - 1)), value.width);
        self.bitwise(Alu::Xor, value, &sign)
    }

    /// Records the headers that have memory if `condition` has the value `holds`: those whose
    /// `isValid()` is then true.
    pub(super) fn know(&mut self, condition: &'a Expr, holds: bool) {
        match &condition.kind {
            ExprKind::Unary { op: UnaryOp::Not, operand } => self.know(operand, !holds),
            ExprKind::Binary { op: BinaryOp::LogicalAnd, left, right } if holds => {
                self.know(left, true);
                self.know(right, true);
            }
            ExprKind::Binary { op: BinaryOp::LogicalOr, left, right } if !holds => {
                self.know(left, false);
                self.know(right, false);
            }
            ExprKind::Call { function, .. } if holds && self.is_validity(condition) => {
                if let ExprKind::Member { base, .. } = &function.kind
                    && let Some(Place::Header(header)) = self.known_place(base)
                {
                    self.known.insert(header.name.clone());
                }
            }
            _ => {}
        }
    }

    /// Returns the location of a variable, or of a member or element of one, without emitting
    /// instructions; `None` for other expressions.
    pub(super) fn known_place(&self, expr: &Expr) -> Option<Place> {
        match &expr.kind {
            ExprKind::Name { .. } => match self.bindings.get(self.checked.uses.get(&expr.id)?)? {
                Binding::Place(place) => Some(place.clone()),
                _ => None,
            },
            ExprKind::Member { base, name } => self.known_place(base)?.member(&name.text),
            ExprKind::Index { base, index } => {
                let at = self.known_number(index)?;
                self.known_place(base)?.member(&at.to_string())
            }
            _ => None,
        }
    }

    /// Emits a jump to `target` if a table lookup is a hit (if `hit` is true) or a miss (if `hit`
    /// is false).
    pub(super) fn jump_on_hit(&mut self, applied: &Applied, hit: bool, target: &str) {
        match (applied, hit) {
            (Applied::Table, true) => self.jump_on(Condition::Hit, target),
            (Applied::Table, false) => self.jump_on(Condition::Miss, target),
            (Applied::Inline { hit: field, .. }, hit) => {
                let relation = if hit { Relation::Ne } else { Relation::Eq };
                let field = Operand::Field(field.clone());
                self.jump_compared(relation, &field, &Operand::Immediate(0), target);
            }
        }
    }
}
