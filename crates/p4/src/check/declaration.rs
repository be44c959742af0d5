//! Checks declarations: constants, types, functions, externs, parsers and controls (sections 7, 10
//! to 14 of the specification).

use std::collections::HashSet;
use std::rc::Rc;

use super::*;

impl<'a> Checker<'a> {
    /// Checks a declaration and adds its name to the innermost scope.
    pub(super) fn declaration(&mut self, decl: &'a Decl) {
        self.annotations(&decl.annotations);
        match &*decl.kind {
            DeclKind::Const { ty, value } => {
                let ty = self.resolve_type(ty, false);
                if matches!(
                    ty,
                    Type::Extern(_)
                        | Type::Parser(_)
                        | Type::Control(_)
                        | Type::Package(_)
                        | Type::Void
                ) {
                    self.type_fault(decl.span, format!("a constant cannot have the type {ty}"));
                }
                self.expect_constant(value, &ty);
                self.finish(decl, ty);
            }
            DeclKind::Variable { ty, value } => {
                let ty = self.resolve_type(ty, false);
                if !resolve::can_be_element(&ty) {
                    self.type_fault(
                        decl.name.span,
                        format!("a variable cannot have the type {ty}"),
                    );
                }
                if let Some(value) = value {
                    self.expect(value, &ty);
                }
                self.finish(decl, ty);
            }
            DeclKind::Instance { ty, args, methods } => {
                self.instance(decl, ty, args, methods.as_deref())
            }
            DeclKind::Function(function) => {
                let signature = self.scoped(|this| {
                    let signature = this.signature(&function.signature, Place::Function);
                    this.no_optional(&function.signature.params, "a function with a body");
                    // A function is not in scope in its own body.
                    let result = this.result.replace(signature.result.clone());
                    this.scoped(|this| {
                        this.within(Place::Function, |this| this.block(&function.body))
                    });
                    if !matches!(signature.result, Type::Void | Type::Unknown)
                        && !statement::always_returns(&function.body)
                    {
                        this.type_fault(
                            decl.name.span,
                            format!(
                                "function '{}' does not return a value on all paths",
                                decl.name.text
                            ),
                        );
                    }
                    this.result = result;
                    signature
                });
                self.overload(decl, &signature);
                self.out.signatures.insert(decl.id, Rc::new(signature));
                self.declare(&decl.name, Entity::Decl(decl));
            }
            DeclKind::ExternFunction(written) => {
                let signature = self.scoped(|this| this.signature(written, Place::Function));
                self.overload(decl, &signature);
                self.out.signatures.insert(decl.id, Rc::new(signature));
                self.declare(&decl.name, Entity::Decl(decl));
            }
            DeclKind::Extern(object) => self.extern_type(decl, object),
            DeclKind::Action { params, body } => self.action(decl, params, body),
            DeclKind::Parser(parser) => self.parser(decl, parser),
            DeclKind::Control(control) => self.control(decl, control),
            DeclKind::ParserType(written) => {
                self.generic_type(decl, &written.type_params, Type::Parser);
                let signature = self.scoped(|this| this.signature(written, Place::Parser));
                self.out.signatures.insert(decl.id, Rc::new(signature));
            }
            DeclKind::ControlType(written) => {
                self.generic_type(decl, &written.type_params, Type::Control);
                let signature = self.scoped(|this| this.signature(written, Place::Control));
                self.out.signatures.insert(decl.id, Rc::new(signature));
            }
            DeclKind::PackageType(written) => {
                self.generic_type(decl, &written.type_params, Type::Package);
                let signature = self.scoped(|this| this.signature(written, Place::Top));
                self.out.signatures.insert(decl.id, Rc::new(signature));
            }
            DeclKind::Fields(fields) => {
                // The fields come first: a struct cannot contain itself.
                let types = self.scoped(|this| {
                    for param in &fields.type_params {
                        this.declare(&param.name, Entity::TypeParam(param));
                    }
                    this.field_types(fields, &decl.name)
                });
                self.out.fields.insert(decl.id, types);
                let kind = fields.kind;
                self.generic_type(decl, &fields.type_params, |named| Type::Fields(kind, named));
            }
            DeclKind::Enum { ty, members } => self.enumeration(decl, ty.as_ref(), members),
            DeclKind::Error(members) => {
                for member in members {
                    if self.out.errors.contains(&member.text) {
                        self.name_fault(
                            member.span,
                            format!("error '{}' is declared twice", member.text),
                        );
                    }
                    self.out.errors.push(member.text.clone());
                }
            }
            DeclKind::MatchKind(members) => {
                for member in members {
                    if self.out.match_kinds.contains(&member.text) {
                        self.name_fault(
                            member.span,
                            format!("match_kind '{}' is declared twice", member.text),
                        );
                    }
                    self.out.match_kinds.push(member.text.clone());
                    self.match_kinds.insert(member.text.clone(), decl.id);
                }
            }
            DeclKind::Typedef(ty) => {
                let span = ty.span;
                let ty = self.resolve_type(ty, false);
                if matches!(ty, Type::Void | Type::MatchKind) {
                    self.type_fault(span, format!("{ty} cannot have another name"));
                }
                self.finish(decl, ty);
            }
            DeclKind::NewType(ty) => {
                let span = ty.span;
                let ty = self.resolve_type(ty, false);
                let fits = matches!(
                    ty,
                    Type::Bit(_)
                        | Type::Int(_)
                        | Type::Bool
                        | Type::New(..)
                        | Type::Varbit(_)
                        | Type::Enum(_, Some(_))
                        | Type::Unknown
                );
                if !fits {
                    self.type_fault(span, format!("a new type cannot be made of {ty}; only of bit, int, bool, varbit and serializable enums"));
                }
                let named = Named { id: decl.id, name: decl.name.text.clone(), args: Rc::new([]) };
                let ty = self.sized(span, Type::New(named, Rc::new(ty)), &mut MOST_PARTS.clone());
                self.finish(decl, ty);
            }
            DeclKind::Table(table) => self.table(decl, table),
            DeclKind::ValueSet { ty, size } => {
                let span = ty.span;
                let ty = self.resolve_type(ty, false);
                if matches!(ty, Type::Integer | Type::Text | Type::Void) {
                    self.type_fault(span, format!("a value_set cannot have elements of type {ty}"));
                }
                self.width(size, 0);
                self.finish(decl, ty);
            }
            DeclKind::TypeParam => {}
        }
    }

