//! Checks calls and constructors: overloads, arguments, and the contexts that allow them (sections
//! 8.20, 10 to 14 of the specification).

use std::rc::Rc;

use super::*;

impl<'a> Checker<'a> {
    /// Checks a call, and returns the type of its result.
    pub(super) fn call(
        &mut self,
        expr: &'a Expr,
        function: &'a Expr,
        type_args: &'a [TypeRef],
        args: &'a [Arg],
    ) -> Type {
        let given: Vec<Type> = self.with_blanks(Blanks::Inferred, |this| {
            type_args.iter().map(|ty| this.resolve_type(ty, false)).collect()
        });
        match &function.kind {
            ExprKind::Type(written) => self.construct(expr, written, args),
            ExprKind::Name { name, absolute } => self.call_name(expr, name, *absolute, given, args),
            ExprKind::Member { base, name } => self.call_member(expr, base, name, given, args),
            _ => {
                let ty = self.expression(function);
                if ty == Type::Unknown {
                    ty
                } else {
                    self.type_fault(function.span, format!("{ty} cannot be called"))
                }
            }
        }
    }

    fn call_name(
        &mut self,
        expr: &'a Expr,
        name: &'a Ident,
        absolute: bool,
        given: Vec<Type>,
        args: &'a [Arg],
    ) -> Type {
        let found = self.find(&name.text, absolute).to_vec();
        let mut candidates = Vec::new();
        for entity in &found {
            let Entity::Decl(decl) = entity else { continue };
            let callee = match &*decl.kind {
                DeclKind::Function(_) => Callee::Function(decl.id),
                DeclKind::ExternFunction(_) => Callee::ExternFunction(decl.id),
                DeclKind::Action { .. } => Callee::Action(decl.id),
                _ => continue,
            };
            if let Some(signature) = self.out.signatures.get(&decl.id) {
                candidates.push((callee, signature.clone()));
            }
        }
        if candidates.is_empty() {
            self.check_args_alone(args);
            return match found.last() {
                None => self.name_fault(name.span, format!("'{}' is not declared", name.text)),
                Some(_) => self.type_fault(name.span, format!("'{}' cannot be called", name.text)),
            };
        }
        let Some((callee, signature)) = self.choose(expr.span, &name.text, candidates, args) else {
            self.check_args_alone(args);
            return Type::Unknown;
        };
        if matches!(callee, Callee::ExternFunction(_))
            && &*name.text == "verify"
            && self.place != Place::Parser
        {
            self.check_args_alone(args);
            return self.type_fault(expr.span, "verify can be called in parsers only");
        }
        if matches!(callee, Callee::Action(_))
            && matches!(self.place, Place::Parser | Place::Function)
        {
            return self.type_fault(
                expr.span,
                format!(
                    "action '{}' cannot be called here; only controls and actions can call it",
                    name.text
                ),
            );
        }
        self.call_signature(expr, callee, &signature, &[], given, args)
    }

    /// Checks the arguments of a call whose callee has an error. Errors in the arguments are still
    /// reported, and names in them are resolved.
    fn check_args_alone(&mut self, args: &'a [Arg]) {
        for arg in args {
            self.expression(&arg.value);
        }
    }

