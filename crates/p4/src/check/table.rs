//! Checks tables: keys, actions, entries and other properties (section 14.2 of the specification).

use std::collections::HashSet;
use std::rc::Rc;

use num_traits::Signed;

use super::*;

impl<'a> Checker<'a> {
    /// Checks a table, and adds its name to the scope.
    pub(super) fn table(&mut self, decl: &'a Decl, table: &'a Table) {
        self.within(Place::Table, |this| this.properties(decl, table));
        self.declare(&decl.name, Entity::Decl(decl));
    }

    fn properties(&mut self, decl: &'a Decl, table: &'a Table) {
        let mut names = HashSet::new();
        let mut keys = Vec::new();
        let mut kinds = Vec::new();
        let mut actions: Option<&'a [ActionRef]> = None;
        for property in &table.properties {
            self.annotations(&property.annotations);
            if !names.insert(&property.name.text) {
                self.name_fault(
                    property.name.span,
                    format!("property '{}' stands twice", property.name.text),
                );
            }
            match &property.value {
                PropertyValue::Keys(written) => {
                    for key in written {
                        kinds.push(key.kind.text.clone());
                        keys.push(self.key(key));
                    }
                }
                PropertyValue::Entries(_) if keys.is_empty() && table.properties.iter().any(|one| matches!(&one.value, PropertyValue::Keys(keys) if !keys.is_empty())) => {
                    self.type_fault(property.name.span, "entries must stand after the key");
                }
                PropertyValue::Actions(written) => {
                    actions = Some(written);
                    self.within(Place::Argument, |this| this.actions(written));
                }
                PropertyValue::Expr(_)
                    if &*property.name.text == "default_action" && actions.is_none() =>
                {
                    self.type_fault(
                        property.name.span,
                        "default_action must stand after the property 'actions'",
                    );
                }
                _ => {}
            }
        }
        if !names.iter().any(|name| &***name == "default_action") {
            let no_action = match self.find("NoAction", true).last() {
                Some(Entity::Decl(decl)) => {
                    matches!(&*decl.kind, DeclKind::Action { params, .. } if params.is_empty())
                }
                _ => false,
            };
            if !no_action {
                self.name_fault(decl.name.span, format!("table '{}' has no default_action, and there is no action 'NoAction'; include core.p4", decl.name.text));
            }
        }
        let Some(actions) = actions else {
            self.type_fault(
                decl.name.span,
                format!("table '{}' has no property 'actions'", decl.name.text),
            );
            return;
        };
        for property in &table.properties {
            match &property.value {
                PropertyValue::Entries(entries) => {
                    if keys.is_empty() && !entries.is_empty() {
                        self.type_fault(
                            decl.name.span,
                            format!("table '{}' has entries, but no key", decl.name.text),
                        );
                        continue;
                    }
                    for entry in entries {
                        self.annotations(&entry.annotations);
                        self.sets(entry.span, &entry.sets, &keys);
                        self.match_sets(entry, &kinds);
                        if let Some(priority) = &entry.priority {
                            self.expect_constant(priority, &Type::Integer);
                        }
                        self.entry_action(&entry.action, actions, "an entry", "defaultonly");
                    }
                }
                PropertyValue::Expr(value) if &*property.name.text == "default_action" => {
                    self.entry_action(value, actions, "the default action", "tableonly");
                }
                PropertyValue::Expr(value) => {
                    let ty = self.expression(value);
                    self.priority_property(&property.name.text, value, &ty);
                    if &*property.name.text == "size" && ty != Type::Unknown {
                        if !ty.is_number() {
                            self.type_fault(
                                value.span,
                                format!("the size of a table is a number, not {ty}"),
                            );
                        } else if !self.is_compile_time(value) {
                            self.type_fault(
                                value.span,
                                "the size of a table must be known when the program is compiled",
                            );
                        }
                    }
                }
                _ => {}
            }
        }
        for property in &table.properties {
            if let PropertyValue::Entries(entries) = &property.value {
                self.duplicates(entries, &kinds);
                self.priorities(table, entries, &kinds);
            }
        }
    }

