//! Translates statements and assignments.

use super::storage::{c_width, is_scalar, mask, plain};
use super::*;

/// Target of an assignment.
pub(super) struct Target {
    /// Possible lvalues with their conditions; empty for `_`.
    pub choices: Vec<expression::Choice>,
    /// Type of the assigned values.
    pub ty: Type,
    /// Type of the whole number and lowest assigned bit, for an assignment to some bits of a
    /// number; `None` for other assignments.
    pub bits: Option<(Type, u32)>,
}

/// Returns true for 0 and `false`.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Number(number) => *number == num_bigint::BigInt::ZERO,
        Value::Bool(value) => !value,
        _ => false,
    }
}

impl Target {
    /// Returns the lvalue if an `out` parameter may share it: it is the only possible one, it is
    /// assigned as a whole, and it is not in a header union.
    pub(super) fn only_place(&self) -> Option<String> {
        match &self.choices[..] {
            [only]
                if only.condition.is_none() && only.siblings.is_empty() && self.bits.is_none() =>
            {
                Some(only.place.clone())
            }
            _ => None,
        }
    }
}

impl<'a> Generator<'a> {
    pub(super) fn block(&mut self, block: &'a Block) -> Result<()> {
        self.statements(&block.statements)
    }

    pub(super) fn statements(&mut self, statements: &'a [Stmt]) -> Result<()> {
        statements.iter().try_for_each(|one| self.statement(one))
    }

    fn statement(&mut self, statement: &'a Stmt) -> Result<()> {
        let span = statement.span;
        if !matches!(statement.kind, StmtKind::Block(_) | StmtKind::Empty) {
            self.at(span);
        }
        match &statement.kind {
            StmtKind::Empty => {}
            StmtKind::Block(block) => self.block(block)?,
            StmtKind::Assign { target, op: None, value } => self.assign_to(target, value)?,
            StmtKind::Assign { target, op: Some(op), value } => {
                self.assign_with(target, *op, value)?
            }
            StmtKind::Call(call) => {
                if let ExprKind::Call { function, args, .. } = &call.kind {
                    self.call(call, function, args)?;
                }
            }
            StmtKind::If { condition, yes, no } => {
                if let Some(Value::Bool(known)) = self.constant(condition) {
                    return match (known, no) {
                        (true, _) => self.statement(yes),
                        (false, Some(no)) => self.statement(no),
                        (false, None) => Ok(()),
                    };
                }
                let condition = self.value(condition)?;
                self.put(format!("if ({condition}) {{"));
                let before = self.next.clone();
                self.statement(yes)?;
                let after = std::mem::replace(&mut self.next, before);
                if let Some(no) = no {
                    self.put("} else {");
                    self.statement(no)?;
                }
                self.put("}");
                if self.next != after {
                    return self.unsupported(span, "a branch that moves on in a stack");
                }
            }
            StmtKind::Switch { value, cases } => self.switch(value, cases)?,
            StmtKind::Return(value) => {
                let Some(frame) = self.frames.last() else {
                    return self.unsupported(span, "return here");
                };
                let (end, result) = (frame.end.clone(), frame.result.clone());
                if let (Some(value), Some(result)) = (value, result) {
                    let ty = self.ty(value);
                    self.assign(&result, &ty, value)?;
                }
                self.put(format!("goto {end};"));
            }
            StmtKind::Exit => {
                let copies: Vec<String> =
                    self.frames.iter().rev().flat_map(|frame| frame.copy_out.clone()).collect();
                self.body.extend(copies);
                let Some(label) = self.exit_label.clone() else {
                    return self.unsupported(span, "exit here");
                };
                self.put(format!("goto {label};"));
            }
            StmtKind::Break | StmtKind::Continue => {
                let Some((end, next)) = self.loops.last().cloned() else {
                    return self.unsupported(span, "this jump");
                };
                let label = if matches!(statement.kind, StmtKind::Break) { end } else { next };
                self.put(format!("goto {label};"));
            }
            StmtKind::Declare(decl) => self.declare(decl)?,
            StmtKind::For { start, condition, updates, body } => {
                self.statements(start)?;
                self.looped(span, |this, labels| {
                    let condition = this.value(condition)?;
                    this.put(format!("if (!{condition}) goto {};", labels.0));
                    this.statement(body)?;
                    this.put(format!("{}:;", labels.1));
                    this.statements(updates)
                })?;
            }
            StmtKind::ForIn { declared, variable, range, body } => {
                self.for_in(span, declared.as_ref(), variable, range, body)?
            }
        }
        Ok(())
    }