    /// Records the type of a declared name, and adds the name to the scope.
    fn finish(&mut self, decl: &'a Decl, ty: Type) {
        self.out.declared.insert(decl.id, ty);
        self.declare(&decl.name, Entity::Decl(decl));
    }

    /// Declares a type with type parameters.
    fn generic_type(
        &mut self,
        decl: &'a Decl,
        params: &'a [TypeParam],
        make: impl Fn(Named) -> Type,
    ) {
        let params: Vec<_> =
            params.iter().map(|param| (param.id, param.name.text.clone())).collect();
        self.out.type_params.insert(decl.id, params);
        let named = Named { id: decl.id, name: decl.name.text.clone(), args: Rc::new([]) };
        self.finish(decl, make(named));
    }

    /// Reports an error if an earlier function of the same name has the same parameters.
    fn overload(&mut self, decl: &'a Decl, signature: &SignatureType) {
        let names = |signature: &SignatureType| {
            signature.params.iter().map(|param| param.name.clone()).collect::<Vec<_>>()
        };
        let scope = self
            .scopes
            .last()
            .and_then(|scope| scope.get(&decl.name.text))
            .cloned()
            .unwrap_or_default();
        for one in scope {
            let Some(other) = self.out.signatures.get(&one.id()) else { continue };
            if other.params.len() == signature.params.len() && names(other) == names(signature) {
                self.name_fault(
                    decl.name.span,
                    format!("'{}' is declared twice with the same parameters", decl.name.text),
                );
                return;
            }
        }
    }

