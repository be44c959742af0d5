//! Inlines calls of actions, functions and controls, and translates methods of headers and packets.

use super::place::{Memory, Place, is_number};
use super::*;
use crate::check::{Builtin, Callee};
use crate::used::{Used, uses};

impl<'a> Generator<'a> {
    /// Emits a call, and returns the location of its result; `None` for a call without result.
    pub(super) fn call(
        &mut self,
        expr: &'a Expr,
        function: &'a Expr,
        args: &'a [Arg],
    ) -> Result<Option<Place>> {
        let Some(call) = self.checked.calls.get(&expr.id) else {
            return self.unsupported(expr.span, "this call");
        };
        let given = |args: &'a [Arg]| -> Vec<Given<'a>> {
            call.args
                .iter()
                .map(|at| at.map_or(Given::Missing, |at| Given::Expr(&args[at].value)))
                .collect()
        };
        match call.callee {
            Callee::Builtin(builtin) => self.builtin(expr, builtin, function, args),
            Callee::Table(_) => {
                self.apply_table(expr)?;
                Ok(None)
            }
            Callee::Action(id) => {
                let Some(decl) = self.nodes.get(&id).copied() else {
                    return self.unsupported(expr.span, "this action");
                };
                self.run_action(decl, given(args))?;
                Ok(None)
            }
            Callee::Function(id) => self.call_function(expr, id, &call.type_args, given(args)),
            Callee::Apply(id) => {
                self.apply_instance(expr, id, function, given(args))?;
                Ok(None)
            }
            Callee::ExternFunction(_) => {
                let name = match &function.kind {
                    ExprKind::Name { name, .. } => name.text.clone(),
                    _ => return self.unsupported(expr.span, "this call"),
                };
                match self.extern_result(expr, &name, &given(args))? {
                    Some(place) => Ok(Some(place)),
                    None => {
                        self.extern_function(expr, &name, &given(args))?;
                        Ok(None)
                    }
                }
            }
            Callee::Method { .. } => {
                let ExprKind::Member { base, name } = &function.kind else {
                    return self.unsupported(expr.span, "this call");
                };
                self.method(expr, base, &name.text, &given(args), &call.type_args)
            }
            Callee::Constructor(..) => self.unsupported(expr.span, "an object that is made here"),
        }
    }

    fn call_function(
        &mut self,
        expr: &'a Expr,
        id: DeclId,
        types: &[Type],
        given: Vec<Given<'a>>,
    ) -> Result<Option<Place>> {
        let Some(DeclKind::Function(function)) = self.nodes.get(&id).map(|decl| &*decl.kind) else {
            return self.unsupported(expr.span, "this function");
        };
        let before = self.subst.len();
        let types: Vec<_> = function
            .signature
            .type_params
            .iter()
            .zip(types)
            .map(|(param, ty)| (param.id, self.resolved(ty)))
            .collect();
        let result_type = self.resolved(
            &self.checked.signatures.get(&id).map_or(Type::Void, |one| one.result.clone()),
        );
        let bound = self.bind_all(&function.signature.params, given, false)?;
        self.subst.extend(types);
        let result = match result_type {
            Type::Void => None,
            _ => {
                let ty = self.ty(expr);
                let place = self.new_place("result", &ty, Memory::Temporary)?;
                self.clear(&place);
                Some(place)
            }
        };
        let done = self.framed(result.clone(), bound, |this| this.block(&function.body));
        self.subst.truncate(before);
        done?;
        Ok(result)
    }

    /// Emits the inlined body of a call, a label at its end as the target of `return`, and then the
    /// instructions that copy results to the arguments.
    pub(super) fn framed(
        &mut self,
        result: Option<Place>,
        copy_out: Vec<Instruction>,
        emit: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        // In a chain of controls that each apply the previous one twice, each control doubles the
        // program.
        self.check_length()?;
        let end = self.label("end");
        self.frames.push(Frame { end: end.clone(), result, copy_out });
        let done = emit(self);
        let frame = self.frames.pop();
        done?;
        self.mark(&end);
        if let Some(frame) = frame {
            self.put_copy(&frame.copy_out);
        }
        Ok(())
    }