    /// Checks `largest_priority_wins` and `priority_delta`, which determine the priorities of
    /// entries.
    fn priority_property(&mut self, name: &str, value: &'a Expr, ty: &Type) {
        let known = self.out.constants.get(&value.id);
        let needs = match (name, known) {
            ("largest_priority_wins", Some(Value::Bool(_))) => return,
            ("largest_priority_wins", _) => "a known truth value",
            ("priority_delta", Some(Value::Number(number))) if number.is_positive() => return,
            ("priority_delta", _) => "a known positive number",
            _ => return,
        };
        if *ty != Type::Unknown {
            self.type_fault(value.span, format!("{name} needs {needs}"));
        }
    }

    /// Reports entries with equal keys, if all match kinds are `exact` (section 14.2.1.4.1).
    fn duplicates(&mut self, entries: &'a [Entry], kinds: &[Rc<str>]) {
        if kinds.iter().any(|kind| &**kind != "exact") {
            return;
        }
        let mut seen = HashSet::new();
        for entry in entries {
            let sets = match &entry.sets[..] {
                [Expr { kind: ExprKind::List { items, .. }, .. }] => items,
                sets => sets,
            };
            let values: Option<Vec<Value>> =
                sets.iter().map(|set| self.out.constants.get(&set.id).cloned()).collect();
            if let Some(values) = values
                && !seen.insert(values)
            {
                self.type_fault(entry.span, "an entry before this one has the same key");
            }
        }
    }

    /// Computes and checks the priorities of entries (section 14.2.1.4.1).
    fn priorities(&mut self, table: &'a Table, entries: &'a [Entry], kinds: &[Rc<str>]) {
        let Some(first) = entries.iter().find_map(|entry| entry.priority.as_ref()) else { return };
        if kinds.iter().all(|kind| matches!(&**kind, "exact" | "lpm")) {
            self.type_fault(
                first.span,
                "a table with exact and lpm keys only has no priorities; remove this",
            );
            return;
        }
        if entries[0].priority.is_none() {
            self.type_fault(
                entries[0].span,
                "the first entry needs a priority, because another entry has one",
            );
            return;
        }
        let property = |name: &str| {
            table.properties.iter().find_map(|property| match &property.value {
                PropertyValue::Expr(value) if &*property.name.text == name => {
                    self.out.constants.get(&value.id).cloned()
                }
                _ => None,
            })
        };
        let delta = match property("priority_delta") {
            Some(Value::Number(delta)) => delta,
            _ => BigInt::from(1),
        };
        let delta = match property("largest_priority_wins") {
            Some(Value::Bool(false)) => delta,
            _ => -delta,
        };
        let mut priority = BigInt::ZERO;
        for entry in entries {
            priority = match &entry.priority {
                Some(written) => match self.out.constants.get(&written.id) {
                    Some(Value::Number(number)) => number.clone(),
                    _ => return,
                },
                None => priority + &delta,
            };
            if priority < BigInt::ZERO || priority > BigInt::from(i32::MAX) {
                self.type_fault(
                    entry.span,
                    format!(
                        "the priority of this entry, {priority}, is not a number from 0 to {}",
                        i32::MAX
                    ),
                );
                return;
            }
        }
    }

    /// Checks that the sets of values in an entry fit the match kinds: `lpm` needs a prefix,
    /// `exact` a single value.
    fn match_sets(&mut self, entry: &'a Entry, kinds: &[Rc<str>]) {
        if entry.sets.len() != kinds.len() {
            return;
        }
        for (set, kind) in entry.sets.iter().zip(kinds) {
            let fits = match (&set.kind, &**kind) {
                (ExprKind::Mask { mask, .. }, "lpm") => {
                    match self.out.constants.get(&mask.id).and_then(Value::number) {
                        Some(number) => {
                            let width = self.out.type_of(mask).width();
                            width.is_none_or(|width| is_prefix(number, width))
                        }
                        None => true,
                    }
                }
                (ExprKind::Mask { .. } | ExprKind::Range { .. }, "optional") => false,
                (ExprKind::Mask { .. } | ExprKind::Range { .. }, "exact") => false,
                (ExprKind::Range { .. }, "lpm" | "ternary") => false,
                (ExprKind::Mask { .. }, "range") => false,
                _ => true,
            };
            if !fits {
                self.type_fault(set.span, format!("this set does not fit the match kind {kind}"));
            }
        }
    }