    /// Checks the type parameters and parameters of a signature, and adds their names to the
    /// innermost scope.
    fn signature(&mut self, written: &'a Signature, place: Place) -> SignatureType {
        for param in &written.type_params {
            self.declare(&param.name, Entity::TypeParam(param));
        }
        let result = match &written.result {
            Some(ty) => {
                let span = ty.span;
                let ty = self.resolve_type(ty, false);
                let is_object = matches!(ty, Type::Void | Type::Text | Type::Extern(_));
                if !resolve::can_be_element(&ty) && !is_object {
                    self.type_fault(span, format!("a function cannot return {ty}"));
                }
                ty
            }
            None => Type::Void,
        };
        let params = self.params(&written.params, place);
        let type_params =
            written.type_params.iter().map(|param| (param.id, param.name.text.clone())).collect();
        SignatureType { type_params, result, params }
    }

    fn params(&mut self, written: &'a [Param], place: Place) -> Vec<ParamType> {
        let mut params = Vec::new();
        for param in written {
            self.annotations(&param.annotations);
            let ty = match param.ty.kind {
                TypeRefKind::DontCare => self.resolve_type(&param.ty, false),
                _ => self.with_blanks(Blanks::Any, |this| this.resolve_type(&param.ty, false)),
            };
            let is_object = matches!(
                ty,
                Type::Extern(_) | Type::Parser(_) | Type::Control(_) | Type::Package(_)
            );
            let fits = match (&ty, param.direction) {
                (Type::Void | Type::MatchKind, _) => false,
                (Type::Integer | Type::Text, Direction::None) => place != Place::Action,
                (Type::Integer, Direction::In) => place == Place::Function,
                (Type::Integer | Type::Text, _) => false,
                (Type::Extern(_), Direction::None) => place != Place::Action,
                (Type::Parser(_) | Type::Control(_) | Type::Package(_), Direction::None) => {
                    place == Place::Top
                }
                _ => !is_object,
            };
            if !fits {
                let direction = match param.direction {
                    Direction::None => "a parameter",
                    Direction::In => "an in parameter",
                    Direction::Out => "an out parameter",
                    Direction::InOut => "an inout parameter",
                };
                self.type_fault(
                    param.name.span,
                    format!("{direction} cannot have the type {ty} here"),
                );
            }
            if let Some(default) = &param.default {
                match param.direction {
                    Direction::Out | Direction::InOut => {
                        self.type_fault(
                            default.span,
                            "out and inout parameters cannot have default values",
                        );
                    }
                    // The type argument is not known before the default value is used.
                    _ if ty.contains(&|part| matches!(part, Type::Param(..))) => {
                        self.expression(default);
                    }
                    _ => {
                        self.expect_constant(default, &ty);
                    }
                }
            }
            if let (Some(default), Some(_)) = (&param.default, optional(param)) {
                self.type_fault(default.span, "an optional parameter cannot have a default value");
            }
            let is_optional = param.default.is_some() || optional(param).is_some();
            self.out.declared.insert(param.id, ty.clone());
            self.declare(&param.name, Entity::Param(param));
            params.push(ParamType {
                id: param.id,
                name: param.name.text.clone(),
                direction: param.direction,
                ty,
                is_optional,
            });
        }
        params
    }

    /// Reports parameters with `@optional` where the language forbids them (section 6.7.2).
    fn no_optional(&mut self, params: &'a [Param], owner: &str) {
        for one in params.iter().filter_map(optional) {
            self.type_fault(one.name.span, format!("{owner} cannot have optional parameters"));
        }
    }