    /// Emits a loop without a condition. `emit` emits its body and gets two labels: the end of the
    /// loop, and its next iteration.
    fn looped(
        &mut self,
        span: Span,
        emit: impl FnOnce(&mut Self, &(String, String)) -> Result<()>,
    ) -> Result<()> {
        let labels = (self.fresh("end"), self.fresh("next"));
        self.put("for (;;) {");
        let (next, emits) = (self.next.clone(), self.emits.len());
        self.loops.push(labels.clone());
        let done = emit(self, &labels);
        self.loops.pop();
        done?;
        if self.next != next || self.emits.len() != emits {
            return self.unsupported(span, "a loop that extracts into a stack, or emits,");
        }
        self.put("}");
        self.put(format!("{}:;", labels.0));
        Ok(())
    }

    /// Emits `for (variable in low..high)`.
    fn for_in(
        &mut self,
        span: Span,
        declared: Option<&'a Decl>,
        variable: &'a Expr,
        range: &'a Expr,
        body: &'a Stmt,
    ) -> Result<()> {
        let ExprKind::Range { low, high } = &range.kind else {
            return self.unsupported(range.span, "a loop over this value");
        };
        let ty = match declared {
            Some(decl) => self.declared(decl.id),
            None => self.ty(variable),
        };
        let low = self.value_as(low, &ty)?;
        let count = self.save("count", &ty, &low)?;
        let high = self.value_as(high, &ty)?;
        let last = self.save("last", &ty, &high)?;
        if let Some(decl) = declared {
            let place = self.uninitialised(&decl.name.text, &ty)?;
            self.bindings.insert(decl.id, Binding::Place(place));
        }
        let one = self.fit(&format!("{count} + 1"), &ty);
        self.put(format!("if ({count} <= {last}) {{"));
        self.looped(span, |this, labels| {
            match declared.and_then(|decl| this.bindings.get(&decl.id).cloned()) {
                Some(Binding::Place(place)) => this.put(format!("{place} = {count};")),
                _ => this.store(variable, &count)?,
            }
            this.statement(body)?;
            this.put(format!("{}:;", labels.1));
            // The loop ends before an increment of the last value, which could overflow.
            this.put(format!("if ({count} == {last}) goto {};", labels.0));
            this.put(format!("{count} = {one};"));
            Ok(())
        })?;
        self.put("}");
        Ok(())
    }

    /// Declares a local variable or constant.
    pub(super) fn declare(&mut self, decl: &'a Decl) -> Result<()> {
        self.nodes.insert(decl.id, decl);
        match &*decl.kind {
            DeclKind::Variable { value, .. } => {
                let ty = self.declared(decl.id);
                let name = match value {
                    Some(value) => {
                        let name = self.uninitialised(&decl.name.text, &ty)?;
                        self.assign(&name, &ty, value)?;
                        name
                    }
                    None => self.variable(&decl.name.text, &ty)?,
                };
                self.bindings.insert(decl.id, Binding::Place(name));
            }
            DeclKind::Const { value, .. } => {
                if let Some(value) = self.constant(value) {
                    self.bindings.insert(decl.id, Binding::Constant(value));
                }
            }
            _ => {
                return self.unsupported(
                    decl.span,
                    format!("the declaration of '{}' here", decl.name.text),
                );
            }
        }
        Ok(())
    }

    // --- assignments ---------------------------------------------------------------------------

