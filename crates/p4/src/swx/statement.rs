//! Translates statements and assignments.

use super::expression::{Choice, Side};
use super::number::Words;
use super::place::{Memory, Place, is_number, width};
use super::table::Applied;
use super::*;

/// Target of an assignment.
pub(super) struct Target {
    /// Possible locations with their conditions; empty for `_`.
    pub choices: Vec<Choice>,
    /// Type of the assigned values.
    pub ty: Type,
}

impl Target {
    /// Returns the location if only one is possible.
    pub(super) fn only(&self) -> Option<&Place> {
        match &self.choices[..] {
            [only] if only.when.is_empty() => Some(&only.place),
            _ => None,
        }
    }

    /// Creates a target with the single location `place`.
    pub(super) fn to(place: Place, ty: Type) -> Target {
        Target { choices: vec![Choice::only(place)], ty }
    }

    /// Returns the location if an `out` parameter may share it: only one is possible, and it is not
    /// in a header union.
    pub(super) fn only_place(&self) -> Option<Place> {
        match &self.choices[..] {
            [only] if only.when.is_empty() && only.siblings.is_empty() => Some(only.place.clone()),
            _ => None,
        }
    }
}

impl<'a> Generator<'a> {
    pub(super) fn block(&mut self, block: &'a Block) -> Result<()> {
        self.scoped(|this| this.statements(&block.statements))
    }

    pub(super) fn statements(&mut self, statements: &'a [Stmt]) -> Result<()> {
        statements.iter().try_for_each(|one| self.statement(one))
    }

    fn statement(&mut self, statement: &'a Stmt) -> Result<()> {
        let around = std::mem::replace(&mut self.here, statement.span);
        match &statement.kind {
            StmtKind::Declare(decl) => self.declare(decl)?,
            _ => self.scoped(|this| this.statement_parts(statement))?,
        }
        self.here = around;
        Ok(())
    }

