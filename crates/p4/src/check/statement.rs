//! Checks statements and parser states (sections 12 and 13 of the specification).

use std::rc::Rc;

use super::*;

impl<'a> Checker<'a> {
    /// Checks the statements of a block in a new scope.
    pub(super) fn block(&mut self, block: &'a Block) {
        self.scoped(|this| this.statements(&block.statements));
    }

    fn statements(&mut self, statements: &'a [Stmt]) {
        for statement in statements {
            self.statement(statement);
            if self.errors.len() >= MOST_ERRORS {
                break;
            }
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Empty => {}
            StmtKind::Assign { target, op, value } => self.assignment(span, target, *op, value),
            StmtKind::Call(call) => {
                let ty = self.expression(call);
                if let Some(Call { callee: Callee::Constructor(..), .. }) = self.out.calls.get(&call.id) {
                    self.type_fault(call.span, format!("{ty} is made and never used; declare an instance"));
                }
            }
            StmtKind::If { condition, yes, no } => {
                self.expect(condition, &Type::Bool);
                self.scoped(|this| this.statement(yes));
                if let Some(no) = no {
                    self.scoped(|this| this.statement(no));
                }
            }
            StmtKind::Switch { value, cases } => self.switch(span, value, cases),
            StmtKind::Block(block) => {
                self.annotations(&block.annotations);
                self.block(block);
            }
            StmtKind::Return(value) => self.return_value(span, value.as_ref()),
            StmtKind::Exit => {
                if matches!(self.place, Place::Parser | Place::Function) {
                    self.type_fault(span, "exit stands in controls and actions only");
                }
            }
            StmtKind::Break | StmtKind::Continue => {
                if self.loops == 0 {
                    self.type_fault(span, "break and continue stand in loops only");
                }
            }
            StmtKind::Declare(decl) => {
                if matches!(*decl.kind, DeclKind::Instance { .. }) {
                    self.type_fault(decl.span, "an instance cannot stand between statements; move it before apply, or before the states");
                    return;
                }
                self.declaration(decl);
            }
            StmtKind::For { start, condition, updates, body } => self.scoped(|this| {
                this.statements(start);
                this.expect(condition, &Type::Bool);
                this.loops += 1;
                this.scoped(|this| this.statement(body));
                this.loops -= 1;
                this.statements(updates);
            }),
            StmtKind::ForIn { declared, variable, range, body } => self.scoped(|this| {
                if let Some(decl) = declared {
                    this.declaration(decl);
                }
                let wanted = this.expression(variable);
                let found = this.expression(range);
                let element = match &found {
                    Type::Set(of) => (**of).clone(),
                    Type::Stack(of, _) | Type::List(of) => (**of).clone(),
                    Type::ListLiteral(types, _) => types.first().cloned().unwrap_or(wanted.clone()),
                    Type::Unknown => Type::Unknown,
                    other => this.type_fault(range.span, format!("{other} is not a range, list or stack")),
                };
                if element == Type::Integer {
                    this.set_type(range, &Type::Set(Rc::new(wanted.clone())));
                }
                if !this.fits(&wanted, &element) {
                    this.type_fault(variable.span, format!("the loop has values of type {element}, and the variable has type {wanted}"));
                }
                this.loops += 1;
                this.scoped(|this| this.statement(body));
                this.loops -= 1;
            }),
        }
    }

    fn assignment(&mut self, span: Span, target: &'a Expr, op: Option<BinaryOp>, value: &'a Expr) {
        let wanted = self.expression(target);
        if wanted != Type::Unknown {
            if !self.is_writable(target) {
                let advice = self.direction_advice(target);
                let what = "this cannot be assigned to; only variables, fields, and out and inout parameters can";
                self.type_fault(target.span, format!("{what}{advice}"));
            } else if matches!(wanted, Type::Extern(_)) {
                self.type_fault(
                    target.span,
                    format!("a value of type {wanted} cannot be assigned"),
                );
            }
        }
        match op {
            Some(BinaryOp::ShiftLeft | BinaryOp::ShiftRight) => {
                let ty = self.expression(value);
                if !ty.is_number() {
                    self.type_fault(value.span, format!("a shift cannot be of type {ty}"));
                }
            }
            Some(op @ (BinaryOp::Divide | BinaryOp::Modulo)) if wanted.width().is_some() => {
                self.expect(value, &wanted);
                self.division(span, op, &wanted, None, value);
            }
            Some(_) if !wanted.is_number() && !matches!(wanted, Type::Bool) => {
                self.type_fault(span, format!("the operator is not defined for {wanted}"));
            }
            _ => {
                let found = self.expression(value);
                let found = self.must_be_value(value, found);
                if found != Type::Unknown && wanted != Type::Unknown {
                    self.convert(value, &wanted);
                }
            }
        }
    }

