//! Parses declarations: types, externs, parsers, controls, actions, tables.

use std::rc::Rc;

use super::{Reader, Result};
use crate::ast::*;
use crate::token::{Span, TokenKind};

impl Reader<'_> {
    pub(super) fn declaration(&mut self) -> Result<Decl> {
        let start = self.span();
        let annotations = self.annotations()?;
        let token = self.token().clone();
        if token.kind != TokenKind::Word && !self.is(".") {
            return Err(self.unexpected("a declaration"));
        }
        let id = self.decl_id();
        let (name, kind) = match &*token.text {
            "const" => self.constant()?,
            "extern" => self.extern_declaration()?,
            "action" => self.action()?,
            "parser" => self.parser_declaration()?,
            "control" => self.control_declaration()?,
            "package" => {
                self.at += 1;
                let name = self.name()?;
                self.declare(&name, true);
                let signature = self.scoped(|this| this.signature(None))?;
                self.expect(";")?;
                (name, DeclKind::PackageType(signature))
            }
            "struct" | "header" | "header_union" => self.fields()?,
            "enum" => self.enumeration()?,
            "error" if self.ahead(1).is("{") => {
                let name = Ident { text: "".into(), span: token.span };
                self.at += 1;
                (name, DeclKind::Error(self.members()?))
            }
            "match_kind" if self.ahead(1).is("{") => {
                let name = Ident { text: "".into(), span: token.span };
                self.at += 1;
                (name, DeclKind::MatchKind(self.members()?))
            }
            "typedef" => {
                self.at += 1;
                let ty = self.typedef_base()?;
                let name = self.name()?;
                self.declare(&name, true);
                self.expect(";")?;
                (name, DeclKind::Typedef(ty))
            }
            "type" if !self.ahead(1).is("(") => {
                self.at += 1;
                let ty = self.type_ref(false)?;
                let name = self.name()?;
                self.declare(&name, true);
                self.expect(";")?;
                (name, DeclKind::NewType(ty))
            }
            _ => self.function_or_instance()?,
        };
        Ok(Decl { id, name, span: self.since(start), annotations, kind: Rc::new(kind) })
    }

    /// Reads the type of a `typedef`. `typedef struct S { … } T;` declares `S`, too.
    fn typedef_base(&mut self) -> Result<TypeRef> {
        let start = self.span();
        let annotations = self.annotations()?;
        let derives = ["struct", "header", "header_union", "enum"].iter().any(|word| self.is(word));
        if !derives && annotations.is_empty() {
            return self.type_ref(false);
        }
        let id = self.decl_id();
        let (name, kind) = if self.is("enum") { self.enumeration()? } else { self.fields()? };
        let kind = Rc::new(kind);
        let span = self.since(start);
        self.derived.push(Decl { id, name: name.clone(), span, annotations, kind });
        let span = name.span;
        Ok(TypeRef { span, kind: TypeRefKind::Named { name, absolute: false, args: Vec::new() } })
    }

    pub(super) fn constant(&mut self) -> Result<(Ident, DeclKind)> {
        self.expect("const")?;
        let ty = self.type_ref(false)?;
        let name = self.name()?;
        self.expect("=")?;
        let value = self.expression()?;
        self.expect(";")?;
        self.declare(&name, false);
        Ok((name, DeclKind::Const { ty, value }))
    }

    fn members(&mut self) -> Result<Vec<Ident>> {
        self.expect("{")?;
        let mut members = Vec::new();
        while !self.is("}") {
            members.push(self.name()?);
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(members)
    }

    fn fields(&mut self) -> Result<(Ident, DeclKind)> {
        let kind = match &*self.next().text {
            "struct" => FieldsKind::Struct,
            "header" => FieldsKind::Header,
            _ => FieldsKind::HeaderUnion,
        };
        let name = self.name()?;
        self.declare(&name, true);
        let fields = self.scoped(|this| {
            let type_params = this.type_params()?;
            this.expect("{")?;
            let mut fields = Vec::new();
            while !this.accept("}") {
                let annotations = this.annotations()?;
                let ty = this.type_ref(false)?;
                let name = this.name()?;
                this.expect(";")?;
                fields.push(Field { annotations, ty, name });
            }
            Ok(Fields { kind, type_params, fields })
        })?;
        Ok((name, DeclKind::Fields(fields)))
    }

    fn enumeration(&mut self) -> Result<(Ident, DeclKind)> {
        self.expect("enum")?;
        let ty = if self.is_name(0) && self.ahead(1).is("{") {
            None
        } else {
            Some(self.type_ref(false)?)
        };
        let name = self.name()?;
        self.declare(&name, true);
        self.expect("{")?;
        let mut members = Vec::new();
        while !self.is("}") {
            self.annotations()?;
            let name = self.name()?;
            let value = if self.accept("=") { Some(self.expression()?) } else { None };
            members.push((name, value));
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok((name, DeclKind::Enum { ty, members }))
    }

    fn extern_declaration(&mut self) -> Result<(Ident, DeclKind)> {
        self.expect("extern")?;
        if self.is_name(0) {
            // `name {` and `name<T> {` declare a type, everything else a function.
            let mut ahead = 1;
            if self.ahead(1).is("<") {
                ahead = 2;
                while self.is_name(ahead) || self.ahead(ahead).is(",") {
                    ahead += 1;
                }
                ahead += 1;
            }
            if self.ahead(ahead).is("{") {
                return self.extern_type();
            }
        }
        let (name, signature) = self.scoped(|this| {
            let result = this.type_ref(false)?;
            let name = this.name()?;
            Ok((name, this.signature(Some(result))?))
        })?;
        self.expect(";")?;
        self.declare(&name, false);
        Ok((name, DeclKind::ExternFunction(signature)))
    }

    fn extern_type(&mut self) -> Result<(Ident, DeclKind)> {
        let name = self.name()?;
        self.declare(&name, true);
        let declared = self.scoped(|this| {
            let type_params = this.type_params()?;
            this.expect("{")?;
            let mut methods = Vec::new();
            while !this.accept("}") {
                let annotations = this.annotations()?;
                let is_abstract = this.accept("abstract");
                let id = this.decl_id();
                let method = this.scoped(|this| {
                    let (name, result) = if this.is_name(0) && this.ahead(1).is("(") {
                        (this.name()?, None)
                    } else {
                        let result = this.type_ref(false)?;
                        (this.name()?, Some(result))
                    };
                    let signature = this.signature(result)?;
                    Ok(Method { id, annotations, is_abstract, name, signature })
                })?;
                this.expect(";")?;
                methods.push(method);
            }
            Ok(Extern { type_params, methods })
        })?;
        Ok((name, DeclKind::Extern(declared)))
    }

    /// Reads `<type parameters>(parameters)` of a signature with the result type `result`.
    fn signature(&mut self, result: Option<TypeRef>) -> Result<Signature> {
        let type_params = self.type_params()?;
        let params = self.params()?;
        Ok(Signature { type_params, result, params })
    }

    fn params(&mut self) -> Result<Vec<Param>> {
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.is(")") {
            let annotations = self.annotations()?;
            let direction = match &*self.token().text {
                "in" => Direction::In,
                "out" => Direction::Out,
                "inout" => Direction::InOut,
                _ => Direction::None,
            };
            if direction != Direction::None {
                self.at += 1;
            }
            let ty = self.type_ref(false)?;
            let name = self.name()?;
            let default = if self.accept("=") {
                Some(self.bracketed(false, |this| this.expression())?)
            } else {
                None
            };
            self.declare(&name, false);
            params.push(Param { id: self.decl_id(), annotations, direction, ty, name, default });
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(params)
    }

    fn action(&mut self) -> Result<(Ident, DeclKind)> {
        self.expect("action")?;
        let name = self.name()?;
        self.declare(&name, false);
        let kind = self.scoped(|this| {
            let params = this.params()?;
            let body = this.block(Vec::new())?;
            Ok(DeclKind::Action { params, body })
        })?;
        Ok((name, kind))
    }

    fn parser_declaration(&mut self) -> Result<(Ident, DeclKind)> {
        self.expect("parser")?;
        let name = self.name()?;
        self.declare(&name, true);
        let kind = self.scoped(|this| {
            let signature = this.signature(None)?;
            if this.accept(";") {
                return Ok(DeclKind::ParserType(signature));
            }
            let constructor = if this.is("(") { this.params()? } else { Vec::new() };
            this.expect("{")?;
            let (mut locals, mut states) = (Vec::new(), Vec::new());
            while !this.accept("}") {
                let start = this.span();
                let annotations = this.annotations()?;
                if this.is("state")
                    && this.ahead(1).kind == TokenKind::Word
                    && this.ahead(2).is("{")
                {
                    states.push(this.state(annotations)?);
                } else {
                    locals.push(this.local(start, annotations)?);
                }
            }
            Ok(DeclKind::Parser(Parser { signature, constructor, locals, states }))
        })?;
        Ok((name, kind))
    }

    fn state(&mut self, annotations: Vec<Annotation>) -> Result<State> {
        self.expect("state")?;
        let name = self.name()?;
        let id = self.decl_id();
        self.expect("{")?;
        self.scoped(|this| {
            let (mut body, mut transition) = (Vec::new(), None);
            while !this.accept("}") {
                if this.is("transition") {
                    transition = Some(this.transition()?);
                    this.expect("}")?;
                    break;
                }
                body.push(this.statement()?);
            }
            Ok(State { id, annotations, name, body, transition })
        })
    }

    fn transition(&mut self) -> Result<Transition> {
        self.expect("transition")?;
        if !self.is("select") {
            let name = self.name()?;
            self.expect(";")?;
            return Ok(Transition::Direct(name));
        }
        let span = self.next().span;
        self.expect("(")?;
        let mut keys = Vec::new();
        while !self.is(")") {
            keys.push(self.expression()?);
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        self.expect("{")?;
        let mut cases = Vec::new();
        while !self.accept("}") {
            let start = self.span();
            let sets = self.sets()?;
            let span = self.since(start);
            self.expect(":")?;
            let state = self.name()?;
            self.expect(";")?;
            cases.push(SelectCase { span, sets, state });
        }
        Ok(Transition::Select { span, keys, cases })
    }

    /// Reads the sets of values of a `select` case or table entry: `(set, set)`, or one set.
    fn sets(&mut self) -> Result<Vec<Expr>> {
        if self.is("(") {
            let tuple = self.attempt(|this| {
                this.expect("(")?;
                let mut sets = Vec::new();
                while !this.is(")") {
                    sets.push(this.set()?);
                    if !this.accept(",") {
                        break;
                    }
                }
                this.expect(")")?;
                if this.is(":") { Ok(sets) } else { Err(this.unexpected("':'")) }
            });
            if let Some(sets) = tuple {
                return Ok(sets);
            }
        }
        Ok(vec![self.set()?])
    }

    fn set(&mut self) -> Result<Expr> {
        let start = self.span();
        if self.accept("default") {
            return Ok(self.expr(start, ExprKind::Default));
        }
        if self.is("_") {
            self.at += 1;
            return Ok(self.expr(start, ExprKind::Default));
        }
        let value = self.expression()?;
        if self.accept("&&&") {
            let mask = self.expression()?;
            return Ok(
                self.expr(start, ExprKind::Mask { value: Box::new(value), mask: Box::new(mask) })
            );
        }
        if self.accept("..") {
            let high = self.expression()?;
            return Ok(
                self.expr(start, ExprKind::Range { low: Box::new(value), high: Box::new(high) })
            );
        }
        Ok(value)
    }

    fn control_declaration(&mut self) -> Result<(Ident, DeclKind)> {
        self.expect("control")?;
        let name = self.name()?;
        self.declare(&name, true);
        let kind = self.scoped(|this| {
            let signature = this.signature(None)?;
            if this.accept(";") {
                return Ok(DeclKind::ControlType(signature));
            }
            let constructor = if this.is("(") { this.params()? } else { Vec::new() };
            this.expect("{")?;
            let mut locals = Vec::new();
            let body = loop {
                let start = this.span();
                let annotations = this.annotations()?;
                if this.is("apply") && this.ahead(1).is("{") {
                    this.at += 1;
                    break this.block(annotations)?;
                }
                if this.is("apply") && this.ahead(1).is("@") {
                    this.at += 1;
                    let annotations = this.annotations()?;
                    break this.block(annotations)?;
                }
                locals.push(this.local(start, annotations)?);
            };
            this.expect("}")?;
            Ok(DeclKind::Control(Control { signature, constructor, locals, body }))
        })?;
        Ok((name, kind))
    }

    /// Reads a declaration in a parser or control.
    fn local(&mut self, start: Span, annotations: Vec<Annotation>) -> Result<Decl> {
        let id = self.decl_id();
        let (name, kind) = match &*self.token().text {
            "const" => self.constant()?,
            "action" => self.action()?,
            "table" => self.table()?,
            "value_set" => {
                self.at += 1;
                self.expect("<")?;
                let ty = self.type_ref(false)?;
                self.close_angle()?;
                self.expect("(")?;
                let size = self.expression()?;
                self.expect(")")?;
                let name = self.name()?;
                self.expect(";")?;
                self.declare(&name, false);
                (name, DeclKind::ValueSet { ty, size })
            }
            _ => self.variable_or_instance()?,
        };
        Ok(Decl { id, name, span: self.since(start), annotations, kind: Rc::new(kind) })
    }

    /// Reads `type name;`, `type name = value;`, `type(args) name;`.
    pub(super) fn variable_or_instance(&mut self) -> Result<(Ident, DeclKind)> {
        let ty = self.type_ref(false)?;
        if self.is("(") {
            return self.instance(ty);
        }
        let name = self.name()?;
        let value = if self.accept("=") { Some(self.expression()?) } else { None };
        self.expect(";")?;
        self.declare(&name, false);
        Ok((name, DeclKind::Variable { ty, value }))
    }

    fn instance(&mut self, ty: TypeRef) -> Result<(Ident, DeclKind)> {
        let args = self.args()?;
        let name = self.name()?;
        self.declare(&name, false);
        let methods = if self.accept("=") {
            self.expect("{")?;
            let mut methods = Vec::new();
            while !self.accept("}") {
                let start = self.span();
                let annotations = self.annotations()?;
                let id = self.decl_id();
                let (name, kind) = self.function_or_instance()?;
                methods.push(Decl {
                    id,
                    name,
                    span: self.since(start),
                    annotations,
                    kind: Rc::new(kind),
                });
            }
            Some(methods)
        } else {
            None
        };
        self.expect(";")?;
        Ok((name, DeclKind::Instance { ty, args, methods }))
    }

    fn function_or_instance(&mut self) -> Result<(Ident, DeclKind)> {
        let result = self.type_ref(false)?;
        if self.is("(") {
            return self.instance(result);
        }
        let name = self.name()?;
        if !self.is("(") && !self.is("<") {
            if self.is("=") || self.is(";") {
                return Err(self.fault(name.span, format!("variable '{}' stands outside of controls and parsers; add const, or move it", name.text)));
            }
            return Err(self.unexpected("'('"));
        }
        self.declare(&name, false);
        let function = self.scoped(|this| {
            let signature = this.signature(Some(result))?;
            let body = this.block(Vec::new())?;
            Ok(Function { signature, body })
        })?;
        Ok((name, DeclKind::Function(function)))
    }

    fn table(&mut self) -> Result<(Ident, DeclKind)> {
        self.expect("table")?;
        let name = self.name()?;
        self.declare(&name, false);
        self.expect("{")?;
        let mut properties = Vec::new();
        while !self.accept("}") {
            let annotations = self.annotations()?;
            let is_const = self.accept("const");
            let name = self.name()?;
            self.expect("=")?;
            let value = match &*name.text {
                "key" => {
                    self.expect("{")?;
                    let mut keys = Vec::new();
                    while !self.accept("}") {
                        let before = self.annotations()?;
                        let value = self.expression()?;
                        self.expect(":")?;
                        let kind = self.name()?;
                        let mut annotations = self.annotations()?;
                        annotations.extend(before);
                        self.expect(";")?;
                        keys.push(Key { annotations, value, kind });
                    }
                    self.accept(";");
                    PropertyValue::Keys(keys)
                }
                "actions" => {
                    self.expect("{")?;
                    let mut actions = Vec::new();
                    while !self.accept("}") {
                        let annotations = self.annotations()?;
                        let action = self.expression()?;
                        self.expect(";")?;
                        actions.push(ActionRef { annotations, action });
                    }
                    self.accept(";");
                    PropertyValue::Actions(actions)
                }
                "entries" => {
                    self.expect("{")?;
                    let mut entries = Vec::new();
                    while !self.accept("}") {
                        entries.push(self.entry()?);
                    }
                    self.accept(";");
                    PropertyValue::Entries(entries)
                }
                _ => {
                    let value = self.expression()?;
                    self.expect(";")?;
                    PropertyValue::Expr(value)
                }
            };
            properties.push(Property { annotations, is_const, name, value });
        }
        Ok((name, DeclKind::Table(Table { properties })))
    }

    fn entry(&mut self) -> Result<Entry> {
        let start = self.span();
        let mut annotations = self.annotations()?;
        let is_const = self.accept("const");
        let priority = if self.is("priority") && self.ahead(1).is("=") {
            self.at += 2;
            let value = self.expression()?;
            self.expect(":")?;
            Some(value)
        } else {
            None
        };
        let sets = self.sets()?;
        self.expect(":")?;
        let action = self.expression()?;
        annotations.extend(self.annotations()?);
        self.expect(";")?;
        Ok(Entry { span: self.since(start), annotations, is_const, priority, sets, action })
    }
}