    fn instance(
        &mut self,
        decl: &'a Decl,
        written: &'a TypeRef,
        args: &'a [Arg],
        methods: Option<&'a [Decl]>,
    ) {
        let ty = self.with_blanks(Blanks::Inferred, |this| this.resolve_type(written, true));
        let fits = match (&ty, self.place) {
            (Type::Package(_), place) => place == Place::Top,
            (Type::Parser(_), place) => matches!(place, Place::Parser | Place::Top),
            (Type::Control(_), place) => matches!(place, Place::Control | Place::Top),
            (_, place) => !matches!(place, Place::Action | Place::Function),
        };
        if !fits {
            self.type_fault(decl.span, format!("{ty} cannot have an instance here"));
        } else if self.place == Place::Top && matches!(ty, Type::Parser(_) | Type::Control(_)) {
            self.type_fault(
                decl.span,
                format!("{ty} cannot have an instance outside of parsers and controls"),
            );
        }
        let ty = self.construct_type(None, written.span, &ty, args);
        let ty = self.known(&ty);
        self.abstract_methods(decl, &ty, methods);
        self.finish(decl, ty);
    }

    /// Checks that the methods which an instance defines fit the abstract methods of its type.
    fn abstract_methods(&mut self, decl: &'a Decl, ty: &Type, methods: Option<&'a [Decl]>) {
        let Type::Extern(named) = ty else {
            if methods.is_some() {
                self.type_fault(decl.name.span, format!("{ty} has no abstract methods"));
            }
            return;
        };
        let Some(DeclKind::Extern(object)) = self.decls.get(&named.id).map(|decl| &*decl.kind)
        else {
            return;
        };
        let defined = methods.unwrap_or_default();
        if methods.is_some() && !object.methods.iter().any(|method| method.is_abstract) {
            self.type_fault(decl.name.span, format!("{ty} has no abstract methods"));
        }
        let is_optional =
            |method: &&Method| method.annotations.iter().any(|one| &*one.name.text == "optional");
        for method in
            object.methods.iter().filter(|method| method.is_abstract && !is_optional(method))
        {
            if !defined.iter().any(|one| one.name.text == method.name.text) {
                self.type_fault(
                    decl.name.span,
                    format!(
                        "'{}' must define the abstract method '{}'",
                        decl.name.text, method.name.text
                    ),
                );
            }
        }
        let this = self.this.replace(ty.clone());
        self.scoped(|this| {
            for method in defined {
                let wanted = object
                    .methods
                    .iter()
                    .find(|one| one.name.text == method.name.text && one.is_abstract);
                if wanted.is_none() && matches!(*method.kind, DeclKind::Function(_)) {
                    this.name_fault(
                        method.name.span,
                        format!("{named} has no abstract method '{}'", method.name.text),
                    );
                }
                this.declaration(method);
                let signatures = (
                    wanted.and_then(|one| this.out.signatures.get(&one.id)),
                    this.out.signatures.get(&method.id),
                );
                let (Some(wanted), Some(found)) = signatures else { continue };
                let (wanted, found) = (wanted.clone(), found.clone());
                let outer = this.with_args(named);
                let mut same = |wanted: &Type, found: &Type| {
                    let by = |id| outer.iter().find(|one| one.0 == id).map(|one| one.1.clone());
                    let is_free = |part: &Type| matches!(part, Type::Param(..));
                    let wanted = wanted.replace(&by);
                    wanted.contains(&is_free) || this.unify(&wanted, found)
                };
                if found.params.len() > wanted.params.len()
                    || wanted.params[found.params.len()..].iter().any(|param| !param.is_optional)
                    || !same(&wanted.result, &found.result)
                    || wanted
                        .params
                        .iter()
                        .zip(&found.params)
                        .any(|(a, b)| a.direction != b.direction || !same(&a.ty, &b.ty))
                {
                    this.type_fault(
                        method.name.span,
                        format!(
                            "the parameters of '{}' differ from those of the abstract method",
                            method.name.text
                        ),
                    );
                }
            }
        });
        self.this = this;
    }