    fn return_value(&mut self, span: Span, value: Option<&'a Expr>) {
        let wanted = self.result.clone();
        match (wanted, value) {
            (None, _) => {
                self.type_fault(span, "return stands in functions, actions and controls only");
            }
            (Some(_), _) if self.place == Place::Parser => {
                self.type_fault(span, "return stands in functions, actions and controls only");
            }
            (Some(Type::Void), Some(value)) => {
                self.expression(value);
                self.type_fault(value.span, "no value can be returned here");
            }
            (Some(Type::Void | Type::Unknown), None) => {}
            (Some(ty), None) => {
                self.type_fault(span, format!("a value of type {ty} must be returned"));
            }
            (Some(ty), Some(value)) => {
                self.expect(value, &ty);
            }
        }
    }

    fn switch(&mut self, span: Span, value: &'a Expr, cases: &'a [SwitchCase]) {
        let ty = self.expression(value);
        if self.place == Place::Parser {
            self.type_fault(span, "switch stands in controls and actions only; use select");
        }
        let actions = match ty {
            Type::ActionRun(table) => Some(self.table_actions(table)),
            _ => None,
        };
        let numbers = !matches!(ty, Type::ActionRun(_));
        let is_switchable = ty.is_scalar()
            || matches!(ty, Type::ActionRun(_))
            || ty == Type::Integer && self.out.constants.contains_key(&value.id);
        if !is_switchable {
            self.type_fault(value.span, format!("switch is not defined for {ty}"));
            return;
        }
        let mut seen: Vec<Value> = Vec::new();
        let mut names: Vec<Rc<str>> = Vec::new();
        let mut has_default = false;
        for case in cases {
            if has_default {
                self.type_fault(case.span, "no label can stand after default");
                has_default = false;
            }
            match (&case.label.kind, &actions) {
                (ExprKind::Default, _) => {
                    has_default = true;
                }
                (ExprKind::Name { name, .. }, Some(actions)) => {
                    match actions.iter().find(|one| one.1 == name.text) {
                        Some((id, _)) => {
                            self.out.uses.insert(case.label.id, *id);
                        }
                        None => {
                            self.name_fault(
                                name.span,
                                format!("'{}' is not an action of the table", name.text),
                            );
                        }
                    }
                    if names.contains(&name.text) {
                        self.type_fault(case.span, format!("action '{}' stands twice", name.text));
                    }
                    names.push(name.text.clone());
                }
                (_, Some(_)) => {
                    self.type_fault(case.span, "the label must be the name of an action");
                }
                _ if numbers => {
                    let found = self.expect_constant(&case.label, &ty);
                    if let Some(found) = found {
                        if seen.contains(&found) {
                            self.type_fault(case.span, "the label stands twice");
                        }
                        seen.push(found);
                    }
                }
                _ => {}
            }
            if let Some(body) = &case.body {
                self.block(body);
            }
        }
    }

    /// Checks the statements and the transition of a state.
    pub(super) fn state(&mut self, state: &'a State) {
        self.annotations(&state.annotations);
        self.scoped(|this| {
            this.statements(&state.body);
            match &state.transition {
                None => {}
                Some(Transition::Direct(name)) => this.next_state(name),
                Some(Transition::Select { keys, cases, .. }) => {
                    let mut types = Vec::new();
                    for key in keys {
                        let ty = this.expression(key);
                        let ty = this.must_be_value(key, ty);
                        let parts = match &ty {
                            Type::ListLiteral(parts, _) | Type::Tuple(parts) => parts,
                            _ => std::slice::from_ref(&ty),
                        };
                        let fault = parts.iter().find(|part| {
                            let is_list = matches!(
                                part,
                                Type::Param(..) | Type::Tuple(_) | Type::ListLiteral(..)
                            );
                            !part.is_scalar() && !is_list
                        });
                        if let Some(part) = fault {
                            this.type_fault(key.span, format!("select is not defined for {part}"));
                        }
                        types.push(match ty {
                            Type::ListLiteral(of, _) => Type::Tuple(of),
                            ty => ty,
                        });
                    }
                    for case in cases {
                        this.sets(case.span, &case.sets, &types);
                        this.next_state(&case.state);
                    }
                }
            }
        });
    }

    fn next_state(&mut self, name: &'a Ident) {
        if matches!(&*name.text, "accept" | "reject") {
            return;
        }
        match self.find(&name.text, false).last() {
            Some(Entity::State(_)) => {}
            Some(_) => {
                self.name_fault(name.span, format!("'{}' is not a state", name.text));
            }
            None => {
                self.name_fault(name.span, format!("state '{}' is not declared", name.text));
            }
        }
    }

