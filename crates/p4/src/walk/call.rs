//! Runs calls of functions, parsers, controls and methods.

use super::*;

impl<'a> Walker<'a> {
    pub(super) fn step(&mut self, span: Span) -> Result<()> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return stop(span, format!("more than {MOST_STEPS} states and calls"));
        }
        Ok(())
    }

    pub(super) fn call(
        &mut self,
        expr: &'a Expr,
        function: &'a Expr,
        args: &'a [Arg],
    ) -> Result<Data> {
        self.step(expr.span)?;
        let Some(call) = self.checked.calls.get(&expr.id) else { return Ok(Data::Leaf(None)) };
        let given: Vec<Option<&'a Expr>> =
            call.args.iter().map(|at| at.map(|at| &args[at].value)).collect();
        match (call.callee, &function.kind) {
            (Callee::Builtin(builtin), ExprKind::Member { base, .. }) => {
                self.builtin(builtin, base, given.first().copied().flatten())
            }
            (Callee::Function(id), _) => self.function(id, &call.type_args, &given),
            (Callee::Table(id), _) => self.apply_table(id, expr.span),
            (Callee::Action(id), _) => {
                let directed = self.directed(id).min(given.len());
                let mut values = Vec::new();
                for one in &given[directed..] {
                    values.push(match one {
                        Some(one) => self.value(one)?,
                        None => Data::Leaf(None),
                    });
                }
                self.action(id, &given[..directed], values.into_iter())?;
                Ok(Data::Leaf(None))
            }
            (Callee::ExternFunction(_), ExprKind::Name { name, .. })
                if &*name.text == "mark_to_drop" =>
            {
                let place = match given.first().copied().flatten() {
                    Some(standard) => self.place(standard)?,
                    None => None,
                };
                let Some(mut place) = place else { return stop(expr.span, "mark_to_drop here") };
                place.steps.push(Step::Field("egress_spec".into()));
                if let Some(slot) = self.slot(&place) {
                    *slot = Data::known(Value::Number(511.into()));
                }
                Ok(Data::Leaf(None))
            }
            (Callee::Apply(id), ExprKind::Member { base, .. }) => {
                let (prefix, scope) = (self.prefix.clone(), self.scope.clone());
                let (decl, made) = match self.part(base) {
                    Some(found) => found,
                    None => match self.nodes.get(&id) {
                        Some(decl) => (*decl, &[][..]),
                        None => return stop(expr.span, "a part that is not known"),
                    },
                };
                let (name, named) = match &base.kind {
                    ExprKind::Name { name, .. } => {
                        let id = self.checked.uses.get(&base.id);
                        (&name.text, id.and_then(|id| self.paths.get(id)).cloned())
                    }
                    _ => (&decl.name.text, None),
                };
                match &*decl.kind {
                    DeclKind::Parser(parser) => {
                        self.construct(&parser.constructor, made);
                        let copies = self.bind(&parser.signature.params, &given)?;
                        self.prefix = format!("{prefix}{name}.");
                        self.after(copies, |this| this.parser(parser))?;
                    }
                    DeclKind::Control(control) => {
                        self.construct(&control.constructor, made);
                        let copies = self.bind(&control.signature.params, &given)?;
                        self.scope = named.unwrap_or_else(|| decl.name.text.to_string());
                        self.after(copies, |this| this.control(control))?;
                    }
                    _ => return stop(expr.span, "a part that is not known"),
                }
                (self.prefix, self.scope) = (prefix, scope);
                Ok(Data::Leaf(None))
            }
            (Callee::ExternFunction(_), ExprKind::Name { name, .. })
                if name.text.starts_with("resubmit") || name.text.starts_with("recirculate") =>
            {
                stop(expr.span, "a further round of the packet")
            }
            (Callee::ExternFunction(_), ExprKind::Name { name, .. })
                if name.text.starts_with("verify_checksum") =>
            {
                if let Some(standard) = self.standard {
                    self.forget_field(standard, "checksum_error");
                }
                Ok(Data::Leaf(None))
            }
            (Callee::ExternFunction(_), ExprKind::Name { name, .. }) if &*name.text == "verify" => {
                let [Some(condition), Some(error)] = given[..] else { return Ok(Data::Leaf(None)) };
                if self.truth(condition)? {
                    return Ok(Data::Leaf(None));
                }
                match self.leaf(error)? {
                    Some(Value::Error(name)) => Err(Halt::Reject(name)),
                    _ => stop(error.span, "an error that the packet does not determine"),
                }
            }
            (Callee::Method { .. }, ExprKind::Member { base, name }) if matches!(self.ty(base), Type::Extern(named) if &*named.name == "packet_in") => {
                self.packet_method(expr, &name.text, &given)
            }
            _ => {
                for one in given.into_iter().flatten() {
                    if let Some(place) = self.place(one)?
                        && let Some(slot) = self.slot(&place)
                    {
                        slot.forget();
                    }
                }
                let mut data = self.initial(&self.ty(expr));
                data.forget();
                Ok(data)
            }
        }
    }

    pub(super) fn function(
        &mut self,
        id: DeclId,
        types: &[Type],
        given: &[Option<&'a Expr>],
    ) -> Result<Data> {
        let Some(decl) = self.nodes.get(&id).copied() else { return Ok(Data::Leaf(None)) };
        let DeclKind::Function(function) = &*decl.kind else { return Ok(Data::Leaf(None)) };
        let copies = self.bind(&function.signature.params, given)?;
        let before = self.subst.len();
        let params = &function.signature.type_params;
        let types: Vec<_> =
            params.iter().zip(types).map(|(one, ty)| (one.id, self.resolved(ty))).collect();
        self.subst.extend(types);
        let result = self.after(copies, |this| this.statements(&function.body.statements));
        let ty = self.checked.signatures.get(&id).map(|one| self.resolved(&one.result));
        self.subst.truncate(before);
        match result {
            Ok(()) | Err(Halt::Return(None)) => Ok(Data::Leaf(None)),
            Err(Halt::Return(Some(data))) => Ok(self.converted(data, &ty.unwrap_or(Type::Unknown))),
            Err(other) => Err(other),
        }
    }

    /// Binds parameters to arguments. A struct parameter that the callee writes shares the storage
    /// of its argument. Returns the numbers that the callee writes, as pairs of argument location
    /// and parameter; the caller copies them to the arguments after the call.
    pub(super) fn bind(
        &mut self,
        params: &'a [Param],
        given: &[Option<&'a Expr>],
    ) -> Result<Vec<(Place, DeclId)>> {
        let (mut copies, mut aliased) = (Vec::new(), Vec::<Place>::new());
        let mut bound = Vec::new();
        for (at, param) in params.iter().enumerate() {
            let Some(arg) = given.get(at).copied().flatten().or(param.default.as_ref()) else {
                continue;
            };
            let ty = match self.declared(param.id) {
                Type::Param(..) => self.ty(arg),
                ty => ty,
            };
            if matches!(ty, Type::Extern(_)) {
                continue;
            }
            let writes = matches!(param.direction, Direction::Out | Direction::InOut);
            let place = if writes { self.place(arg)? } else { None };
            let Some(place) = place else {
                if writes && !matches!(arg.kind, ExprKind::DontCare) {
                    return stop(arg.span, "an argument that is a part of a number");
                }
                let data = if writes { self.initial(&ty) } else { self.value(arg)? };
                bound.push((param.id, Err(self.converted(data, &ty))));
                continue;
            };
            if aliased.iter().any(|one| {
                one.root == place.root
                    && one.steps.iter().zip(&place.steps).all(|(one, other)| one == other)
            }) {
                return stop(arg.span, "two arguments that overlap");
            }
            aliased.push(place.clone());
            let initial = self.initial(&ty);
            let Some(slot) = self.slot(&place) else { return stop(arg.span, "an argument") };
            if param.direction == Direction::Out {
                *slot = initial;
            }
            match slot {
                Data::Leaf(_) => {
                    let data = slot.clone();
                    copies.push((place, param.id));
                    bound.push((param.id, Err(data)));
                }
                _ => bound.push((param.id, Ok(place))),
            }
        }
        for (id, binding) in bound {
            match binding {
                Ok(place) => {
                    self.variables.remove(&id);
                    self.aliases.insert(id, place);
                }
                Err(data) => {
                    self.aliases.remove(&id);
                    self.variables.insert(id, data);
                }
            }
        }
        Ok(copies)
    }

    pub(super) fn copy_out(&mut self, copies: Vec<(Place, DeclId)>) {
        for (place, id) in copies {
            if let Some(data) = self.variables.get(&id).cloned()
                && let Some(slot) = self.slot(&place)
            {
                *slot = data;
            }
        }
    }

    pub(super) fn builtin(
        &mut self,
        builtin: Builtin,
        base: &'a Expr,
        count: Option<&'a Expr>,
    ) -> Result<Data> {
        if builtin == Builtin::IsValid {
            let valid = self.value(base)?.is_valid();
            return Ok(Data::known(Value::Bool(valid)));
        }
        let count = match count {
            Some(count) => self.number(count)?.to_usize().unwrap_or(usize::MAX),
            None => 0,
        };
        let Some(place) = self.place(base)? else { return stop(base.span, "this header") };
        if builtin == Builtin::SetValid {
            self.invalidate_siblings(&place);
        }
        match (builtin, self.slot(&place)) {
            (Builtin::SetValid | Builtin::SetInvalid, Some(Data::Fields(_, valid, _))) => {
                *valid = builtin == Builtin::SetValid;
            }
            (Builtin::PushFront | Builtin::PopFront, Some(Data::Items(items, next))) => {
                let count = count.min(items.len());
                let moved = if builtin == Builtin::PushFront {
                    items.rotate_right(count);
                    *next = items.len().min(*next + count);
                    &mut items[..count]
                } else {
                    items.rotate_left(count);
                    *next = next.saturating_sub(count);
                    let from = items.len() - count;
                    &mut items[from..]
                };
                for item in moved {
                    if let Data::Fields(_, valid, _) = item {
                        *valid = false;
                    }
                }
            }
            _ => return stop(base.span, "this method"),
        }
        Ok(Data::Leaf(None))
    }

    /// Marks the other headers of a header union as invalid.
    pub(super) fn invalidate_siblings(&mut self, place: &Place) {
        let mut union = place.clone();
        union.steps.pop();
        if let Some(Data::Fields(FieldsKind::HeaderUnion, _, members)) = self.slot(&union) {
            for (_, member) in members {
                if let Data::Fields(_, valid, _) = member {
                    *valid = false;
                }
            }
        }
    }
}