    fn call_member(
        &mut self,
        expr: &'a Expr,
        base: &'a Expr,
        name: &'a Ident,
        given: Vec<Type>,
        args: &'a [Arg],
    ) -> Type {
        let base_type = self.expression(base);
        let text = &*name.text;
        if matches!(text, "minSizeInBits" | "minSizeInBytes" | "maxSizeInBits" | "maxSizeInBytes") {
            let ty =
                if let Type::Name(ty) = &base_type { (**ty).clone() } else { base_type.clone() };
            if !matches!(ty, Type::Extern(_) | Type::Unknown) {
                if let [written, ..] = args {
                    return self.type_fault(written.value.span, format!("{text} has no arguments"));
                }
                if !given.is_empty() {
                    return self.type_fault(expr.span, format!("{text} has no type arguments"));
                }
                return self.size_call(expr, &ty, text);
            }
        }
        match &base_type {
            Type::Unknown => {
                self.check_args_alone(args);
                Type::Unknown
            }
            Type::Name(ty) if text == "apply" => match &**ty {
                Type::Parser(named) | Type::Control(named) => {
                    let named = named.clone();
                    if self
                        .out
                        .constructors
                        .get(&named.id)
                        .is_some_and(|one| one.params.iter().any(|param| !param.is_optional))
                    {
                        return self.type_fault(
                            base.span,
                            format!(
                                "'{}' has constructor parameters; declare an instance",
                                named.name
                            ),
                        );
                    }
                    let is_abstract = self.decls.get(&named.id).is_some_and(|decl| {
                        matches!(*decl.kind, DeclKind::ParserType(_) | DeclKind::ControlType(_))
                    });
                    if is_abstract {
                        return self.type_fault(base.span, format!("'{}' has no body", named.name));
                    }
                    self.apply(expr, &named, matches!(**ty, Type::Parser(_)), args)
                }
                other => self.type_fault(base.span, format!("{other} cannot be applied")),
            },
            Type::Parser(named) | Type::Control(named) if text == "apply" => {
                let named = named.clone();
                self.apply(expr, &named, matches!(base_type, Type::Parser(_)), args)
            }
            Type::Table(id) if text == "apply" => {
                let id = *id;
                if !args.is_empty() {
                    return self
                        .type_fault(args[0].value.span, "apply of a table has no arguments");
                }
                if !matches!(self.place, Place::Control | Place::Table) {
                    return self.type_fault(
                        expr.span,
                        "a table can be applied in the body of a control only",
                    );
                }
                self.record(expr, Callee::Table(id), Vec::new(), Vec::new());
                Type::TableResult(id)
            }
            Type::Extern(named) => {
                let named = named.clone();
                self.call_method(expr, &named, name, given, args)
            }
            Type::Fields(kind @ (FieldsKind::Header | FieldsKind::HeaderUnion), _)
                if matches!(text, "isValid" | "setValid" | "setInvalid") =>
            {
                let builtin = match text {
                    "isValid" => Builtin::IsValid,
                    "setValid" => Builtin::SetValid,
                    _ => Builtin::SetInvalid,
                };
                if let Some(arg) = args.first() {
                    return self.type_fault(arg.value.span, format!("{text} has no arguments"));
                }
                if *kind == FieldsKind::HeaderUnion && builtin != Builtin::IsValid {
                    return self.name_fault(
                        name.span,
                        format!("a header_union has no method '{text}'; use a header in it"),
                    );
                }
                if builtin != Builtin::IsValid && !self.is_writable(base) {
                    return self.type_fault(base.span, "this header cannot be changed here");
                }
                self.record(expr, Callee::Builtin(builtin), Vec::new(), Vec::new());
                if builtin == Builtin::IsValid { Type::Bool } else { Type::Void }
            }
            Type::Stack(..) if matches!(text, "push_front" | "pop_front") => {
                let builtin =
                    if text == "push_front" { Builtin::PushFront } else { Builtin::PopFront };
                let [arg] = args else {
                    return self.type_fault(
                        expr.span,
                        format!("{text} has one argument, the number of elements"),
                    );
                };
                let ty = self.expression(&arg.value);
                if !ty.is_number() {
                    return self
                        .type_fault(arg.value.span, format!("{ty} is not a number of elements"));
                }
                let value =
                    self.out.constants.get(&arg.value.id).and_then(|value| value.number().cloned());
                match value {
                    None if !self.is_compile_time(&arg.value) => {
                        return self.type_fault(
                            arg.value.span,
                            "the number of elements must be known when the program is compiled",
                        );
                    }
                    Some(count) if count < BigInt::ZERO => {
                        return self.type_fault(
                            arg.value.span,
                            "the number of elements cannot be negative",
                        );
                    }
                    _ => {}
                }
                if !self.is_writable(base) {
                    return self.type_fault(base.span, "this stack cannot be changed here");
                }
                self.record(expr, Callee::Builtin(builtin), Vec::new(), vec![Some(0)]);
                Type::Void
            }
            other => {
                let message = format!("{other} has no method '{text}'");
                self.name_fault(name.span, message)
            }
        }
    }

    fn record(
        &mut self,
        expr: &Expr,
        callee: Callee,
        type_args: Vec<Type>,
        args: Vec<Option<usize>>,
    ) {
        self.out.calls.insert(expr.id, Call { callee, type_args, args });
    }