    fn key(&mut self, key: &'a Key) -> Type {
        let ty = self.expression(&key.value);
        let ty = self.must_be_value(&key.value, ty);
        self.annotations(&key.annotations);
        if ty != Type::Unknown
            && !has_name(&key.value)
            && !key.annotations.iter().any(|one| matches!(&*one.name.text, "name" | "hidden"))
        {
            self.name_fault(
                key.value.span,
                "the control plane has no name for this key; add @name(\"…\")",
            );
        }
        if !self.out.match_kinds.contains(&key.kind.text) {
            self.name_fault(key.kind.span, format!("'{}' is not a match_kind", key.kind.text));
        }
        let numbers = matches!(&*key.kind.text, "lpm" | "range");
        if numbers
            && !matches!(
                ty,
                Type::Unknown
                    | Type::Bit(_)
                    | Type::Int(_)
                    | Type::New(..)
                    | Type::Enum(_, Some(_))
                    | Type::Param(..)
            )
        {
            return self.type_fault(
                key.value.span,
                format!("a value of type {ty} cannot be matched by {}", key.kind.text),
            );
        }
        match ty {
            Type::Integer => self.type_fault(key.value.span, "a key needs a width; write a cast"),
            ref one if one.is_scalar() => ty,
            Type::Param(..) | Type::Varbit(_) => ty,
            Type::Tuple(_)
            | Type::Fields(FieldsKind::Struct | FieldsKind::Header, _)
            | Type::ListLiteral(..) => ty,
            other => {
                self.type_fault(key.value.span, format!("a value of type {other} cannot be a key"))
            }
        }
    }

    fn action_name(action: &Expr) -> (Option<&Ident>, bool, &Expr, &[Arg]) {
        let (function, args) = match &action.kind {
            ExprKind::Call { function, args, .. } => (&**function, &args[..]),
            _ => (action, &[][..]),
        };
        match &function.kind {
            ExprKind::Name { name, absolute } => (Some(name), *absolute, function, args),
            _ => (None, false, function, args),
        }
    }

    /// Checks the actions of a table, and the arguments that the table states for their parameters
    /// with a direction.
    fn actions(&mut self, actions: &'a [ActionRef]) {
        let mut names = HashSet::new();
        for one in actions {
            self.annotations(&one.annotations);
            let (name, absolute, function, args) = Self::action_name(&one.action);
            let Some((name, id, signature)) = self.find_action(name, absolute, one.action.span)
            else {
                continue;
            };
            if !names.insert(id) {
                self.name_fault(one.action.span, format!("action '{}' stands twice", name.text));
            }
            self.out.uses.insert(function.id, id);
            self.out.types[function.id.0 as usize] = Type::Action(id);
            let directed: Vec<ParamType> = signature
                .params
                .iter()
                .filter(|param| param.direction != Direction::None)
                .cloned()
                .collect();
            let matched = match call::match_args(&directed, args) {
                Ok(matched) => matched,
                Err((at, message)) => {
                    for arg in args {
                        self.expression(&arg.value);
                    }
                    self.type_fault(
                        at.unwrap_or(one.action.span),
                        format!("'{}': {message}", name.text),
                    );
                    continue;
                }
            };
            for (param, at) in directed.iter().zip(&matched) {
                let Some(at) = at else { continue };
                self.expect(&args[*at].value, &param.ty);
                let value = &args[*at].value;
                if param.direction != Direction::In && !self.is_writable(value) {
                    self.type_fault(
                        value.span,
                        format!(
                            "argument '{}' must be a variable or field that can be written",
                            param.name
                        ),
                    );
                }
            }
            self.out.calls.insert(
                one.action.id,
                Call { callee: Callee::Action(id), type_args: Vec::new(), args: matched },
            );
        }
    }