    /// Binds parameters to arguments, and returns the instructions that copy results to the
    /// arguments after the call.
    ///
    /// If `alias` is true, a struct parameter shares the location of its argument instead of being
    /// copied. Sharing differs from copying only if two arguments overlap; overlapping arguments
    /// are copied.
    pub(super) fn bind_all(
        &mut self,
        params: &'a [Param],
        given: Vec<Given<'a>>,
        alias: bool,
    ) -> Result<Vec<Instruction>> {
        let mut copies = Vec::new();
        let mut bindings = Vec::new();
        let uses: Vec<Option<Vec<Used>>> = given.iter().map(|one| self.uses_of(one)).collect();
        // An argument is copied if it contains a call or overlaps another argument: then the order
        // of evaluation matters.
        let alone = |at: usize| {
            let own = uses[at].as_deref();
            let others = uses.iter().enumerate().filter(|(other, _)| *other != at);
            own.is_some_and(|own| {
                others.map(|(_, used)| used).all(|used| {
                    used.as_ref().is_some_and(|used| {
                        !used.iter().any(|one| own.iter().any(|own| own.overlaps(one)))
                    })
                })
            })
        };
        for (at, (param, given)) in params.iter().zip(given).enumerate() {
            let ty = self.declared(param.id);
            let ty = match (&ty, &given) {
                (Type::Param(..), Given::Expr(expr)) => self.ty(expr),
                _ => ty,
            };
            let writes = matches!(param.direction, Direction::Out | Direction::InOut);
            let given = match (given, &param.default) {
                (Given::Missing, Some(default)) => Given::Expr(default),
                (given, _) => given,
            };
            if let Given::Expr(expr) = &given
                && let Some(binding) = self.object_of(expr)
            {
                bindings.push((param.id, binding));
                continue;
            }
            if let (Given::Place(place), false) = (&given, writes) {
                bindings.push((param.id, Binding::Place(place.clone())));
                continue;
            }
            // The target of the copy after the call is evaluated before the call.
            let target = match (&given, writes) {
                (Given::Expr(expr), true) => Some(self.target(expr)?),
                _ => None,
            };
            if let (Given::Expr(expr), true, false) = (&given, alias, is_number(&ty)) {
                let place = match &target {
                    None => Some(self.place_as(expr, &ty)?),
                    Some(target) => target.only_place(),
                };
                if let (Some(place), true) = (place, alone(at)) {
                    if param.direction == Direction::Out {
                        self.clear(&place);
                    }
                    bindings.push((param.id, Binding::Place(place)));
                    continue;
                }
            }
            let place = self.new_place(&param.name.text, &ty, Memory::Temporary)?;
            match (&given, &target) {
                (_, Some(target)) if param.direction == Direction::InOut => {
                    self.choose(&place, &target.choices, param.name.span)?
                }
                (Given::Expr(expr), None) => self.assign(&place, &ty, expr)?,
                _ => self.clear(&place),
            }
            if let Some(target) = target {
                let ((), lines) = self.aside(|this| this.store_place(&target, &place))?;
                copies.extend(lines);
            }
            bindings.push((param.id, Binding::Place(place)));
        }
        self.bindings.extend(bindings);
        Ok(copies)
    }

    /// Returns the variables, or parts of them, to which an argument refers; `None` if the argument
    /// contains a call.
    fn uses_of(&self, given: &Given<'a>) -> Option<Vec<Used>> {
        match given {
            Given::Expr(expr) => uses(self.checked, expr),
            _ => Some(Vec::new()),
        }
    }