    /// Returns the types of the fields of a struct, with nested structs replaced by their fields.
    fn leaves(&self, ty: &Type) -> Vec<Type> {
        match ty {
            Type::Fields(FieldsKind::Struct, named) => {
                self.out.fields_of(named).iter().flat_map(|(_, ty)| self.leaves(ty)).collect()
            }
            ty => vec![ty.clone()],
        }
    }

    /// Checks the sets of values in a `select` case or table entry against the types of the keys.
    pub(super) fn sets(&mut self, span: Span, sets: &'a [Expr], types: &[Type]) {
        // `{a, b}` is the same as `(a, b)`.
        let sets = match sets {
            [Expr { kind: ExprKind::List { items, defaults: false }, .. }]
                if items.len() == types.len()
                    && !matches!(types, [Type::Tuple(_) | Type::Fields(..)]) =>
            {
                items
            }
            _ => sets,
        };
        if let [set] = sets
            && types.len() != 1
        {
            if matches!(set.kind, ExprKind::Default) {
                self.expression(set);
                return;
            }
            // A value set of several keys, or a list.
            match self.expression(set) {
                Type::Set(of) => {
                    let fits = match &*of {
                        Type::Tuple(of) => {
                            of.len() == types.len()
                                && of.iter().zip(types).all(|(of, ty)| self.fits(ty, of))
                        }
                        Type::Fields(..) => {
                            let parts = self.leaves(&of);
                            parts.len() == types.len()
                                && parts.iter().zip(types).all(|(of, ty)| self.fits(ty, of))
                        }
                        _ => false,
                    };
                    if !fits {
                        self.type_fault(
                            set.span,
                            format!("{of} does not fit the {} keys", types.len()),
                        );
                    }
                }
                Type::ListLiteral(..) | Type::Tuple(_) => {
                    self.convert(set, &Type::Tuple(types.into()));
                }
                Type::Unknown => {}
                _ => {
                    self.type_fault(
                        span,
                        format!("{} sets are needed, one for each key", types.len()),
                    );
                }
            }
            return;
        }
        if sets.len() != types.len() {
            for set in sets {
                self.expression(set);
            }
            self.type_fault(
                span,
                format!(
                    "{} sets are given, and {} are needed, one for each key",
                    sets.len(),
                    types.len()
                ),
            );
            return;
        }
        for (set, ty) in sets.iter().zip(types) {
            let ty = &self.number_of(ty);
            let found = self.expression(set);
            match &found {
                Type::Unknown | Type::Default => {}
                Type::Set(of) if **of == Type::Integer => {
                    if ty.width().is_some() || matches!(ty, Type::Integer | Type::Unknown) {
                        self.set_type(set, ty);
                        if let ExprKind::Mask { value: a, mask: b }
                        | ExprKind::Range { low: a, high: b } = &set.kind
                        {
                            self.set_type(a, ty);
                            self.set_type(b, ty);
                            self.out.types[set.id.0 as usize] = Type::Set(Rc::new(ty.clone()));
                        }
                    } else {
                        self.type_fault(set.span, format!("a set of numbers does not fit {ty}"));
                    }
                }
                Type::Set(of) => {
                    let of = (**of).clone();
                    let one = matches!(&of, Type::Fields(_, named) if self.out.fields_of(named).len() == 1 && self.fits(ty, &self.out.fields_of(named)[0].1))
                        || matches!(&of, Type::Tuple(types) if types.len() == 1 && self.fits(ty, &types[0]));
                    if !self.fits(ty, &of) && !one {
                        self.type_fault(set.span, format!("a set of {of} does not fit {ty}"));
                    }
                }
                _ => {
                    let found = self.must_be_value(set, found.clone());
                    if found != Type::Unknown && *ty != Type::Unknown {
                        self.convert(set, ty);
                    }
                }
            }
        }
    }
}

/// Returns true if every path through a block returns a value or ends with `exit`.
pub(super) fn always_returns(block: &Block) -> bool {
    block.statements.iter().any(returns)
}

fn returns(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Return(_) | StmtKind::Exit => true,
        StmtKind::Block(block) => always_returns(block),
        StmtKind::If { yes, no: Some(no), .. } => returns(yes) && returns(no),
        StmtKind::Switch { cases, .. } => {
            cases.iter().any(|case| matches!(case.label.kind, ExprKind::Default))
                && cases.iter().all(|case| case.body.as_ref().is_none_or(always_returns))
        }
        _ => false,
    }
}