    fn apply(&mut self, expr: &'a Expr, named: &Named, is_parser: bool, args: &'a [Arg]) -> Type {
        let fits =
            if is_parser { self.place == Place::Parser } else { self.place == Place::Control };
        if !fits {
            let (what, place) = if is_parser {
                ("parser", "states of parsers")
            } else {
                ("control", "the body of a control")
            };
            return self.type_fault(expr.span, format!("a {what} can be applied in {place} only"));
        }
        let params = self.apply_params(named);
        let signature = SignatureType { type_params: Vec::new(), result: Type::Void, params };
        self.call_signature(expr, Callee::Apply(named.id), &signature, &[], Vec::new(), args)
    }

    fn call_method(
        &mut self,
        expr: &'a Expr,
        named: &Named,
        name: &'a Ident,
        given: Vec<Type>,
        args: &'a [Arg],
    ) -> Type {
        let Some(DeclKind::Extern(object)) = self.decls.get(&named.id).map(|decl| &*decl.kind)
        else {
            return Type::Unknown;
        };
        let mut candidates = Vec::new();
        for method in object
            .methods
            .iter()
            .filter(|method| method.name.text == name.text && method.signature.result.is_some())
        {
            if let Some(signature) = self.out.signatures.get(&method.id) {
                candidates.push((
                    Callee::Method { object: named.id, method: method.id },
                    signature.clone(),
                ));
            }
        }
        if candidates.is_empty() {
            self.check_args_alone(args);
            return self.name_fault(name.span, format!("{named} has no method '{}'", name.text));
        }
        let Some((callee, signature)) = self.choose(expr.span, &name.text, candidates, args) else {
            self.check_args_alone(args);
            return Type::Unknown;
        };
        let outer = self.with_args(named);
        let result = self.call_signature(expr, callee, &signature, &outer, given, args);
        if &*named.name == "packet_in" {
            self.check_packet_call(expr, &name.text, args, &result);
        }
        result
    }

    /// Checks the types of the headers that `packet_in` extracts, and of `lookahead` (section
    /// 13.8).
    fn check_packet_call(&mut self, expr: &'a Expr, method: &str, args: &'a [Arg], result: &Type) {
        match (method, args) {
            ("extract", [first, rest @ ..]) => {
                let ty = self.out.type_of(&first.value).clone();
                if matches!(ty, Type::Unknown | Type::Default | Type::Param(..)) {
                    return;
                }
                let Type::Fields(FieldsKind::Header, named) = &ty else {
                    self.type_fault(first.value.span, format!("extract needs a header, not {ty}"));
                    return;
                };
                let varies =
                    self.out.fields_of(named).iter().any(|(_, ty)| matches!(ty, Type::Varbit(_)));
                let varbits = self
                    .out
                    .fields_of(named)
                    .iter()
                    .filter(|(_, ty)| matches!(ty, Type::Varbit(_)))
                    .count();
                if varbits > 1 {
                    self.type_fault(
                        first.value.span,
                        format!(
                            "header {named} has {varbits} varbit fields, and extract supports one"
                        ),
                    );
                } else if varies && rest.is_empty() {
                    self.type_fault(first.value.span, format!("header {named} has a varbit field, so extract needs its size as second argument"));
                } else if !varies && !rest.is_empty() {
                    self.type_fault(
                        first.value.span,
                        format!("header {named} has no varbit field, so extract has one argument"),
                    );
                }
            }
            ("lookahead", _)
                if !matches!(result, Type::Unknown | Type::Param(..))
                    && self.bits(result).is_none_or(|(least, most)| least != most) =>
            {
                self.type_fault(
                    expr.span,
                    format!("lookahead needs a type of fixed width, not {result}"),
                );
            }
            _ => {}
        }
    }

    /// Returns the type parameters of a declared type, each with its type argument. A new type
    /// variable replaces a missing type argument.
    pub(super) fn with_args(&mut self, named: &Named) -> Vec<(DeclId, Type)> {
        let params = self.out.type_params.get(&named.id).cloned().unwrap_or_default();
        params
            .iter()
            .enumerate()
            .map(|(at, param)| {
                (param.0, named.args.get(at).cloned().unwrap_or_else(|| self.fresh()))
            })
            .collect()
    }