    fn extern_type(&mut self, decl: &'a Decl, object: &'a Extern) {
        self.generic_type(decl, &object.type_params, Type::Extern);
        self.scoped(|this| {
            for param in &object.type_params {
                this.declare(&param.name, Entity::TypeParam(param));
            }
            let mut known: Vec<(Rc<str>, Vec<Rc<str>>)> = Vec::new();
            for method in &object.methods {
                this.annotations(&method.annotations);
                if method.signature.result.is_some() && method.name.text == decl.name.text {
                    this.type_fault(method.name.span, format!("a constructor has no result type, and a method cannot have the name of its type, '{}'", decl.name.text));
                }
                if method.signature.result.is_none() && method.name.text != decl.name.text {
                    this.name_fault(method.name.span, format!("a constructor has the name of its type, '{}'; a method needs a result type", decl.name.text));
                }
                let signature = this.scoped(|this| this.signature(&method.signature, Place::Function));
                let names: Vec<Rc<str>> = signature.params.iter().map(|param| param.name.clone()).collect();
                if known.iter().any(|one| one.0 == method.name.text && one.1 == names) {
                    this.name_fault(method.name.span, format!("'{}' is declared twice with the same parameters", method.name.text));
                }
                known.push((method.name.text.clone(), names));
                this.methods.insert(method.id, method);
                this.out.signatures.insert(method.id, Rc::new(signature));
            }
        });
    }

    fn action(&mut self, decl: &'a Decl, params: &'a [Param], body: &'a Block) {
        let signature = self.scoped(|this| {
            let params_types = this.params(params, Place::Action);
            this.no_optional(params, "an action");
            let first = params.iter().position(|param| param.direction == Direction::None);
            if let Some(first) = first
                && let Some(late) =
                    params[first..].iter().find(|param| param.direction != Direction::None)
            {
                this.type_fault(
                    late.name.span,
                    format!(
                        "parameter '{}' has a direction, and must stand before those without",
                        late.name.text
                    ),
                );
            }
            let result = this.result.replace(Type::Void);
            this.scoped(|this| this.within(Place::Action, |this| this.block(body)));
            this.result = result;
            SignatureType { type_params: Vec::new(), result: Type::Void, params: params_types }
        });
        self.out.signatures.insert(decl.id, Rc::new(signature));
        self.declare(&decl.name, Entity::Decl(decl));
    }

    fn enumeration(
        &mut self,
        decl: &'a Decl,
        ty: Option<&'a TypeRef>,
        members: &'a [(Ident, Option<Expr>)],
    ) {
        let underlying = ty.map(|written| {
            let ty = self.resolve_type(written, false);
            match ty {
                Type::Bit(_) | Type::Int(_) | Type::Unknown => ty,
                other => self.type_fault(
                    written.span,
                    format!("an enum can have a bit or int type, not {other}"),
                ),
            }
        });
        let mut names = HashSet::new();
        let mut result = Vec::new();
        for (name, value) in members {
            if !names.insert(name.text.clone()) {
                self.name_fault(name.span, format!("member '{}' is declared twice", name.text));
            }
            let number = match (value, &underlying) {
                (Some(value), Some(ty)) => {
                    let written = self.expression(value);
                    let number = self.out.constants.get(&value.id).and_then(Value::number);
                    if let (Type::Integer, Some(number), Some((low, high))) =
                        (written, number.cloned(), constant::limits(ty))
                        && (number < low || number > high)
                    {
                        self.type_fault(value.span, format!("{number} does not fit {ty}"));
                    }
                    let value = self.expect_constant(value, ty);
                    value.as_ref().and_then(Value::number).cloned()
                }
                (None, Some(_)) => {
                    self.type_fault(
                        name.span,
                        format!(
                            "member '{}' needs a value, because the enum has a type",
                            name.text
                        ),
                    );
                    None
                }
                (Some(value), None) => {
                    self.type_fault(
                        value.span,
                        format!("member '{}' has a value, but the enum has no type", name.text),
                    );
                    None
                }
                (None, None) => None,
            };
            result.push((name.text.clone(), number));
        }
        self.out
            .enums
            .insert(decl.id, EnumType { underlying: underlying.clone(), members: result });
        let named = Named { id: decl.id, name: decl.name.text.clone(), args: Rc::new([]) };
        self.finish(decl, Type::Enum(named, underlying.map(Rc::new)));
    }

