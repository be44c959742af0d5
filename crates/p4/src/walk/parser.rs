//! Runs parser states, and tests whether values are in sets.

use super::*;

impl<'a> Walker<'a> {
    /// Returns the declaration and constructor arguments of the parser or control that an
    /// expression constructs or names; `None` for other expressions.
    pub(super) fn part(&self, expr: &'a Expr) -> Option<(&'a Decl, &'a [Arg])> {
        match &expr.kind {
            ExprKind::Name { .. } => {
                let id = self.checked.uses.get(&expr.id)?;
                if let Some(arg) = self.instances.get(id) {
                    return self.part(arg);
                }
                let decl = self.nodes.get(id).copied()?;
                let DeclKind::Instance { args, .. } = &*decl.kind else { return None };
                match self.declared(decl.id) {
                    Type::Parser(named) | Type::Control(named) => {
                        Some((self.nodes.get(&named.id).copied()?, args))
                    }
                    _ => None,
                }
            }
            ExprKind::Call { function, args, .. } if matches!(function.kind, ExprKind::Type(_)) => {
                match self.ty(expr) {
                    Type::Parser(named) | Type::Control(named) => {
                        Some((self.nodes.get(&named.id).copied()?, args))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Binds the constructor parameters of a parser or control to their arguments.
    pub(super) fn construct(&mut self, params: &'a [Param], args: &'a [Arg]) {
        for (at, param) in params.iter().enumerate() {
            let arg = args
                .iter()
                .enumerate()
                .find(|(place, arg)| match &arg.name {
                    Some(name) => name.text == param.name.text,
                    None => *place == at,
                })
                .map(|one| &one.1.value)
                .or(param.default.as_ref());
            let Some(arg) = arg else { continue };
            if let Type::Parser(_) | Type::Control(_) = self.ty(arg) {
                self.instances.insert(param.id, arg);
            } else if let Ok(data) = self.value(arg) {
                self.variables.insert(param.id, data);
            }
        }
    }

    pub(super) fn parser(&mut self, parser: &'a Parser) -> Result<()> {
        for local in &parser.locals {
            self.declare(local)?;
        }
        let mut name: &str = "start";
        loop {
            let state = match parser.states.iter().find(|state| &*state.name.text == name) {
                Some(state) => state,
                None if name == "reject" => return reject("NoError"),
                None => return Ok(()),
            };
            self.step(state.name.span)?;
            self.walk.states.push(format!("{}{name}", self.prefix));
            self.statements(&state.body)?;
            name = match &state.transition {
                None => "reject",
                Some(Transition::Direct(to)) => &to.text,
                Some(Transition::Select { keys, cases, .. }) => {
                    let keys =
                        keys.iter().map(|key| self.value(key)).collect::<Result<Vec<_>>>()?;
                    let mut found = None;
                    for case in cases {
                        if self.matches(&case.sets, &keys, case.span)? {
                            found = Some(&*case.state.text);
                            break;
                        }
                    }
                    match found {
                        Some(to) => to,
                        None => return reject("NoMatch"),
                    }
                }
            };
        }
    }

    pub(super) fn matches(&mut self, sets: &'a [Expr], keys: &[Data], span: Span) -> Result<bool> {
        let sets = match sets {
            [Expr { kind: ExprKind::Default | ExprKind::DontCare, .. }] => return Ok(true),
            [Expr { kind: ExprKind::List { items, .. }, .. }] if keys.len() != 1 => items,
            sets => sets,
        };
        if sets.len() != keys.len() {
            return stop(span, "a value set, whose members the control plane sets,");
        }
        for (set, key) in sets.iter().zip(keys) {
            if !self.is_in(set, key)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn is_in(&mut self, set: &'a Expr, key: &Data) -> Result<bool> {
        if let (ExprKind::List { items, .. }, Data::Items(keys, _)) = (&set.kind, key) {
            return self.matches(items, keys, set.span);
        }
        if let (ExprKind::List { items, .. }, Data::Leaf(_)) = (&set.kind, key)
            && let [item] = &items[..]
        {
            return self.is_in(item, key);
        }
        let number = match key {
            Data::Leaf(Some(Value::Number(number))) => Some(number),
            _ => None,
        };
        match (&set.kind, number) {
            (ExprKind::Default | ExprKind::DontCare, _) => Ok(true),
            (ExprKind::Mask { value, mask }, Some(key)) => {
                let (value, mask) = (self.number(value)?, self.number(mask)?);
                Ok(key & &mask == value & mask)
            }
            (ExprKind::Range { low, high }, Some(key)) => {
                Ok(*key >= self.number(low)? && *key <= self.number(high)?)
            }
            _ if matches!(self.ty(set), Type::Set(_)) => {
                stop(set.span, "a value set, whose members the control plane sets,")
            }
            _ => {
                let wanted = self.value(set)?;
                match equal(key, &wanted) {
                    Some(equal) => Ok(equal),
                    None => stop(set.span, "a value that the packet does not determine"),
                }
            }
        }
    }
}