    /// Returns the function or method, among several of the same name, whose parameters match the
    /// arguments in number and names.
    fn choose(
        &mut self,
        span: Span,
        name: &str,
        candidates: Vec<(Callee, Rc<SignatureType>)>,
        args: &'a [Arg],
    ) -> Option<(Callee, Rc<SignatureType>)> {
        let mut reason = None;
        let mut chosen: Option<(Callee, Rc<SignatureType>)> = None;
        for (callee, signature) in candidates {
            match match_args(&signature.params, args) {
                Ok(_) => match &chosen {
                    Some((_, other)) if other.params.len() == signature.params.len() => {
                        self.type_fault(
                            span,
                            format!("several declarations of '{name}' fit; name the arguments"),
                        );
                        return None;
                    }
                    Some(_) => {}
                    None => chosen = Some((callee, signature)),
                },
                Err(fault) => reason = reason.or(Some(fault)),
            }
        }
        if chosen.is_some() {
            return chosen;
        }
        let (at, message) = reason.unwrap_or((None, String::from("no declaration fits")));
        self.type_fault(at.unwrap_or(span), format!("'{name}': {message}"));
        None
    }

    /// Checks the arguments against a signature, infers type arguments, and returns the result
    /// type.
    fn call_signature(
        &mut self,
        expr: &'a Expr,
        callee: Callee,
        signature: &SignatureType,
        outer: &[(DeclId, Type)],
        given: Vec<Type>,
        args: &'a [Arg],
    ) -> Type {
        if !given.is_empty() && given.len() != signature.type_params.len() {
            self.check_args_alone(args);
            return self.type_fault(
                expr.span,
                format!(
                    "{} type arguments are given, and {} are needed",
                    given.len(),
                    signature.type_params.len()
                ),
            );
        }
        let own: Vec<(DeclId, Type)> = signature
            .type_params
            .iter()
            .enumerate()
            .map(|(at, param)| (param.0, given.get(at).cloned().unwrap_or_else(|| self.fresh())))
            .collect();
        let by =
            |id: DeclId| own.iter().chain(outer).find(|one| one.0 == id).map(|one| one.1.clone());
        let params: Vec<ParamType> = signature
            .params
            .iter()
            .map(|param| ParamType { ty: param.ty.replace(&by), ..param.clone() })
            .collect();
        let matched = match match_args(&params, args) {
            Ok(matched) => matched,
            Err((at, message)) => {
                self.check_args_alone(args);
                return self.type_fault(at.unwrap_or(expr.span), message);
            }
        };
        let before = self.errors.len();
        let mut fits = true;
        for (param, at) in params.iter().zip(&matched) {
            let Some(arg) = at.map(|at| &args[at]) else { continue };
            let found = self.expression(&arg.value);
            let found = self.must_be_value_of(&arg.value, found, &param.ty);
            if found == Type::Unknown {
                fits = false;
                continue;
            }
            let wanted = self.known(&param.ty);
            if !self.unify(&wanted, &found) {
                self.type_fault(
                    arg.value.span,
                    format!(
                        "argument '{}' has type {found}, and {} is needed",
                        param.name,
                        self.known(&wanted)
                    ),
                );
                fits = false;
            }
        }
        for (param, at) in params.iter().zip(&matched) {
            let Some(arg) = at.map(|at| &args[at]) else { continue };
            if *self.out.type_of(&arg.value) == Type::Unknown {
                continue;
            }
            let wanted = self.known(&param.ty);
            if fits {
                self.set_type(&arg.value, &wanted);
            }
            self.check_direction(callee, param, &wanted, arg);
        }
        if self.errors.len() > before {
            fits = false;
        }
        let type_args: Vec<Type> = own.iter().map(|(_, ty)| self.known(ty)).collect();
        if fits {
            if let Some(at) = type_args.iter().position(|ty| matches!(ty, Type::Var(_)))
                && given.is_empty()
                && matched.iter().all(Option::is_some)
            {
                let name = &signature.type_params[at].1;
                return self.type_fault(
                    expr.span,
                    format!("type argument '{name}' cannot be inferred; write it in <…>"),
                );
            }
            for ((param, written), at) in params.iter().zip(&signature.params).zip(&matched) {
                let (Type::Param(..), Some(at)) = (&written.ty, at) else { continue };
                let span = args[*at].value.span;
                let has_direction = param.direction != Direction::None;
                match self.known(&param.ty) {
                    Type::Integer if has_direction || matches!(callee, Callee::Function(_)) => {
                        return self.type_fault(
                            span,
                            format!("argument '{}' needs a width; write a cast", param.name),
                        );
                    }
                    Type::Text if has_direction => {
                        return self.type_fault(
                            span,
                            format!("argument '{}' cannot be a string", param.name),
                        );
                    }
                    ty @ (Type::Parser(_) | Type::Control(_) | Type::Package(_)) => {
                        return self.type_fault(
                            span,
                            format!("argument '{}' cannot be the {ty}", param.name),
                        );
                    }
                    _ => {}
                }
            }
            if let Callee::ExternFunction(id) = callee
                && self.decls.get(&id).is_some_and(|decl| &*decl.name.text == "static_assert")
            {
                return self.static_assertion(expr, args, &matched);
            }
            if let Some(ty) = type_args.iter().find(|ty| matches!(ty, Type::RecordLiteral(..))) {
                return self.type_fault(
                    expr.span,
                    format!("the struct type of {ty} cannot be inferred; write a cast"),
                );
            }
        }
        self.record(expr, callee, type_args, matched);
        let result = self.known(&signature.result.replace(&by));
        if fits {
            result
        } else if result.contains(&|part| matches!(part, Type::Var(_))) {
            Type::Unknown
        } else {
            result
        }
    }