    /// Returns the packet, or the instance of an extern, parser or control, that an expression
    /// names; `None` for other expressions.
    pub(super) fn object_of(&mut self, expr: &'a Expr) -> Option<Binding> {
        match &expr.kind {
            ExprKind::Name { .. } => match self.bindings.get(self.checked.uses.get(&expr.id)?)? {
                binding @ (Binding::Instance(_) | Binding::PacketIn | Binding::PacketOut) => {
                    Some(binding.clone())
                }
                _ => None,
            },
            ExprKind::Call { function, args, .. } if matches!(function.kind, ExprKind::Type(_)) => {
                let call = self.checked.calls.get(&expr.id)?;
                let args = call
                    .args
                    .iter()
                    .map(|at| at.and_then(|at| self.constructor_arg(&args[at].value)))
                    .collect();
                let ty = self.ty(expr);
                let path = match &ty {
                    Type::Extern(named)
                    | Type::Parser(named)
                    | Type::Control(named)
                    | Type::Package(named) => named.name.to_string(),
                    _ => return None,
                };
                Some(Binding::Instance(Instance { ty, path, args }))
            }
            _ => None,
        }
    }

    fn constructor_arg(&mut self, expr: &'a Expr) -> Option<Binding> {
        match self.object_of(expr) {
            Some(object) => Some(object),
            None => self.constant(expr).map(Binding::Constant),
        }
    }

    /// Emits the body of an action, with arguments for its parameters.
    pub(super) fn run_action(&mut self, decl: &'a Decl, given: Vec<Given<'a>>) -> Result<()> {
        let DeclKind::Action { params, body } = &*decl.kind else { return Ok(()) };
        let copies = self.bind_all(params, given, false)?;
        self.framed(None, copies, |this| this.block(body))
    }

    /// Emits a parser or control that another parser or control applies.
    fn apply_instance(
        &mut self,
        expr: &'a Expr,
        id: DeclId,
        function: &'a Expr,
        given: Vec<Given<'a>>,
    ) -> Result<()> {
        let instance = match &function.kind {
            ExprKind::Member { base, .. } => match &base.kind {
                ExprKind::Name { .. } => match self.object_of(base) {
                    Some(Binding::Instance(instance)) => Some(instance),
                    _ => return self.unsupported(expr.span, "this instance"),
                },
                _ => None,
            },
            _ => None,
        };
        // If the name is a constructor parameter, its argument is the control to apply.
        let of = match instance.as_ref().map(|one| &one.ty) {
            Some(Type::Parser(named) | Type::Control(named)) => named.id,
            _ => id,
        };
        let Some(decl) = self.nodes.get(&of).copied() else {
            return self.unsupported(expr.span, "this control");
        };
        let instance = instance.unwrap_or_else(|| Instance {
            ty: Type::Unknown,
            path: decl.name.text.to_string(),
            args: Vec::new(),
        });
        let signature = match &*decl.kind {
            DeclKind::Parser(parser) => &parser.signature,
            DeclKind::Control(control) => &control.signature,
            _ => return self.unsupported(decl.span, format!("'{}'", decl.name.text)),
        };
        let copies = self.bind_all(&signature.params, given, true)?;
        self.framed(None, copies, |this| this.body_of(decl, &instance))
    }

    /// Emits a parser or control whose parameters are already bound.
    pub(super) fn run_bound(&mut self, decl: &'a Decl, instance: &Instance) -> Result<()> {
        self.framed(None, Vec::new(), |this| this.body_of(decl, instance))
    }