    /// Emits an assignment; the target is evaluated before the value.
    fn assign_to(&mut self, target: &'a Expr, value: &'a Expr) -> Result<()> {
        if let ExprKind::Member { base, name } = &target.kind
            && self.asks_for_copies(&self.ty(base), &name.text).is_some()
            && self.constant(value).is_some_and(|value| is_zero(&value))
            && self.has_place(target)
        {
            // The value 0 requests neither a multicast group nor a clone.
            let (place, zero) = (self.place(target)?, self.value_as(value, &self.ty(target))?);
            self.put(format!("{place} = {zero};"));
            return Ok(());
        }
        let to = self.target(target)?;
        if is_scalar(&to.ty) {
            let number = self.value_as(value, &to.ty)?;
            return self.store_to(&to, &number);
        }
        if let [only] = &to.choices[..]
            && only.condition.is_none()
        {
            self.assign(&only.place, &to.ty, value)?;
            self.invalidate(only, &to.ty);
            return Ok(());
        }
        let place = self.place_as(value, &to.ty)?;
        self.store_to(&to, &place)
    }

    /// Emits an assignment with an operator, such as `+=`.
    fn assign_with(&mut self, target: &'a Expr, op: BinaryOp, value: &'a Expr) -> Result<()> {
        let to = self.target(target)?;
        let before = self.read_target(&to, target.span)?;
        let before = self.save("before", &to.ty, &before)?;
        let is_shift = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
        let of = if is_shift { self.ty(value) } else { to.ty.clone() };
        let text = self.value_as(value, &of)?;
        let known = self.constant(value).and_then(|value| value.number().cloned());
        let a = expression::Operand { text: before, ty: to.ty.clone(), known: None };
        let b = expression::Operand { text, ty: of, known };
        let ty = to.ty.clone();
        let number = match op {
            BinaryOp::LogicalAnd => format!("(u8)({} && {})", a.text, b.text),
            BinaryOp::LogicalOr => format!("(u8)({} || {})", a.text, b.text),
            _ => self.compute_with(target.span, op, &ty, a, b)?,
        };
        self.store_to(&to, &number)
    }

    /// Returns the value of an expression as a C number; a compile-time value takes the C type of
    /// `ty`.
    pub(super) fn value_as(&mut self, expr: &'a Expr, ty: &Type) -> Result<String> {
        if let Some(value) = self.constant(expr) {
            return self.literal(&value, ty, expr.span);
        }
        self.value(expr)
    }

    /// Emits code that stores a C value to the location that an expression denotes.
    pub(super) fn store(&mut self, target: &'a Expr, value: &str) -> Result<()> {
        let to = self.target(target)?;
        self.store_to(&to, value)
    }

    /// Returns the lvalues that an assignment to an expression writes.
    pub(super) fn target(&mut self, target: &'a Expr) -> Result<Target> {
        let ty = self.ty(target);
        if let ExprKind::Member { base, name } = &target.kind
            && let Some(why) = self.asks_for_copies(&self.ty(base), &name.text)
        {
            return self.refused(target.span, why);
        }
        match &target.kind {
            ExprKind::DontCare => Ok(Target { choices: Vec::new(), ty, bits: None }),
            ExprKind::Slice { base, high, low } => {
                let inner = self.target(base)?;
                let known = |this: &Self, expr: &Expr| {
                    this.constant(expr)
                        .and_then(|value| value.number().and_then(num_traits::ToPrimitive::to_u32))
                };
                let (Some(high), Some(low)) = (known(self, high), known(self, low)) else {
                    return self.unsupported(target.span, "these bit numbers");
                };
                let (whole, start) = inner.bits.unwrap_or((inner.ty, 0));
                if storage::wide(&whole).is_some() {
                    return self
                        .unsupported(target.span, format!("an assignment to bits of {whole}"));
                }
                Ok(Target {
                    choices: inner.choices,
                    ty: Type::Bit(high - low + 1),
                    bits: Some((whole, start + low)),
                })
            }
            _ => Ok(Target { choices: self.choices(target)?, ty, bits: None }),
        }
    }