    fn statement_parts(&mut self, statement: &'a Stmt) -> Result<()> {
        let span = statement.span;
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
                self.branch(condition, yes, no.as_deref(), span)?
            }
            StmtKind::Switch { value, cases } => self.switch(value, cases)?,
            StmtKind::Return(value) => {
                let Some(frame) = self.frames.last() else {
                    return self.unsupported(span, "return here");
                };
                let (end, result) = (frame.end.clone(), frame.result.clone());
                if let (Some(value), Some(result)) = (value, result) {
                    let ty = self.ty(value);
                    let ty = if ty == Type::Integer { Type::Bit(32) } else { ty };
                    self.assign(&result, &ty, value)?;
                }
                self.jump(&end);
            }
            StmtKind::Exit => self.exit(span)?,
            StmtKind::Break | StmtKind::Continue => {
                let Some((end, next)) = self.loops.last().cloned() else {
                    return self.unsupported(span, "this jump");
                };
                let is_break = matches!(statement.kind, StmtKind::Break);
                self.jump(if is_break { &end } else { &next });
            }
            StmtKind::Declare(decl) => self.declare(decl)?,
            StmtKind::For { start, condition, updates, body } => {
                self.statements(start)?;
                self.looped(span, |this, labels| {
                    this.scoped(|this| this.jump_if(condition, false, &labels.0))?;
                    this.statement(body)?;
                    this.mark(&labels.1);
                    this.statements(updates)
                })?;
            }
            StmtKind::ForIn { declared, variable, range, body } => {
                self.for_in(span, declared.as_ref(), variable, range, body)?
            }
        }
        Ok(())
    }

    fn branch(
        &mut self,
        condition: &'a Expr,
        yes: &'a Stmt,
        no: Option<&'a Stmt>,
        span: Span,
    ) -> Result<()> {
        if let Some(Value::Bool(known)) = self.constant(condition) {
            return match (known, no) {
                (true, _) => self.statement(yes),
                (false, Some(no)) => self.statement(no),
                (false, None) => Ok(()),
            };
        }
        let (other, end) = (self.label("else"), self.label("end_if"));
        self.scoped(|this| this.jump_if(condition, false, &other))?;
        let (next, known) = (self.next.clone(), self.known.clone());
        self.know(condition, true);
        self.statement(yes)?;
        let after = std::mem::replace(&mut self.next, next);
        self.known.clone_from(&known);
        if let Some(no) = no {
            self.jump(&end);
            self.mark(&other);
            self.know(condition, false);
            self.statement(no)?;
            self.known = known;
        } else {
            self.mark(&other);
        }
        self.mark(&end);
        if self.next != after {
            return self.unsupported(span, "a branch that moves on in a stack");
        }
        Ok(())
    }

    /// Emits `exit`: copies `out` parameters to their arguments, and ends the current parser or
    /// control of the architecture.
    pub(super) fn exit(&mut self, span: Span) -> Result<()> {
        let copies: Vec<Instruction> =
            self.frames.iter().rev().flat_map(|frame| frame.copy_out.clone()).collect();
        self.put_copy(&copies);
        if self.in_action {
            self.exits = true;
            if self.names.insert(pipeline::EXITED.to_owned()) {
                self.fields.push((pipeline::EXITED.to_owned(), 8));
            }
            self.cleared.insert(pipeline::EXITED.to_owned());
            self.copy(FieldRef::Meta(pipeline::EXITED.to_owned()), Operand::Immediate(1));
            self.put(Op::Return);
            return Ok(());
        }
        let Some(label) = self.exit.clone() else {
            return self.unsupported(span, "exit here");
        };
        self.jump(&label);
        Ok(())
    }

    /// Emits a loop without a condition. `emit` emits its body and gets two labels: the end of the
    /// loop, and its next iteration.
    fn looped(
        &mut self,
        span: Span,
        emit: impl FnOnce(&mut Self, &(String, String)) -> Result<()>,
    ) -> Result<()> {
        let (labels, again) = ((self.label("end_for"), self.label("next")), self.label("for"));
        self.mark(&again);
        let (next, emits, known) = (self.next.clone(), self.emitted.len(), self.known.clone());
        self.loops.push(labels.clone());
        let done = emit(self, &labels);
        self.loops.pop();
        done?;
        if self.next != next || self.emitted.len() != emits {
            return self.unsupported(span, "a loop that extracts into a stack, or emits,");
        }
        self.known = known;
        self.jump(&again);
        self.mark(&labels.0);
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
        if !expression::is_word(&ty) || place::is_signed(&ty) {
            return self.unsupported(span, format!("a loop over values of {ty}"));
        }
        let bits = width(&ty).unwrap_or(32);
        let (low, high) = (self.value_as(low, &ty)?, self.value_as(high, &ty)?);
        let count = self.saved(low.low(), bits);
        let last = Operand::Field(self.saved(high.low(), bits));
        let counted = Operand::Field(count.clone());
        if let Some(decl) = declared {
            let place = self.new_place(&decl.name.text, &ty, Memory::Temporary)?;
            self.bindings.insert(decl.id, Binding::Place(place));
        }
        let none = self.label("no_round");
        self.jump_compared(Relation::Gt, &counted, &last, &none);
        self.looped(span, |this, labels| {
            let value = Words::one(counted.clone(), bits);
            match declared.and_then(|decl| this.bindings.get(&decl.id).cloned()) {
                Some(Binding::Place(Place::Number(number))) => this.put_number(&number, &value),
                _ => {
                    let target = this.target(variable)?;
                    this.store_words(&target, &value)?;
                }
            }
            this.statement(body)?;
            this.mark(&labels.1);
            // The loop ends before an increment of the last value, which could overflow.
            this.jump_compared(Relation::Eq, &counted, &last, &labels.0);
            this.alu(Alu::Add, &count, Operand::Immediate(1));
            Ok(())
        })?;
        self.mark(&none);
        Ok(())
    }

    /// Declares a local variable or constant.
    pub(super) fn declare(&mut self, decl: &'a Decl) -> Result<()> {
        self.here = decl.span;
        self.nodes.insert(decl.id, decl);
        match &*decl.kind {
            DeclKind::Variable { value, .. } => {
                let ty = self.declared(decl.id);
                let place = self.new_place(&decl.name.text, &ty, Memory::Temporary)?;
                match value {
                    Some(value) => self.scoped(|this| this.assign(&place, &ty, value))?,
                    None => self.clear(&place),
                }
                self.bindings.insert(decl.id, Binding::Place(place));
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
        if self.copies(target) {
            // The value 0 requests neither a multicast group nor a copy.
            match self.constant(value) {
                Some(Value::Number(number)) if number == num_bigint::BigInt::ZERO => return Ok(()),
                Some(Value::Bool(false)) => return Ok(()),
                _ => {}
            }
        }
        let to = self.target(target)?;
        if is_number(&to.ty) {
            let number = self.value_as(value, &to.ty)?;
            return self.store_words(&to, &number);
        }
        if let [only] = &to.choices[..]
            && only.when.is_empty()
        {
            self.assign(&only.place, &to.ty, value)?;
            self.invalidate_siblings(only);
            return Ok(());
        }
        let place = self.place_as(value, &to.ty)?;
        self.store_place(&to, &place)
    }

    /// Emits an assignment with an operator, such as `+=`.
    fn assign_with(&mut self, target: &'a Expr, op: BinaryOp, value: &'a Expr) -> Result<()> {
        let to = self.target(target)?;
        let before = self.load_target(&to, target.span)?;
        let is_shift = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
        let of = if is_shift { self.ty(value) } else { to.ty.clone() };
        let words = self.value_as(value, &of)?;
        let a = Side { words: before };
        let b = Side { words };
        let op = match op {
            BinaryOp::LogicalAnd => BinaryOp::And,
            BinaryOp::LogicalOr => BinaryOp::Or,
            op => op,
        };
        let ty = to.ty.clone();
        let number = self.compute(target.span, op, &ty, a, b)?;
        self.store_words(&to, &number)
    }

    /// Returns the locations that an assignment to an expression writes.
    pub(super) fn target(&mut self, target: &'a Expr) -> Result<Target> {
        let ty = self.ty(target);
        if self.copies(target) {
            return self.unsupported(target.span, "a copy of the packet, or one to several ports,");
        }
        match &target.kind {
            ExprKind::DontCare => Ok(Target { choices: Vec::new(), ty }),
            ExprKind::Slice { base, high, low } => {
                let inner = self.target(base)?;
                let (Some(high), Some(low)) = (self.known_number(high), self.known_number(low))
                else {
                    return self.unsupported(target.span, "these bit numbers");
                };
                let mut choices = Vec::new();
                for one in inner.choices {
                    let Place::Number(number) = &one.place else {
                        return self.unsupported(target.span, "these bits");
                    };
                    let place = Place::Number(number.slice(low, high - low + 1));
                    choices.push(Choice { place, ..one });
                }
                Ok(Target { choices, ty: Type::Bit(high - low + 1) })
            }
            _ => Ok(Target { choices: self.choices(target)?, ty }),
        }
    }

    /// Returns true if the program requests copies of the packet by assigning a value other than 0
    /// to the expression.
    fn copies(&self, target: &Expr) -> bool {
        let ExprKind::Member { base, name } = &target.kind else { return false };
        self.asks_for_copies(&self.ty(base), &name.text)
    }

    /// Returns true if a value other than 0 in a metadata field requests copies of the packet, or a
    /// resubmission where the translation has found none.
    fn asks_for_copies(&self, ty: &Type, field: &str) -> bool {
        let Type::Fields(_, named) = ty else { return false };
        match (&*named.name, field) {
            ("standard_metadata_t", "mcast_grp")
            | ("psa_ingress_output_metadata_t", "multicast_group" | "clone")
            | ("psa_egress_output_metadata_t", "clone") => true,
            ("psa_ingress_output_metadata_t", "resubmit") => !self.passes.resubmits,
            _ => false,
        }
    }

    /// Checks that a field of a struct literal does not request copies of the packet, which SWX
    /// cannot make.
    fn check_part(&self, ty: &Type, field: &str, item: &Expr) -> Result<()> {
        let is_zero = match self.constant(item) {
            Some(Value::Number(number)) => number == num_bigint::BigInt::ZERO,
            Some(Value::Bool(value)) => !value,
            _ => false,
        };
        match self.asks_for_copies(ty, field) && !is_zero {
            true => self.unsupported(item.span, "a copy of the packet, or one to several ports,"),
            false => Ok(()),
        }
    }

    /// Emits code that stores a number to the target of an assignment.
    pub(super) fn store_words(&mut self, to: &Target, value: &Words) -> Result<()> {
        let value = if to.choices.len() > 1 { self.save(value) } else { value.clone() };
        for choice in &to.choices {
            let Place::Number(number) = &choice.place else {
                return self.unsupported(Span::default(), "this assignment");
            };
            let next = self.label("next");
            self.jump_unless(&choice.when, &next);
            self.put_number(number, &value);
            self.mark(&next);
        }
        Ok(())
    }

    /// Emits code that copies a value from a location to the target of an assignment.
    pub(super) fn store_place(&mut self, to: &Target, from: &Place) -> Result<()> {
        for choice in &to.choices {
            let next = self.label("next");
            self.jump_unless(&choice.when, &next);
            self.copy_place(&choice.place, from, Span::default())?;
            self.invalidate_siblings(choice);
            self.mark(&next);
        }
        Ok(())
    }

    /// Emits code that makes the other headers of a union invalid if the assigned header is valid.
    pub(super) fn invalidate_siblings(&mut self, choice: &Choice) {
        if let (Place::Header(header), false) = (&choice.place, choice.siblings.is_empty()) {
            let end = self.label("union");
            self.jump_on(Condition::Invalid(header.name.clone()), &end);
            choice.siblings.iter().for_each(|name| self.invalidate(name));
            self.mark(&end);
        }
    }

    /// Emits a load of the number at a target into temporary fields.
    pub(super) fn load_target(&mut self, from: &Target, span: Span) -> Result<Words> {
        let place = self.new_place("before", &from.ty, Memory::Temporary)?;
        self.choose(&place, &from.choices, span)?;
        self.read_place(&place, span)
    }

    /// Emits code that assigns an expression to a location of type `ty`.
    pub(super) fn assign(&mut self, place: &Place, ty: &Type, value: &'a Expr) -> Result<()> {
        if let Place::Number(number) = place {
            let words = self.value_as(value, ty)?;
            let words = match words.width == number.width() {
                true => words,
                false => self.resized(&words, number.width(), false),
            };
            self.put_number(number, &words);
            return Ok(());
        }
        match &value.kind {
            ExprKind::List { items, .. } => {
                let members = self.members(ty);
                let mut parts = Vec::new();
                for (item, (name, of)) in items.iter().zip(&members) {
                    self.check_part(ty, name, item)?;
                    parts.push((name.clone(), self.part(item, of)?));
                }
                self.put_parts(place, ty, parts, members.len(), value.span)?;
            }
            ExprKind::Record { fields, .. } => {
                let members = self.members(ty);
                let mut parts = Vec::new();
                for (name, item) in fields {
                    let Some((name, of)) = members.iter().find(|member| member.0 == name.text)
                    else {
                        continue;
                    };
                    self.check_part(ty, name, item)?;
                    parts.push((name.clone(), self.part(item, of)?));
                }
                self.put_parts(place, ty, parts, members.len(), value.span)?;
            }
            ExprKind::Invalid | ExprKind::Default => self.clear(place),
            ExprKind::Cast { operand, .. } => self.assign(place, ty, operand)?,
            ExprKind::Conditional { condition, yes, no } => {
                let (other, end) = (self.label("else"), self.label("chosen"));
                self.jump_if(condition, false, &other)?;
                self.assign(place, ty, yes)?;
                self.jump(&end);
                self.mark(&other);
                self.assign(place, ty, no)?;
                self.mark(&end);
            }
            ExprKind::Call { function, args, .. } => match self.call(value, function, args)? {
                Some(result) => self.copy_place(place, &result, value.span)?,
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
                let choices = self.choices(value)?;
                match &choices[..] {
                    [only] if only.when.is_empty() => {
                        self.copy_place(place, &only.place, value.span)?;
                    }
                    _ => self.choose(place, &choices, value.span)?,
                }
            }
            _ => return self.unsupported(value.span, format!("this expression of type {ty}")),
        }
        Ok(())
    }

    /// Emits code that stores an element of a literal in a temporary location, so that side effects
    /// of later elements cannot change it.
    fn part(&mut self, item: &'a Expr, ty: &Type) -> Result<Part> {
        if is_number(ty) {
            let words = self.value_as(item, ty)?;
            return Ok(Part::Words(self.save(&words)));
        }
        let place = self.new_place("part", ty, Memory::Temporary)?;
        self.assign(&place, ty, item)?;
        Ok(Part::Place(place))
    }

    /// Emits code that assigns the elements of a literal to the members of a location.
    fn put_parts(
        &mut self,
        place: &Place,
        ty: &Type,
        parts: Vec<(Rc<str>, Part)>,
        members: usize,
        span: Span,
    ) -> Result<()> {
        let known = self.known.clone();
        if let Place::Header(header) = place {
            self.validate(header)?;
            self.known.insert(header.name.clone());
        }
        for (name, of) in self.members(ty) {
            let Some(to) = place.member(&name) else { continue };
            let part = parts.iter().find(|part| part.0 == name).map(|part| &part.1);
            match (part, &to) {
                (Some(Part::Words(words)), Place::Number(number)) => {
                    self.put_number(number, words);
                }
                (Some(Part::Place(from)), _) => self.copy_place(&to, from, span)?,
                _ if parts.len() < members => self.clear(&to),
                _ => return self.unsupported(span, format!("this value of {of}")),
            }
        }
        self.known = known;
        Ok(())
    }

    /// Emits code that assigns a compile-time value to a location.
    pub(super) fn assign_value(
        &mut self,
        place: &Place,
        ty: &Type,
        value: &Value,
        span: Span,
    ) -> Result<()> {
        match (place, value) {
            (Place::Number(number), _) => {
                let words = self.literal(value, ty, span)?;
                let words = self.resized(&words, number.width(), false);
                self.put_number(number, &words);
            }
            (_, Value::List(values)) => {
                let known = self.known.clone();
                if let Place::Header(header) = place {
                    self.validate(header)?;
                    self.known.insert(header.name.clone());
                }
                for (value, (name, of)) in values.iter().zip(self.members(ty)) {
                    if let Some(member) = place.member(&name) {
                        self.assign_value(&member, &of, value, span)?;
                    }
                }
                self.known = known;
            }
            (_, Value::Invalid) => self.clear(place),
            _ => return self.unsupported(span, "this constant"),
        }
        Ok(())
    }

    /// Emits the block of a `switch` case. Returns an error if the block moves `next` of a header
    /// stack.
    fn case(&mut self, body: &'a Block) -> Result<()> {
        let (before, known) = (self.next.clone(), self.known.clone());
        self.block(body)?;
        self.known = known;
        match self.next == before {
            true => Ok(()),
            false => self.unsupported(body.span, "a branch that moves on in a stack"),
        }
    }

    fn switch(&mut self, value: &'a Expr, cases: &'a [SwitchCase]) -> Result<()> {
        let ty = self.ty(value);
        let end = self.label("end_switch");
        // Each case gets a label. A case without a block shares the label of the next case with a
        // block.
        let mut labels: Vec<String> = Vec::new();
        for case in cases.iter().rev() {
            let label = match (&case.body, labels.last()) {
                (None, Some(next)) => next.clone(),
                (None, None) => end.clone(),
                _ => self.label("case"),
            };
            labels.push(label);
        }
        labels.reverse();
        let default = cases
            .iter()
            .position(|case| matches!(case.label.kind, ExprKind::Default))
            .map_or(end.clone(), |at| labels[at].clone());
        match ty {
            Type::ActionRun(table) => {
                let ExprKind::Member { base, .. } = &value.kind else {
                    return self.unsupported(value.span, "this switch");
                };
                let applied = self.apply_table(base)?;
                let actions = self.table_actions(table);
                for (case, label) in cases.iter().zip(&labels) {
                    let id = self.checked.uses.get(&case.label.id).copied();
                    let Some(at) = id.and_then(|id| actions.iter().position(|one| *one == id))
                    else {
                        continue;
                    };
                    match &applied {
                        Applied::Table => {
                            let Some(name) = self.action_name(table, at) else {
                                return self.unsupported(case.span, "this action");
                            };
                            self.jump_on(Condition::Action(name), label);
                        }
                        Applied::Inline { action, .. } => {
                            let action = Operand::Field(action.clone());
                            let number = Operand::Immediate(at as u64 + 1);
                            self.jump_compared(Relation::Eq, &action, &number, label);
                        }
                    }
                }
            }
            _ => {
                let words = self.value(value)?;
                for (case, label) in cases.iter().zip(&labels) {
                    if matches!(case.label.kind, ExprKind::Default) {
                        continue;
                    }
                    let wanted = self.value_as(&case.label, &ty)?;
                    self.jump_equal(&words, &wanted, true, label);
                }
            }
        }
        self.jump(&default);
        for (case, label) in cases.iter().zip(&labels) {
            let Some(body) = &case.body else { continue };
            self.mark(label);
            self.case(body)?;
            self.jump(&end);
        }
        self.mark(&end);
        Ok(())
    }
}

/// Value of an element of a literal.
enum Part {
    /// A number.
    Words(Words),
    /// A value of another kind.
    Place(Place),
}