    fn find_action(
        &mut self,
        name: Option<&'a Ident>,
        absolute: bool,
        span: Span,
    ) -> Option<(&'a Ident, DeclId, Rc<SignatureType>)> {
        let Some(name) = name else {
            self.type_fault(span, "the name of an action is needed here");
            return None;
        };
        let found = self.find(&name.text, absolute).last().copied();
        match found {
            Some(Entity::Decl(decl)) if matches!(*decl.kind, DeclKind::Action { .. }) => self
                .out
                .signatures
                .get(&decl.id)
                .map(|signature| (name, decl.id, signature.clone())),
            Some(_) => {
                self.type_fault(name.span, format!("'{}' is not an action", name.text));
                None
            }
            None => {
                self.name_fault(name.span, format!("action '{}' is not declared", name.text));
                None
            }
        }
    }

    /// Checks the action of an entry, or the default action.
    fn entry_action(
        &mut self,
        action: &'a Expr,
        actions: &'a [ActionRef],
        what: &str,
        forbidden: &str,
    ) {
        let (name, absolute, function, args) = Self::action_name(action);
        let Some((name, id, signature)) = self.find_action(name, absolute, action.span) else {
            return;
        };
        let listed = actions.iter().find(|one| {
            let (_, _, function, _) = Self::action_name(&one.action);
            self.out.uses.get(&function.id) == Some(&id)
        });
        let Some(listed) = listed else {
            self.type_fault(
                action.span,
                format!("{what} must be one of the table's actions, and '{}' is not", name.text),
            );
            return;
        };
        if listed.annotations.iter().any(|one| &*one.name.text == forbidden) {
            self.type_fault(
                action.span,
                format!("'{}' is marked with @{forbidden}, and cannot be {what}", name.text),
            );
        }
        self.out.uses.insert(function.id, id);
        self.out.types[function.id.0 as usize] = Type::Action(id);
        // Arguments of parameters with a direction may be repeated as in the list of actions.
        let directed =
            signature.params.iter().filter(|param| param.direction != Direction::None).count();
        let (_, _, _, bound) = Self::action_name(&listed.action);
        let repeats =
            directed > 0 && args.len() == signature.params.len() && bound.len() == directed;
        let params: Vec<ParamType> = match repeats {
            true => signature.params.clone(),
            false => signature
                .params
                .iter()
                .filter(|param| param.direction == Direction::None)
                .cloned()
                .collect(),
        };
        let matched = match call::match_args(&params, args) {
            Ok(matched) => matched,
            Err((at, message)) => {
                for arg in args {
                    self.expression(&arg.value);
                }
                self.type_fault(at.unwrap_or(action.span), format!("'{}': {message}", name.text));
                return;
            }
        };
        for (at, (param, arg)) in params.iter().zip(&matched).enumerate() {
            let Some(arg) = arg else { continue };
            let value = &args[*arg].value;
            if param.direction == Direction::None {
                self.expect_constant(value, &param.ty);
            } else {
                self.expect(value, &param.ty);
                if bound.get(at).is_some_and(|bound| !same(&bound.value, value)) {
                    self.type_fault(
                        value.span,
                        format!(
                            "argument '{}' must be the same as in the list of actions",
                            param.name
                        ),
                    );
                }
            }
        }
        let skipped = if repeats { 0 } else { directed };
        let args = std::iter::repeat_n(None, skipped).chain(matched).collect();
        self.out
            .calls
            .insert(action.id, Call { callee: Callee::Action(id), type_args: Vec::new(), args });
    }