    /// Returns the reason why a metadata field of an architecture must be 0: other values request
    /// copies of the packet. `None` for other fields.
    fn asks_for_copies(&self, ty: &Type, field: &str) -> Option<&'static str> {
        let Type::Fields(_, named) = ty else { return None };
        match (&*named.name, field) {
            ("standard_metadata_t", "mcast_grp")
            | ("psa_ingress_output_metadata_t", "multicast_group") => {
                Some("XDP cannot send a packet to several ports; use one port")
            }
            ("psa_ingress_output_metadata_t" | "psa_egress_output_metadata_t", "clone") => {
                Some("XDP cannot send a copy of a packet; remove the clone")
            }
            ("psa_ingress_output_metadata_t", "resubmit") if self.rounds.is_none() => {
                Some("the resubmission is not recognised; write it as '.resubmit = true'")
            }
            _ => None,
        }
    }

    /// Checks that a field of a struct literal does not request copies of the packet.
    fn check_part(&self, ty: &Type, field: &str, item: &Expr) -> Result<()> {
        let Some(why) = self.asks_for_copies(ty, field) else { return Ok(()) };
        let is_none = self.constant(item).is_some_and(|value| is_zero(&value));
        let is_same = matches!(&item.kind, ExprKind::Member { base, name }
            if field_name(&name.text) == field && self.ty(base) == *ty);
        if is_none || is_same { Ok(()) } else { self.refused(item.span, why) }
    }

    /// Emits code that stores a C value to the target of an assignment.
    pub(super) fn store_to(&mut self, to: &Target, value: &str) -> Result<()> {
        let value = match to.choices.len() > 1 || to.bits.is_some() {
            true => self.save("stored", &to.ty, value)?,
            false => value.to_owned(),
        };
        for choice in &to.choices {
            let place = &choice.place;
            let stored = match &to.bits {
                None => value.clone(),
                Some((whole, low)) => {
                    let size = c_width(plain(whole).width().unwrap_or(32)).unwrap_or(128).max(32);
                    let ones = mask(to.ty.width().unwrap_or(0));
                    self.fit(
                        &format!("((u{size}){place} & ~((u{size}){ones} << {low})) | ((u{size}){value} << {low})"),
                        whole,
                    )
                }
            };
            self.put_if(choice.condition.clone(), format!("{place} = {stored};"));
            self.invalidate(choice, &to.ty);
        }
        Ok(())
    }

    /// Emits code that makes the other headers of a union invalid after an assignment to one of
    /// them. The assignment of an invalid header counts as `setInvalid()`, which makes all headers
    /// of the union invalid.
    pub(super) fn invalidate(&mut self, choice: &expression::Choice, ty: &Type) {
        if !matches!(ty, Type::Fields(FieldsKind::Header, _)) {
            return;
        }
        for sibling in &choice.siblings {
            self.put_if(choice.condition.clone(), format!("{sibling}.valid_ = 0;"));
        }
    }

    /// Emits code that copies the value at the target of an assignment to a new variable.
    pub(super) fn load_target(&mut self, name: &str, from: &Target, span: Span) -> Result<()> {
        if is_scalar(&from.ty) {
            let value = self.read_target(from, span)?;
            self.put(format!("{name} = {value};"));
            return Ok(());
        }
        let zero = self.zero(name, &from.ty);
        self.put(zero);
        for choice in &from.choices {
            self.put_if(choice.condition.clone(), format!("{name} = {};", choice.place));
        }
        Ok(())
    }

    /// Returns the number at a target as a C expression.
    fn read_target(&mut self, from: &Target, span: Span) -> Result<String> {
        let mut value = self.literal(&Value::Number(0.into()), &plain(&from.ty), span)?;
        for choice in from.choices.iter().rev() {
            let read = match &from.bits {
                None => choice.place.clone(),
                Some((whole, low)) => {
                    let shifted = self.shifted_right(&choice.place, whole, &low.to_string());
                    self.fit(&shifted, &from.ty)
                }
            };
            value = match &choice.condition {
                Some(condition) => format!("({condition} ? {read} : {value})"),
                None => read,
            };
        }
        Ok(value)
    }

    fn put_if(&mut self, condition: Option<String>, statement: String) {
        match condition {
            Some(condition) => self.put(format!("if ({condition}) {statement}")),
            None => self.put(statement),
        }
    }

    /// Emits code that assigns an expression to an lvalue of type `ty`.
    pub(super) fn assign(&mut self, place: &str, ty: &Type, value: &'a Expr) -> Result<()> {
        if is_scalar(ty) || *ty == Type::Integer {
            let number = self.value_as(value, ty)?;
            self.put(format!("{place} = {number};"));
            return Ok(());
        }
        if let (Some(_), Some(known)) = (storage::wide(ty), self.constant(value)) {
            return self.assign_value(place, ty, &known, value.span);
        }
        match &value.kind {
            ExprKind::Cast { operand, .. }
                if storage::wide(ty).is_some() && plain(&self.ty(operand)) != plain(ty) =>
            {
                return self.unsupported(value.span, format!("a cast to {ty}"));
            }
            ExprKind::List { items, .. } => {
                let members = self.members(ty);
                let mut parts = Vec::new();
                for (item, (name, of)) in items.iter().zip(&members) {
                    self.check_part(ty, name, item)?;
                    parts.push(self.part(item, of)?);
                }
                self.clear_rest(place, ty, items.len() < members.len());
                for (part, (name, _)) in parts.iter().zip(&members) {
                    self.put(format!("{place}.{name} = {part};"));
                }
                self.set_valid(place, ty);
            }
            ExprKind::Record { fields, .. } => {
                let members = self.members(ty);
                let mut parts = Vec::new();
                for (name, item) in fields {
                    let name = field_name(&name.text);
                    let Some((_, of)) = members.iter().find(|member| member.0 == name) else {
                        continue;
                    };
                    self.check_part(ty, &name, item)?;
                    parts.push((name, self.part(item, of)?));
                }
                self.clear_rest(place, ty, parts.len() < members.len());
                for (name, part) in parts {
                    self.put(format!("{place}.{name} = {part};"));
                }
                self.set_valid(place, ty);
            }
            ExprKind::Invalid => match ty {
                Type::Fields(FieldsKind::Header, _) => self.put(format!("{place}.valid_ = 0;")),
                _ => {
                    let zero = self.zero(place, ty);
                    self.put(zero);
                }
            },
            ExprKind::Default => {
                let zero = self.zero(place, ty);
                self.put(zero);
            }
            ExprKind::Cast { operand, .. } => self.assign(place, ty, operand)?,
            ExprKind::Conditional { condition, yes, no } => {
                let condition = self.value(condition)?;
                self.put(format!("if ({condition}) {{"));
                self.assign(place, ty, yes)?;
                self.put("} else {");
                self.assign(place, ty, no)?;
                self.put("}");
            }
            ExprKind::Call { function, args, .. } => match self.call(value, function, args)? {
                Some(result) => self.put(format!("{place} = {result};")),
                None => {
                    return self
                        .unsupported(value.span, "a call without a result, in an expression,");
                }
            },
            ExprKind::Name { .. } | ExprKind::Member { .. } | ExprKind::Index { .. }
                if !self.has_place(value)
                    && (matches!(value.kind, ExprKind::Name { .. })
                        || self.constant(value).is_some()) =>
            {
                let Some(known) = self.constant(value) else {
                    return self.unsupported(value.span, "this name as a value");
                };
                self.assign_value(place, ty, &known, value.span)?;
            }
            ExprKind::Name { .. } | ExprKind::Member { .. } | ExprKind::Index { .. } => {
                let from = self.place(value)?;
                if from != place {
                    self.put(format!("{place} = {from};"));
                }
            }
            _ => return self.unsupported(value.span, format!("this expression of type {ty}")),
        }
        Ok(())
    }

    /// Returns an element of a literal as a C expression: a constant, or a new variable, which side
    /// effects of later elements cannot change.
    fn part(&mut self, item: &'a Expr, ty: &Type) -> Result<String> {
        if is_scalar(ty) {
            let number = self.value_as(item, ty)?;
            if self.constant(item).is_some() {
                return Ok(number);
            }
            return self.save("part", ty, &number);
        }
        let name = self.uninitialised("part", ty)?;
        self.assign(&name, ty, item)?;
        Ok(name)
    }

    fn clear_rest(&mut self, place: &str, ty: &Type, missing: bool) {
        if missing {
            let zero = self.zero(place, ty);
            self.put(zero);
        }
    }

    fn set_valid(&mut self, place: &str, ty: &Type) {
        if let Type::Fields(FieldsKind::Header, _) = ty {
            self.put(format!("{place}.valid_ = 1;"));
        }
    }

    /// Emits code that assigns a compile-time value to an lvalue.
    pub(super) fn assign_value(
        &mut self,
        place: &str,
        ty: &Type,
        value: &Value,
        span: Span,
    ) -> Result<()> {
        if is_scalar(ty) {
            let number = self.literal(value, ty, span)?;
            self.put(format!("{place} = {number};"));
            return Ok(());
        }
        if let (Some(width), Value::Number(number)) = (storage::wide(ty), value) {
            let zero = self.zero(place, ty);
            self.put(zero);
            let number = crate::check::wrap(number, &Type::Bit(width));
            for (at, byte) in number.to_bytes_le().1.into_iter().enumerate() {
                let at = width as usize / 8 - 1 - at;
                if byte != 0 {
                    self.put(format!("{place}.bytes[{at}] = {byte};"));
                }
            }
            return Ok(());
        }
        match value {
            Value::List(values) => {
                for (value, (name, of)) in values.iter().zip(self.members(ty)) {
                    if let Some(why) = self.asks_for_copies(ty, &name).filter(|_| !is_zero(value)) {
                        return self.refused(span, why);
                    }
                    self.assign_value(&format!("{place}.{name}"), &of, value, span)?;
                }
                self.set_valid(place, ty);
                Ok(())
            }
            Value::Invalid => {
                let zero = self.zero(place, ty);
                self.put(zero);
                Ok(())
            }
            _ => self.unsupported(span, "this constant"),
        }
    }

    /// Emits the block of a `switch` case. Returns an error if the block moves `next` of a header
    /// stack.
    fn case(&mut self, body: &'a Block) -> Result<()> {
        let before = self.next.clone();
        self.block(body)?;
        match self.next == before {
            true => Ok(()),
            false => self.unsupported(body.span, "a branch that moves on in a stack"),
        }
    }

    fn switch(&mut self, value: &'a Expr, cases: &'a [SwitchCase]) -> Result<()> {
        let ty = self.ty(value);
        let (number, labels) = match ty {
            Type::ActionRun(table) => {
                let ExprKind::Member { base, .. } = &value.kind else {
                    return self.unsupported(value.span, "this switch");
                };
                let applied = self.apply_table(base)?;
                let actions = self.table_actions(table);
                let labels = cases
                    .iter()
                    .map(|case| {
                        let id = self.checked.uses.get(&case.label.id);
                        id.and_then(|id| actions.iter().position(|one| one == id))
                            .map(|at| format!("{}U", at + 1))
                    })
                    .collect::<Vec<_>>();
                (applied.action, labels)
            }
            _ => {
                let number = self.value(value)?;
                let mut labels = Vec::new();
                for case in cases {
                    labels.push(match self.constant(&case.label) {
                        Some(known) if !matches!(case.label.kind, ExprKind::Default) => {
                            Some(self.literal(&known, &ty, case.span)?)
                        }
                        _ => None,
                    });
                }
                (number, labels)
            }
        };
        // A case without a block falls through to the next one that has one.
        let number =
            self.save("selected", &if is_scalar(&ty) { ty } else { Type::Bit(32) }, &number)?;
        let mut waiting: Vec<Option<String>> = Vec::new();
        let (mut first, mut default) = (true, None);
        for (case, label) in cases.iter().zip(labels) {
            waiting.push(label);
            let Some(body) = &case.body else { continue };
            let conditions: Vec<String> =
                waiting.iter().flatten().map(|label| format!("{number} == {label}")).collect();
            let is_default = waiting.iter().any(Option::is_none);
            waiting.clear();
            if is_default {
                default = Some(body);
                continue;
            }
            let start = if first { "if" } else { "} else if" };
            first = false;
            self.put(format!("{start} ({}) {{", conditions.join(" || ")));
            self.case(body)?;
        }
        match (default, first) {
            (Some(body), true) => self.case(body)?,
            (Some(body), false) => {
                self.put("} else {");
                self.case(body)?;
                self.put("}");
            }
            (None, false) => self.put("}"),
            (None, true) => {}
        }
        Ok(())
    }
}