    /// Evaluates a call of `static_assert` (section 19) and reports a condition that is false.
    fn static_assertion(&mut self, expr: &Expr, args: &[Arg], matched: &[Option<usize>]) -> Type {
        let value = |at: usize| {
            let arg = matched.get(at).copied().flatten().map(|at| &args[at])?;
            self.out.constants.get(&arg.value.id).cloned()
        };
        match (value(0), value(1)) {
            (Some(Value::Bool(false)), Some(Value::Text(text))) => {
                return self.type_fault(expr.span, format!("static_assert: {text}"));
            }
            (Some(Value::Bool(false)), _) => {
                return self.type_fault(expr.span, "static_assert: the condition is false");
            }
            (Some(value), _) => {
                self.out.constants.insert(expr.id, value);
            }
            _ => {}
        }
        Type::Bool
    }

    /// Returns the type of an argument, or reports an error if the argument is not a value.
    /// Instances are allowed for parameters of an extern, parser, control or package type.
    fn must_be_value_of(&mut self, expr: &Expr, found: Type, wanted: &Type) -> Type {
        match (&found, wanted) {
            (Type::Name(_), _) | (Type::Void, _) => self.must_be_value(expr, found),
            (Type::Action(_) | Type::Function | Type::Table(_) | Type::State, wanted)
                if !matches!(wanted, Type::Unknown) =>
            {
                self.must_be_value(expr, found)
            }
            _ => found,
        }
    }

    fn check_direction(&mut self, callee: Callee, param: &ParamType, wanted: &Type, arg: &'a Arg) {
        let span = arg.value.span;
        match param.direction {
            Direction::Out | Direction::InOut => {
                if matches!(arg.value.kind, ExprKind::DontCare) && param.direction == Direction::Out
                {
                    return;
                }
                if !self.is_writable(&arg.value) {
                    let what = format!(
                        "argument '{}' must be a variable or field that can be written",
                        param.name
                    );
                    let advice = self.direction_advice(&arg.value);
                    self.type_fault(span, what + &advice);
                    return;
                }
                let found = self.out.type_of(&arg.value).clone();
                if found != *wanted && !matches!(wanted, Type::Unknown | Type::Var(_)) {
                    self.type_fault(
                        span,
                        format!(
                            "argument '{}' has type {found}, and exactly {wanted} is needed",
                            param.name
                        ),
                    );
                }
            }
            Direction::None if !matches!(callee, Callee::Action(_)) => {
                if matches!(arg.value.kind, ExprKind::DontCare) {
                    return;
                }
                let is_object = matches!(
                    wanted,
                    Type::Extern(_) | Type::Parser(_) | Type::Control(_) | Type::Package(_)
                );
                if !is_object && !self.is_compile_time(&arg.value) {
                    self.type_fault(
                        span,
                        format!(
                            "argument '{}' must be known when the program is compiled",
                            param.name
                        ),
                    );
                }
            }
            Direction::In if matches!(arg.value.kind, ExprKind::DontCare) => {
                self.type_fault(span, format!("argument '{}' needs a value", param.name));
            }
            _ => {}
        }
    }