    fn body_of(&mut self, decl: &'a Decl, instance: &Instance) -> Result<()> {
        let constructor = match &*decl.kind {
            DeclKind::Parser(parser) => &parser.constructor,
            DeclKind::Control(control) => &control.constructor,
            _ => return Ok(()),
        };
        for (at, param) in constructor.iter().enumerate() {
            let binding = match instance.args.get(at).cloned().flatten() {
                Some(binding) => Some(binding),
                None => param.default.as_ref().and_then(|default| self.constructor_arg(default)),
            };
            if let Some(binding) = binding {
                self.bindings.insert(param.id, binding);
            }
        }
        match &*decl.kind {
            DeclKind::Parser(parser) => {
                self.enter(&parser.locals, &instance.path);
                let around = self.here;
                self.scoped(|this| this.run_parser(parser, decl.span))?;
                self.here = around;
                Ok(())
            }
            DeclKind::Control(control) => self.scoped(|this| {
                this.enter(&control.locals, &instance.path);
                for local in &control.locals {
                    this.local(local)?;
                }
                this.block(&control.body)
            }),
            _ => Ok(()),
        }
    }

    /// Records the local declarations of a parser or control, and their paths below the path of the
    /// instance.
    fn enter(&mut self, locals: &'a [Decl], path: &str) {
        for local in locals {
            self.nodes.insert(local.id, local);
            let absolute = crate::annotations::name_of(&local.annotations)
                .and_then(|name| name.strip_prefix('.').map(str::to_owned));
            let name = crate::annotations::control_name(local);
            self.paths.insert(local.id, absolute.unwrap_or_else(|| format!("{path}.{name}")));
        }
    }

    /// Emits a local declaration of a parser or control.
    pub(super) fn local(&mut self, decl: &'a Decl) -> Result<()> {
        match &*decl.kind {
            DeclKind::Variable { .. } | DeclKind::Const { .. } => self.declare(decl),
            DeclKind::Instance { args, methods, .. } => {
                if methods.is_some() {
                    return self.unsupported(
                        decl.span,
                        format!("instance '{}' with methods", decl.name.text),
                    );
                }
                self.instance(decl, args)
            }
            _ => Ok(()),
        }
    }