    fn parser(&mut self, decl: &'a Decl, parser: &'a Parser) {
        self.generic_header(
            decl,
            &parser.signature,
            &parser.constructor,
            Type::Parser,
            Place::Parser,
            |this| {
                for local in &parser.locals {
                    this.declaration(local);
                }
                let mut has_start = false;
                for state in &parser.states {
                    if matches!(&*state.name.text, "accept" | "reject") {
                        this.name_fault(
                            state.name.span,
                            format!(
                                "state '{}' is part of the language; rename this one",
                                state.name.text
                            ),
                        );
                    }
                    has_start |= &*state.name.text == "start";
                    this.declare(&state.name, Entity::State(state));
                }
                if !has_start {
                    this.name_fault(
                        decl.name.span,
                        format!("parser '{}' has no state 'start'", decl.name.text),
                    );
                }
                for state in &parser.states {
                    this.state(state);
                }
            },
        );
    }

    fn control(&mut self, decl: &'a Decl, control: &'a Control) {
        self.generic_header(
            decl,
            &control.signature,
            &control.constructor,
            Type::Control,
            Place::Control,
            |this| {
                for local in &control.locals {
                    this.declaration(local);
                }
                let result = this.result.replace(Type::Void);
                this.scoped(|this| this.block(&control.body));
                this.result = result;
            },
        );
    }

    /// Checks the parameters of a parser or control, then its content, and declares its name.
    fn generic_header(
        &mut self,
        decl: &'a Decl,
        written: &'a Signature,
        constructor: &'a [Param],
        make: impl Fn(Named) -> Type,
        place: Place,
        content: impl FnOnce(&mut Self),
    ) {
        self.scoped(|this| {
            let signature = this.signature(written, place);
            let params = this.params(constructor, Place::Top);
            this.no_optional(constructor, "a constructor with a body");
            for (param, ty) in constructor.iter().zip(&params) {
                let is_body = |named: &Named| {
                    this.decls.get(&named.id).is_some_and(|decl| {
                        matches!(*decl.kind, DeclKind::Parser(_) | DeclKind::Control(_))
                    })
                };
                let fits = match &ty.ty {
                    Type::Package(_) => false,
                    Type::Parser(named) | Type::Control(named) if is_body(named) => false,
                    Type::Parser(_) => place == Place::Parser,
                    Type::Control(_) => place == Place::Control,
                    _ => true,
                };
                if !fits {
                    this.type_fault(
                        param.name.span,
                        format!("a constructor parameter cannot have the type {} here", ty.ty),
                    );
                }
                if ty.direction != Direction::None {
                    this.type_fault(
                        param.name.span,
                        format!(
                            "constructor parameter '{}' cannot have a direction",
                            param.name.text
                        ),
                    );
                }
            }
            this.out.signatures.insert(decl.id, Rc::new(signature));
            let constructed = SignatureType { type_params: Vec::new(), result: Type::Void, params };
            this.out.constructors.insert(decl.id, Rc::new(constructed));
            this.scoped(|this| this.within(place, content));
        });
        self.generic_type(decl, &written.type_params, make);
    }
}

/// Returns the annotation `@optional` of a parameter, if it has one.
fn optional(param: &Param) -> Option<&Annotation> {
    param.annotations.iter().find(|one| &*one.name.text == "optional")
}