    /// Returns advice for an expression that the program must not change because it is part of a
    /// parameter: the direction that the parameter needs. Empty for other expressions.
    pub(super) fn direction_advice(&self, expr: &Expr) -> String {
        let mut root = expr;
        while let ExprKind::Member { base, .. }
        | ExprKind::Index { base, .. }
        | ExprKind::Slice { base, .. }
        | ExprKind::PlusSlice { base, .. } = &root.kind
        {
            root = base;
        }
        let found = self.out.uses.get(&root.id).and_then(|id| {
            self.scopes.iter().rev().flat_map(HashMap::values).flatten().find_map(|one| match one {
                Entity::Param(param) if param.id == *id => Some(*param),
                _ => None,
            })
        });
        let Some(param) = found else { return String::new() };
        let name = &param.name.text;
        match param.direction {
            Direction::None => format!("; '{name}' has no direction, declare it with inout or out"),
            Direction::In => format!("; '{name}' is an in parameter, declare it with inout or out"),
            _ => String::new(),
        }
    }

    /// Returns true if the expression can be the target of an assignment.
    pub(super) fn is_writable(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name { .. } => {
                let Some(id) = self.out.uses.get(&expr.id) else {
                    return *self.out.type_of(expr) == Type::Unknown;
                };
                if let Some(decl) = self.decls.get(id) {
                    return matches!(*decl.kind, DeclKind::Variable { .. });
                }
                self.scopes.iter().rev().flat_map(HashMap::values).flatten().any(|entity| {
                    matches!(entity, Entity::Param(param) if param.id == *id && matches!(param.direction, Direction::Out | Direction::InOut))
                })
            }
            ExprKind::Member { base, name } => {
                let fields = match self.out.type_of(base) {
                    Type::Fields(..) => true,
                    Type::Stack(..) => matches!(&*name.text, "next" | "last"),
                    _ => false,
                };
                fields && self.is_writable(base)
            }
            ExprKind::Index { base, .. } => self.is_writable(base),
            ExprKind::Slice { base, .. } | ExprKind::PlusSlice { base, .. } => {
                self.is_writable(base)
            }
            _ => false,
        }
    }

    /// Checks the constructor call `type(arguments)`, and returns the type of the new object.
    pub(super) fn construct(
        &mut self,
        expr: &'a Expr,
        written: &'a TypeRef,
        args: &'a [Arg],
    ) -> Type {
        let ty = self.with_blanks(Blanks::Inferred, |this| this.resolve_type(written, true));
        if let Type::Extern(named) = &ty
            && let Some(DeclKind::Extern(object)) =
                self.decls.get(&named.id).map(|decl| &*decl.kind)
            && object.methods.iter().any(|method| method.is_abstract)
        {
            return self.type_fault(
                written.span,
                format!("{named} has abstract methods; declare an instance with these methods"),
            );
        }
        let result = self.construct_type(Some(expr), written.span, &ty, args);
        self.out.types[expr.id.0 as usize] = result.clone();
        result
    }

    /// Checks the arguments of a constructor, and returns the constructed type with its type
    /// arguments.
    pub(super) fn construct_type(
        &mut self,
        expr: Option<&'a Expr>,
        span: Span,
        ty: &Type,
        args: &'a [Arg],
    ) -> Type {
        let named = match ty {
            Type::Extern(named)
            | Type::Parser(named)
            | Type::Control(named)
            | Type::Package(named) => named.clone(),
            Type::Unknown => {
                self.check_args_alone(args);
                return Type::Unknown;
            }
            other => {
                self.check_args_alone(args);
                return self.type_fault(span, format!("{other} has no constructor"));
            }
        };
        let Some(decl) = self.decls.get(&named.id).copied() else { return Type::Unknown };
        let mut candidates: Vec<(Option<DeclId>, Rc<SignatureType>)> = Vec::new();
        match &*decl.kind {
            DeclKind::Extern(object) => {
                for method in
                    object.methods.iter().filter(|method| method.signature.result.is_none())
                {
                    candidates.extend(
                        self.out
                            .signatures
                            .get(&method.id)
                            .map(|one| (Some(method.id), one.clone())),
                    );
                }
            }
            DeclKind::ParserType(_) | DeclKind::ControlType(_) => {
                return self.type_fault(
                    span,
                    format!("'{}' has no body, so it has no instances", named.name),
                );
            }
            DeclKind::PackageType(_) => {
                candidates.extend(self.out.signatures.get(&named.id).map(|one| (None, one.clone())))
            }
            _ => candidates
                .extend(self.out.constructors.get(&named.id).map(|one| (None, one.clone()))),
        }
        let mut reason = None;
        let mut chosen = None;
        for (constructor, signature) in candidates {
            match match_args(&signature.params, args) {
                Ok(matched) => {
                    chosen = Some((constructor, signature, matched));
                    break;
                }
                Err(fault) => reason = reason.or(Some(fault)),
            }
        }
        let Some((constructor, signature, matched)) = chosen else {
            self.check_args_alone(args);
            let (at, message) =
                reason.unwrap_or((None, format!("'{}' has no constructor", named.name)));
            return self.type_fault(at.unwrap_or(span), message);
        };
        let outer = self.with_args(&named);
        let by = |id: DeclId| outer.iter().find(|one| one.0 == id).map(|one| one.1.clone());
        let mut fits = true;
        let defaults = match &*decl.kind {
            DeclKind::PackageType(written) => &written.params[..],
            _ => &[],
        };
        for (number, (param, at)) in signature.params.iter().zip(&matched).enumerate() {
            let wanted = self.known(&param.ty.replace(&by));
            let Some(arg) = at.map(|at| &args[at]) else {
                if let Some(default) = defaults.get(number).and_then(|param| param.default.as_ref())
                {
                    let found = self.out.type_of(default).replace(&by);
                    if !self.unify(&wanted, &found) {
                        self.type_fault(span, format!("the default value of '{}' has type {found}, and {wanted} is needed", param.name));
                        fits = false;
                    }
                }
                continue;
            };
            let found = self.expression(&arg.value);
            let found = self.must_be_value_of(&arg.value, found, &param.ty);
            if found == Type::Unknown {
                fits = false;
            } else if !self.unify(&wanted, &found) {
                let wanted = self.known(&wanted);
                let advice = self.other_direction(&wanted, &found);
                let advice = advice.map_or(String::new(), |advice| format!("; {advice}"));
                self.type_fault(
                    arg.value.span,
                    format!(
                        "argument '{}' of '{}' has type {found}, and {wanted} is needed{advice}",
                        param.name, named.name
                    ),
                );
                fits = false;
            }
        }
        for (param, at) in signature.params.iter().zip(&matched) {
            let Some(arg) = at.map(|at| &args[at]) else { continue };
            if fits {
                let wanted = self.known(&param.ty.replace(&by));
                self.set_type(&arg.value, &wanted);
            }
            if !matches!(arg.value.kind, ExprKind::DontCare) && !self.is_compile_time(&arg.value) {
                self.type_fault(
                    arg.value.span,
                    format!("argument '{}' must be known when the program is compiled", param.name),
                );
            }
        }
        let type_args: Vec<Type> = outer.iter().map(|(_, ty)| self.known(ty)).collect();
        if let Some(expr) = expr {
            self.record(
                expr,
                Callee::Constructor(named.id, constructor),
                type_args.clone(),
                matched.clone(),
            );
        }
        if fits && type_args.iter().any(|ty| matches!(ty, Type::RecordLiteral(..))) {
            return self.type_fault(span, "a struct type cannot be inferred; write a cast");
        }
        let named = Named { args: type_args.into(), ..named };
        let has_gap = |ty: &Type| ty.contains(&|part| matches!(part, Type::Var(_)));
        let gap = match ty {
            Type::Extern(one) => one.args.is_empty() && named.args.iter().any(has_gap),
            // An optional argument that is missing leaves its type open.
            Type::Package(one) => {
                one.args.is_empty()
                    && signature.params.iter().zip(&matched).zip(defaults).any(
                        |((param, at), written)| {
                            (at.is_some() || written.default.is_some())
                                && has_gap(&self.known(&param.ty.replace(&by)))
                        },
                    )
            }
            _ => false,
        };
        if fits && gap {
            return self.type_fault(
                span,
                format!("type arguments of '{}' cannot be inferred; write them in <…>", named.name),
            );
        }
        match ty {
            Type::Extern(_) => Type::Extern(named),
            Type::Parser(_) => Type::Parser(named),
            Type::Control(_) => Type::Control(named),
            _ => Type::Package(named),
        }
    }

    fn size_call(&mut self, expr: &'a Expr, ty: &Type, text: &str) -> Type {
        let Some((least, most)) = self.bits(ty) else {
            return self.type_fault(expr.span, format!("{ty} has no size"));
        };
        let bits = if text.starts_with("min") { least } else { most };
        let size = if text.ends_with("Bytes") { bits.div_ceil(8) } else { bits };
        self.out.constants.insert(expr.id, Value::Number(BigInt::from(size)));
        self.record(expr, Callee::Builtin(Builtin::Size), Vec::new(), Vec::new());
        Type::Integer
    }

    /// Returns the smallest and the largest size in bits of values of a type; `None` if it has no
    /// size.
    fn bits(&self, ty: &Type) -> Option<(u64, u64)> {
        Some(match ty {
            Type::Bool => (1, 1),
            Type::Bit(width) | Type::Int(width) => (u64::from(*width), u64::from(*width)),
            Type::Varbit(width) => (0, u64::from(*width)),
            Type::Enum(_, Some(of)) | Type::New(_, of) => self.bits(of)?,
            Type::Tuple(types) => {
                let mut sum = (0u64, 0u64);
                for ty in types.iter() {
                    let (least, most) = self.bits(ty)?;
                    sum = (sum.0.saturating_add(least), sum.1.saturating_add(most));
                }
                sum
            }
            Type::Stack(of, size) => {
                let (least, most) = self.bits(of)?;
                (least.saturating_mul(u64::from(*size)), most.saturating_mul(u64::from(*size)))
            }
            Type::Fields(kind, named) => {
                let mut sum: Option<(u64, u64)> = None;
                for (_, ty) in self.out.fields_of(named) {
                    let (least, most) = self.bits(&ty)?;
                    sum = Some(match (sum, kind) {
                        (None, _) => (least, most),
                        (Some(sum), FieldsKind::HeaderUnion) => (sum.0.min(least), sum.1.max(most)),
                        (Some(sum), _) => (sum.0.saturating_add(least), sum.1.saturating_add(most)),
                    });
                }
                sum.unwrap_or((0, 0))
            }
            _ => return None,
        })
    }
}

