//! Inlines calls of actions, functions and controls, and translates methods of headers, packets and
//! externs.

use num_traits::ToPrimitive;

use super::storage::is_scalar;
use super::*;
use crate::check::{Builtin, Callee};
use crate::used::{Used, uses};

/// Largest number of C statements, with inlined calls.
const MOST_STATEMENTS: u32 = 100_000;

impl<'a> Generator<'a> {
    /// Emits a call, and returns its result as a C expression: a number, or an lvalue for a result
    /// of another type.
    pub(super) fn call(
        &mut self,
        expr: &'a Expr,
        function: &'a Expr,
        args: &'a [Arg],
    ) -> Result<Option<String>> {
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
            Callee::Function(id) => {
                let Some(decl) = self.nodes.get(&id).copied() else {
                    return self.unsupported(expr.span, "this function");
                };
                let DeclKind::Function(function) = &*decl.kind else {
                    return self.unsupported(expr.span, "this function");
                };
                let before = self.subst.len();
                let types: Vec<_> = function
                    .signature
                    .type_params
                    .iter()
                    .zip(&call.type_args)
                    .map(|(param, ty)| (param.id, self.resolved(ty)))
                    .collect();
                let result_type = self.resolved(
                    &self.checked.signatures.get(&id).map_or(Type::Void, |one| one.result.clone()),
                );
                let args = given(args);
                let bound = self.bind_all(&function.signature.params, args, false)?;
                self.subst.extend(types);
                let result = if result_type == Type::Void {
                    None
                } else {
                    Some(self.variable("result", &self.ty(expr))?)
                };
                let done = self.framed(result.clone(), bound, |this| this.block(&function.body));
                self.subst.truncate(before);
                done?;
                Ok(result)
            }
            Callee::Apply(id) => {
                self.apply_instance(expr, id, function, given(args))?;
                Ok(None)
            }
            Callee::ExternFunction(id) => {
                let name = match &function.kind {
                    ExprKind::Name { name, .. } => name.text.clone(),
                    _ => return self.unsupported(expr.span, "this call"),
                };
                if !self.is_standard(id) {
                    return self.unsupported(expr.span, name);
                }
                self.extern_function(expr, &name, &given(args))
            }
            Callee::Method { method, .. } => {
                let ExprKind::Member { base, name } = &function.kind else {
                    return self.unsupported(expr.span, "this call");
                };
                let _ = method;
                self.method(expr, base, &name.text, &given(args), &call.type_args)
            }
            Callee::Constructor(..) => self.unsupported(expr.span, "an object that is made here"),
        }
    }

    /// Emits the inlined body of a call, a label at its end as the target of `return`, and then the
    /// statements that copy results to the arguments.
    pub(super) fn framed(
        &mut self,
        result: Option<String>,
        copy_out: Vec<String>,
        emit: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        // In a chain of controls that each apply the previous one twice, each control doubles the
        // program.
        if self.statements > MOST_STATEMENTS {
            return self.unsupported(
                Span::default(),
                format!("a program of more than {MOST_STATEMENTS} statements, calls expanded,"),
            );
        }
        let end = self.fresh("end");
        self.frames.push(Frame { end: end.clone(), result, copy_out });
        let done = emit(self);
        let frame = self.frames.pop();
        done?;
        self.put(format!("{end}:;"));
        if let Some(frame) = frame {
            self.body.extend(frame.copy_out);
        }
        Ok(())
    }

    /// Binds parameters to arguments, and returns the statements that copy results to the arguments
    /// after the call.
    ///
    /// If `alias` is true, a struct parameter is the lvalue of its argument instead of a copy. This
    /// differs from copying only if two arguments overlap; overlapping arguments are copied.
    pub(super) fn bind_all(
        &mut self,
        params: &'a [Param],
        given: Vec<Given<'a>>,
        alias: bool,
    ) -> Result<Vec<String>> {
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
            // The target of the copy after the call is evaluated before the call.
            let target = match (&given, writes) {
                (Given::Expr(expr), true) => Some(self.target(expr)?),
                _ => None,
            };
            if let (Given::Expr(expr), true, false) = (&given, alias, is_scalar(&ty)) {
                let place = match &target {
                    None => Some(self.place_as(expr, &ty)?),
                    Some(target) => target.only_place(),
                };
                if let (Some(place), true) = (place, alone(at)) {
                    if param.direction == Direction::Out {
                        self.reset(&place, &ty)?;
                    }
                    bindings.push((param.id, Binding::Place(place)));
                    continue;
                }
            }
            let name = self.uninitialised(&param.name.text, &ty)?;
            match (&given, &target) {
                (_, Some(target)) if param.direction == Direction::InOut => {
                    self.load_target(&name, target, param.name.span)?
                }
                (Given::Expr(expr), None) => self.assign(&name, &ty, expr)?,
                (Given::C(value), _) => self.put(format!("{name} = {value};")),
                _ => {
                    let zero = self.zero(&name, &ty);
                    self.put(zero);
                }
            }
            if let Some(target) = target {
                let ((), lines) = self.aside(|this| this.store_to(&target, &name))?;
                copies.extend(lines);
            }
            bindings.push((param.id, Binding::Place(name)));
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

    /// Emits code that gives an `out` parameter its initial value: zeros and invalid headers.
    fn reset(&mut self, place: &str, ty: &Type) -> Result<()> {
        let zero = self.zero(place, ty);
        self.put(zero);
        Ok(())
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
        // An action outside of controls sees no variable but its parameters.
        let is_outside = !self.paths.contains_key(&decl.id);
        let copies = self.bind_all(params, given, is_outside)?;
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
        self.run(decl, &instance, given)
    }

    /// Emits a parser or control, with `given` as the arguments of its parameters.
    fn run(&mut self, decl: &'a Decl, instance: &Instance, given: Vec<Given<'a>>) -> Result<()> {
        let signature = match &*decl.kind {
            DeclKind::Parser(parser) => &parser.signature,
            DeclKind::Control(control) => &control.signature,
            _ => return self.unsupported(decl.span, format!("'{}'", decl.name.text)),
        };
        let copies = self.bind_all(&signature.params, given, true)?;
        self.framed(None, copies, |this| this.body_of(decl, instance))
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
                self.run_parser(parser, decl.span)
            }
            DeclKind::Control(control) => {
                self.enter(&control.locals, &instance.path);
                for local in &control.locals {
                    self.local(local)?;
                }
                self.block(&control.body)
            }
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
    ) -> Result<Option<String>> {
        let ExprKind::Member { base, .. } = &function.kind else {
            return self.unsupported(expr.span, "this call");
        };
        match builtin {
            Builtin::Size => self.unsupported(expr.span, "this size"),
            Builtin::IsValid => {
                let ty = self.ty(base);
                let place = self.place(base)?;
                Ok(Some(match ty {
                    Type::Fields(FieldsKind::HeaderUnion, _) => {
                        let parts: Vec<String> = self
                            .members(&ty)
                            .iter()
                            .map(|(name, _)| format!("{place}.{name}.valid_"))
                            .collect();
                        format!("(u8)({})", parts.join(" || "))
                    }
                    _ => format!("{place}.valid_"),
                }))
            }
            Builtin::SetValid | Builtin::SetInvalid => {
                let valid = u8::from(builtin == Builtin::SetValid);
                // At most one header of a union is valid.
                for choice in self.choices(base)? {
                    let places = [&[choice.place][..], &choice.siblings[..]].concat();
                    for (at, place) in places.into_iter().enumerate() {
                        let valid = if at == 0 { valid } else { 0 };
                        let statement = format!("{place}.valid_ = {valid};");
                        match &choice.condition {
                            Some(condition) => self.put(format!("if ({condition}) {statement}")),
                            None => self.put(statement),
                        }
                    }
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
                let place = self.place(base)?;
                let count = args
                    .first()
                    .and_then(|arg| self.constant(&arg.value))
                    .and_then(|value| value.number().and_then(ToPrimitive::to_u32));
                let Some(count) = count else {
                    return self
                        .unsupported(expr.span, "a number of elements that is not constant");
                };
                let count = count.min(size);
                if builtin == Builtin::PushFront {
                    for at in (count..size).rev() {
                        self.put(format!("{place}.e[{at}] = {place}.e[{}];", at - count));
                    }
                    for at in 0..count {
                        self.put(format!("{place}.e[{at}].valid_ = 0;"));
                    }
                } else {
                    for at in 0..size - count {
                        self.put(format!("{place}.e[{at}] = {place}.e[{}];", at + count));
                    }
                    for at in size - count..size {
                        self.put(format!("{place}.e[{at}].valid_ = 0;"));
                    }
                }
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
    ) -> Result<Option<String>> {
        let span = expr.span;
        let object = self.object_of(base);
        let first = match given.first() {
            Some(Given::Expr(expr)) => Some(*expr),
            _ => None,
        };
        match (object, name) {
            (Some(Binding::PacketIn), "extract") => {
                let Some(target) = first else { return Ok(None) };
                let width = match given.get(1) {
                    Some(Given::Expr(expr)) => Some(*expr),
                    _ => None,
                };
                self.extract(target, width)?;
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
            (Some(Binding::PacketIn), "length") => Ok(Some("packet_length".to_owned())),
            (Some(Binding::PacketOut), "emit") => {
                if let Some(value) = first {
                    let ty = match self.ty(value) {
                        Type::ListLiteral(types, _) => Type::Tuple(types),
                        ty => ty,
                    };
                    let place = self.place_as(value, &ty)?;
                    self.emit(&place, &ty, span)?;
                }
                Ok(None)
            }
            (Some(Binding::Instance(instance)), _) => {
                self.object_method(expr, &instance, name, given)
            }
            _ => self.unsupported(span, format!("method '{name}'")),
        }
    }
}