    /// Returns the actions of a table: the declaration of each, and the name by which the table
    /// refers to it.
    pub(super) fn table_actions(&self, table: DeclId) -> Vec<(DeclId, Rc<str>)> {
        let Some(DeclKind::Table(table)) = self.decls.get(&table).map(|decl| &*decl.kind) else {
            return Vec::new();
        };
        let mut actions = Vec::new();
        for property in &table.properties {
            if let PropertyValue::Actions(written) = &property.value {
                for one in written {
                    let (name, _, function, _) = Self::action_name(&one.action);
                    if let (Some(name), Some(id)) = (name, self.out.uses.get(&function.id)) {
                        actions.push((*id, name.text.clone()));
                    }
                }
            }
        }
        actions
    }
}

/// Returns true if a key needs no annotation `@name`, because its control-plane name follows from
/// its expression (section 18.3.1.3).
fn has_name(key: &Expr) -> bool {
    match &key.kind {
        ExprKind::Name { .. }
        | ExprKind::Type(_)
        | ExprKind::This
        | ExprKind::Number { .. }
        | ExprKind::Bool(_) => true,
        ExprKind::Member { base, .. }
        | ExprKind::Index { base, .. }
        | ExprKind::Slice { base, .. }
        | ExprKind::PlusSlice { base, .. } => has_name(base),
        ExprKind::Cast { operand, .. } => has_name(operand),
        ExprKind::Binary { op: BinaryOp::And, left, right } => has_name(left) && has_name(right),
        ExprKind::Call { function, args, .. } => {
            args.is_empty()
                && matches!(&function.kind, ExprKind::Member { base, name } if &*name.text == "isValid" && has_name(base))
        }
        _ => false,
    }
}

/// Returns true if the mask, a number of `width` bits, consists of ones followed by zeros.
fn is_prefix(mask: &BigInt, width: u32) -> bool {
    let ones = (0..u64::from(width)).rev().take_while(|bit| mask.bit(*bit)).count() as u64;
    (0..u64::from(width) - ones).all(|bit| !mask.bit(bit))
}

/// Returns true if two expressions are equal as source text.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Name { name: x, .. }, ExprKind::Name { name: y, .. }) => x.text == y.text,
        (ExprKind::Member { base: x, name: m }, ExprKind::Member { base: y, name: n }) => {
            m.text == n.text && same(x, y)
        }
        (ExprKind::Index { base: x, index: i }, ExprKind::Index { base: y, index: j }) => {
            same(x, y) && same(i, j)
        }
        (ExprKind::Number { value: x, .. }, ExprKind::Number { value: y, .. }) => x == y,
        (ExprKind::Bool(x), ExprKind::Bool(y)) => x == y,
        (ExprKind::Cast { operand: x, .. }, ExprKind::Cast { operand: y, .. }) => same(x, y),
        (
            ExprKind::Slice { base: x, high: h, low: l },
            ExprKind::Slice { base: y, high: i, low: m },
        ) => same(x, y) && same(h, i) && same(l, m),
        (
            ExprKind::Binary { op, left: x, right: i },
            ExprKind::Binary { op: other, left: y, right: j },
        ) => op == other && same(x, y) && same(i, j),
        (ExprKind::Unary { op, operand: x }, ExprKind::Unary { op: other, operand: y }) => {
            op == other && same(x, y)
        }
        (ExprKind::List { items: x, .. }, ExprKind::List { items: y, .. }) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (ExprKind::Record { fields: x, .. }, ExprKind::Record { fields: y, .. }) => {
            x.len() == y.len()
                && x.iter().all(|(name, x)| {
                    y.iter().any(|(other, y)| name.text == other.text && same(x, y))
                })
        }
        (
            ExprKind::Call { function: x, args: i, .. },
            ExprKind::Call { function: y, args: j, .. },
        ) => {
            same(x, y)
                && i.len() == j.len()
                && i.iter().zip(j).all(|(i, j)| same(&i.value, &j.value))
        }
        _ => false,
    }
}