/// An error in the arguments of a call: source position (`None` for the whole call), and message.
type Mismatch = (Option<Span>, String);

/// Assigns arguments to parameters. Returns, for each parameter, the index of its argument; `None`
/// for a parameter without argument.
pub(super) fn match_args(
    params: &[ParamType],
    args: &[Arg],
) -> Result<Vec<Option<usize>>, Mismatch> {
    let named = args.iter().filter(|arg| arg.name.is_some()).count();
    if named != 0 && named != args.len() {
        return Err((None, "either all arguments have names, or none".into()));
    }
    let mut matched = vec![None; params.len()];
    for (at, arg) in args.iter().enumerate() {
        let to = match &arg.name {
            Some(name) => match params.iter().position(|param| param.name == name.text) {
                Some(to) => to,
                None => {
                    return Err((
                        Some(name.span),
                        format!("there is no parameter '{}'", name.text),
                    ));
                }
            },
            None if at < params.len() => at,
            None => {
                return Err((
                    None,
                    format!("{} arguments are given, and {} are needed", args.len(), params.len()),
                ));
            }
        };
        if matched[to].replace(at).is_some() {
            return Err((
                Some(arg.value.span),
                format!("argument '{}' is given twice", params[to].name),
            ));
        }
    }
    if let Some(missing) =
        params.iter().zip(&matched).find(|(param, at)| at.is_none() && !param.is_optional)
    {
        return Err((None, format!("argument '{}' is missing", missing.0.name)));
    }
    Ok(matched)
}