    /// Records the constructor arguments of an instance, in the order of the parameters.
    pub(super) fn instance(&mut self, decl: &'a Decl, args: &'a [Arg]) -> Result<()> {
        let ty = self.declared(decl.id);
        let path = self.paths.get(&decl.id).cloned().unwrap_or_else(|| decl.name.text.to_string());
        let names: Vec<Rc<str>> = match &ty {
            Type::Parser(named) | Type::Control(named) => self
                .checked
                .constructors
                .get(&named.id)
                .map(|one| one.params.iter().map(|param| param.name.clone()).collect())
                .unwrap_or_default(),
            Type::Package(named) => self
                .checked
                .signatures
                .get(&named.id)
                .map(|one| one.params.iter().map(|param| param.name.clone()).collect())
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        let mut values: Vec<Option<Binding>> = vec![None; args.len().max(names.len())];
        for (at, arg) in args.iter().enumerate() {
            let to = arg
                .name
                .as_ref()
                .and_then(|name| names.iter().position(|one| *one == name.text))
                .unwrap_or(at);
            values[to] = self.constructor_arg(&arg.value);
        }
        self.bindings.insert(decl.id, Binding::Instance(Instance { ty, path, args: values }));
        Ok(())
    }

    // --- methods -------------------------------------------------------------------------------

    fn builtin(
        &mut self,
        expr: &'a Expr,
        builtin: Builtin,
        function: &'a Expr,
        args: &'a [Arg],
    ) -> Result<Option<Place>> {
        let ExprKind::Member { base, .. } = &function.kind else {
            return self.unsupported(expr.span, "this call");
        };
        match builtin {
            Builtin::Size => self.unsupported(expr.span, "this size"),
            // The caller translates the condition to jumps.
            Builtin::IsValid => Ok(None),
            Builtin::SetValid | Builtin::SetInvalid => {
                // At most one header of a union is valid.
                for choice in self.choices(base)? {
                    let next = self.label("next");
                    self.jump_unless(&choice.when, &next);
                    choice.siblings.iter().for_each(|name| self.invalidate(name));
                    for header in choice.place.headers() {
                        if builtin == Builtin::SetValid {
                            self.validate(&header)?;
                            if choice.when.is_empty() {
                                self.known.insert(header.name.clone());
                            }
                        } else {
                            self.invalidate(&header.name);
                        }
                    }
                    self.mark(&next);
                }
                Ok(None)
            }
            Builtin::PushFront | Builtin::PopFront => {
                let Type::Stack(of, size) = self.ty(base) else {
                    return self.unsupported(expr.span, "this call");
                };
                if !matches!(*of, Type::Fields(FieldsKind::Header, _)) {
                    return self.unsupported(expr.span, format!("a shift of a stack of {of}"));
                }
                let ty = self.ty(base);
                let place = self.place_as(base, &ty)?;
                let count = args.first().and_then(|arg| self.known_number(&arg.value));
                let Some(count) = count else {
                    return self
                        .unsupported(expr.span, "a number of elements that is not constant");
                };
                let elements: Vec<Place> =
                    (0..size).filter_map(|at| place.member(&at.to_string())).collect();
                let (count, size) = (count.min(size) as usize, elements.len());
                let empty = if builtin == Builtin::PushFront {
                    for at in (count..size).rev() {
                        self.copy_place(&elements[at], &elements[at - count], expr.span)?;
                    }
                    0..count
                } else {
                    for at in 0..size - count {
                        self.copy_place(&elements[at], &elements[at + count], expr.span)?;
                    }
                    size - count..size
                };
                elements[empty].iter().for_each(|element| self.clear(element));
                Ok(None)
            }
        }
    }

    fn method(
        &mut self,
        expr: &'a Expr,
        base: &'a Expr,
        name: &str,
        given: &[Given<'a>],
        types: &[Type],
    ) -> Result<Option<Place>> {
        let span = expr.span;
        let object = self.object_of(base);
        let expr_at = |at: usize| match given.get(at) {
            Some(Given::Expr(expr)) => Some(*expr),
            _ => None,
        };
        let first = expr_at(0);
        match (object, name) {
            (Some(Binding::PacketIn), "extract") => {
                if let Some(target) = first {
                    self.extract(target, expr_at(1))?;
                }
                Ok(None)
            }
            (Some(Binding::PacketIn), "lookahead") => {
                let ty = types.first().map_or_else(|| self.ty(expr), |ty| self.resolved(ty));
                Ok(Some(self.lookahead(&ty, span)?))
            }
            (Some(Binding::PacketIn), "advance") => {
                if let Some(bits) = first {
                    self.advance(bits)?;
                }
                Ok(None)
            }
            (Some(Binding::PacketIn), "length") => {
                self.unsupported(span, "the length of the packet, which SWX does not tell,")
            }
            (Some(Binding::PacketOut), "emit") => {
                if let Some(value) = first {
                    let ty = match self.ty(value) {
                        Type::ListLiteral(types, _) => Type::Tuple(types),
                        ty => ty,
                    };
                    let place = match &value.kind {
                        ExprKind::List { items, .. } => {
                            for item in items {
                                let ty = self.ty(item);
                                let place = self.place_as(item, &ty)?;
                                self.emit(&place, span)?;
                            }
                            return Ok(None);
                        }
                        _ => self.place_as(value, &ty)?,
                    };
                    self.emit(&place, span)?;
                }
                Ok(None)
            }
            (Some(Binding::Instance(instance)), _) => {
                self.object_method(expr, &instance, name, given)
            }
            _ => self.unsupported(span, format!("method '{name}'")),
        }
    }

    fn emit(&mut self, place: &Place, span: Span) -> Result<()> {
        let headers = place.headers();
        if headers.is_empty() && !matches!(place, Place::Parts(_)) {
            return self.unsupported(span, "emit of this value");
        }
        for header in headers {
            // DPDK has space for each header once.
            if !self.emitted.insert(header.name.clone()) {
                return self
                    .unsupported(span, format!("header '{}' that is emitted twice", header.name));
            }
            if !header.is_empty {
                self.put(Op::Emit { header: header.name.clone() });
            }
        }
        Ok(())
    }
}
