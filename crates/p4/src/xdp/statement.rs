//! Statements, assignments and copies.

use super::storage::{c_width, is_scalar, mask, plain};
use super::*;

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
            StmtKind::Assign { target, op: Some(_), .. } => {
                return self.unsupported(target.span, "an assignment with an operator");
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
                self.statement(yes)?;
                if let Some(no) = no {
                    self.put("} else {");
                    self.statement(no)?;
                }
                self.put("}");
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
            StmtKind::For { .. } | StmtKind::ForIn { .. } => {
                return self.unsupported(span, "a loop of a control");
            }
        }
        Ok(())
    }

    /// Declares a variable or constant of a body.
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

    /// Assigns to an expression of the program.
    fn assign_to(&mut self, target: &'a Expr, value: &'a Expr) -> Result<()> {
        let ty = self.ty(target);
        if is_scalar(&ty) {
            let number = self.value_as(value, &ty)?;
            return self.store(target, &number);
        }
        let choices = self.choices(target)?;
        if let [only] = &choices[..]
            && only.condition.is_none()
        {
            let place = only.place.clone();
            return self.assign(&place, &ty, value);
        }
        let place = self.place_as(value, &ty)?;
        for choice in choices {
            let condition = choice.condition.unwrap_or_else(|| "1".to_owned());
            self.put(format!("if ({condition}) {} = {place};", choice.place));
        }
        Ok(())
    }

    /// Returns a number of another expression in the C type of a type.
    pub(super) fn value_as(&mut self, expr: &'a Expr, ty: &Type) -> Result<String> {
        if let Some(value) = self.constant(expr) {
            return self.literal(&value, ty, expr.span);
        }
        self.value(expr)
    }

    /// Stores a number where an expression of the program tells.
    pub(super) fn store(&mut self, target: &'a Expr, number: &str) -> Result<()> {
        match &target.kind {
            ExprKind::Slice { base, high, low } => {
                let base_type = self.ty(base);
                let known = |this: &Self, expr: &Expr| {
                    this.constant(expr)
                        .and_then(|value| value.number().and_then(num_traits::ToPrimitive::to_u32))
                };
                let (Some(high), Some(low)) = (known(self, high), known(self, low)) else {
                    return self.unsupported(target.span, "these bit numbers");
                };
                let size = c_width(plain(&base_type).width().unwrap_or(32)).unwrap_or(128).max(32);
                let ones = mask(high - low + 1);
                let number = self.save("bits", &Type::Bit(high - low + 1), number)?;
                for choice in self.choices_of_target(base)? {
                    let place = choice.place;
                    let value = self.fit(
                        &format!("((u{size}){place} & ~((u{size}){ones} << {low})) | ((u{size}){number} << {low})"),
                        &base_type,
                    );
                    self.put_if(choice.condition, format!("{place} = {value};"));
                }
                Ok(())
            }
            ExprKind::DontCare => Ok(()),
            _ => {
                let choices = self.choices(target)?;
                let number = if choices.len() > 1 {
                    let ty = self.ty(target);
                    self.save("stored", &ty, number)?
                } else {
                    number.to_owned()
                };
                for choice in choices {
                    self.put_if(choice.condition, format!("{} = {number};", choice.place));
                }
                Ok(())
            }
        }
    }

    fn choices_of_target(&mut self, base: &'a Expr) -> Result<Vec<expression::Choice>> {
        if let ExprKind::Slice { .. } = base.kind {
            return self.unsupported(base.span, "an assignment to bits of bits");
        }
        self.choices(base)
    }

    fn put_if(&mut self, condition: Option<String>, statement: String) {
        match condition {
            Some(condition) => self.put(format!("if ({condition}) {statement}")),
            None => self.put(statement),
        }
    }

    /// Assigns a value to a place of a type.
    pub(super) fn assign(&mut self, place: &str, ty: &Type, value: &'a Expr) -> Result<()> {
        if is_scalar(ty) || *ty == Type::Integer {
            let number = self.value_as(value, ty)?;
            self.put(format!("{place} = {number};"));
            return Ok(());
        }
        match &value.kind {
            ExprKind::List { items, .. } => {
                let members = self.members(ty);
                let mut parts = Vec::new();
                for (item, (_, of)) in items.iter().zip(&members) {
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

    /// Returns a part of a literal: a number in a variable, so that later parts cannot change it.
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

    /// Assigns a known value to a place.
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
        match value {
            Value::List(values) => {
                for (value, (name, of)) in values.iter().zip(self.members(ty)) {
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
            self.block(body)?;
        }
        match (default, first) {
            (Some(body), true) => self.block(body)?,
            (Some(body), false) => {
                self.put("} else {");
                self.block(body)?;
                self.put("}");
            }
            (None, false) => self.put("}"),
            (None, true) => {}
        }
        Ok(())
    }
}
