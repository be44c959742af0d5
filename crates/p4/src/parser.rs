//! The parser: tokens to a syntax tree (grammar of appendix G of the P4_16 specification).
//!
//! The grammar depends on which names are types: `a < b > (c)` and `(a) - b` have two readings.
//! The parser therefore keeps scopes that tell types from other names, and tries a reading with
//! types first.

use std::collections::HashMap;
use std::rc::Rc;

use num_bigint::BigInt;
use slowpath_codes as codes;

use crate::ast::*;
use crate::error::P4Error;
use crate::token::{Span, Token, TokenKind};

type Result<T> = std::result::Result<T, P4Error>;

/// Largest nesting of expressions, statements and types, so that recursion cannot use up the stack.
const DEEPEST: u32 = 50;
/// Largest number of operators in a row, of members of members, and of sizes of stacks in stacks.
const LONGEST_CHAIN: u32 = 100;
/// Largest number of `else if` in a row.
const MOST_BRANCHES: u32 = 600;
/// Largest width of a literal in bits.
const WIDEST: u32 = 1 << 20;

/// Largest number of digits of a number.
const MOST_DIGITS: usize = 1 << 14;

/// Words that cannot be names.
const RESERVED: &[&str] = &[
    "abstract",
    "action",
    "bit",
    "bool",
    "break",
    "const",
    "continue",
    "control",
    "default",
    "else",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "match_kind",
    "out",
    "package",
    "parser",
    "return",
    "select",
    "string",
    "struct",
    "switch",
    "table",
    "this",
    "transition",
    "true",
    "tuple",
    "typedef",
    "value_set",
    "varbit",
    "void",
    "_",
];

/// Parses the tokens of a program, which end with [`TokenKind::End`].
///
/// # Errors
///
/// The first token that does not fit the grammar.
pub fn parse(tokens: &[Token]) -> Result<Program> {
    let end = tokens.last().map(|token| token.span).unwrap_or_default();
    let end = Token { kind: TokenKind::End, text: "".into(), span: end };
    let mut parser = Reader {
        tokens,
        end,
        at: 0,
        expressions: 0,
        declarations: 0,
        depth: 0,
        no_greater: false,
        scopes: vec![HashMap::new()],
        derived: Vec::new(),
    };
    let mut declarations = Vec::new();
    while parser.token().kind != TokenKind::End {
        if parser.accept(";") {
            continue;
        }
        let declaration = parser.declaration()?;
        declarations.append(&mut parser.derived);
        declarations.push(declaration);
    }
    Ok(Program { declarations, expressions: parser.expressions, count: parser.declarations })
}

/// The state of the parser.
struct Reader<'a> {
    tokens: &'a [Token],
    end: Token,
    at: usize,
    expressions: u32,
    declarations: u32,
    depth: u32,
    /// True inside `<…>`, where `>` ends the list.
    no_greater: bool,
    /// Names in scope, innermost last: true for types.
    scopes: Vec<HashMap<Rc<str>, bool>>,
    /// Types that the current `typedef` declares.
    derived: Vec<Decl>,
}

impl Reader<'_> {
    // --- tokens --------------------------------------------------------------------------------

    fn token(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, distance: usize) -> &Token {
        self.tokens.get(self.at + distance).unwrap_or(&self.end)
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// Returns the place from a start to the last token that was read.
    fn since(&self, start: Span) -> Span {
        match self.at.checked_sub(1).and_then(|last| self.tokens.get(last)) {
            Some(last) => start.to(last.span),
            None => start,
        }
    }

    fn next(&mut self) -> Token {
        let token = self.token().clone();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn is(&self, text: &str) -> bool {
        self.token().is(text)
    }

    fn accept(&mut self, text: &str) -> bool {
        let found = self.is(text);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, text: &str) -> Result<Span> {
        if self.is(text) {
            Ok(self.next().span)
        } else {
            Err(self.unexpected(&format!("'{text}'")))
        }
    }

    fn unexpected(&self, wanted: &str) -> P4Error {
        let token = self.token();
        let found = match token.kind {
            TokenKind::End => "the end of the program".to_owned(),
            TokenKind::Text => "a string".to_owned(),
            _ => format!("'{}'", token.text),
        };
        self.fault(token.span, format!("{wanted} expected, found {found}"))
    }

    fn fault(&self, span: Span, message: String) -> P4Error {
        P4Error::new(codes::P4_SYNTAX, span, message)
    }

    /// Runs a reader one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(self.fault(
                self.span(),
                format!("nesting is deeper than {DEEPEST}; split this into named parts"),
            ));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Runs a reader in which `>` has its usual meaning, as in parentheses.
    fn bracketed<T>(
        &mut self,
        no_greater: bool,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.no_greater, no_greater);
        let result = read(self);
        self.no_greater = before;
        result
    }

    /// Runs a reader, and goes back to the current token if it fails.
    fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Option<T> {
        let (at, expressions, declarations, depth) =
            (self.at, self.expressions, self.declarations, self.depth);
        let scopes = self.scopes.len();
        match read(self) {
            Ok(value) => Some(value),
            Err(_) => {
                self.at = at;
                self.expressions = expressions;
                self.declarations = declarations;
                self.depth = depth;
                self.scopes.truncate(scopes);
                None
            }
        }
    }

    // --- names ---------------------------------------------------------------------------------

    fn is_name(&self, distance: usize) -> bool {
        let token = self.ahead(distance);
        token.kind == TokenKind::Word && !RESERVED.contains(&&*token.text)
    }

    fn name(&mut self) -> Result<Ident> {
        if !self.is_name(0) {
            return Err(self.unexpected("a name"));
        }
        let token = self.next();
        Ok(Ident { text: token.text, span: token.span })
    }

    /// Reads any word, as after a dot.
    fn word(&mut self) -> Result<Ident> {
        if self.token().kind != TokenKind::Word {
            return Err(self.unexpected("a name"));
        }
        let token = self.next();
        Ok(Ident { text: token.text, span: token.span })
    }

    fn declare(&mut self, name: &Ident, is_type: bool) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.text.clone(), is_type);
        }
    }

    fn is_type_name(&self, name: &str) -> bool {
        self.scopes.iter().rev().find_map(|scope| scope.get(name).copied()).unwrap_or(false)
    }

    fn is_global_type(&self, name: &str) -> bool {
        self.scopes[0].get(name).copied().unwrap_or(false)
    }

    fn scoped<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.scopes.push(HashMap::new());
        let result = read(self);
        self.scopes.pop();
        result
    }

    fn decl_id(&mut self) -> DeclId {
        self.declarations += 1;
        DeclId(self.declarations - 1)
    }

    // --- annotations ---------------------------------------------------------------------------

    fn annotations(&mut self) -> Result<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while self.accept("@") {
            let name = self.word()?;
            let mut body = Vec::new();
            let mut values = None;
            if self.accept("[") {
                let start = self.at;
                values = Some(self.bracketed(false, |this| this.annotation_values())?);
                body.extend(self.tokens[start..self.at].iter().cloned());
                self.expect("]")?;
            } else if self.is("(") {
                let open = self.next();
                let mut depth = 1;
                loop {
                    let token = self.next();
                    if token.kind == TokenKind::End {
                        return Err(self.fault(open.span, "'(' has no closing bracket".into()));
                    }
                    depth += i32::from(token.is("(")) - i32::from(token.is(")"));
                    if depth == 0 {
                        break;
                    }
                    body.push(token);
                }
            }
            let twice = annotations.iter().any(|one: &Annotation| {
                one.name.text == name.text && (one.values.is_some() || values.is_some())
            });
            if twice {
                return Err(self.fault(
                    name.span,
                    format!("'@{}' stands twice; only unstructured annotations can", name.text),
                ));
            }
            annotations.push(Annotation { name, body, values });
        }
        Ok(annotations)
    }

    /// Reads the body of a structured annotation: values, or pairs of a key and a value.
    fn annotation_values(&mut self) -> Result<Vec<(Option<Ident>, Expr)>> {
        let has_keys = self.is_name(0) && self.ahead(1).is("=");
        let mut values = Vec::new();
        while !self.is("]") {
            let key = if has_keys { Some(self.name()?) } else { None };
            if has_keys {
                self.expect("=")?;
            }
            values.push((key, self.expression()?));
            if !self.accept(",") {
                break;
            }
        }
        Ok(values)
    }

    // --- types ---------------------------------------------------------------------------------

    /// Reads a type. `known`: names must be types in scope, as where an expression can stand, too.
    fn type_ref(&mut self, known: bool) -> Result<TypeRef> {
        self.nested(|this| this.type_ref_within(known))
    }

    fn type_ref_within(&mut self, known: bool) -> Result<TypeRef> {
        let start = self.span();
        let mut ty = self.simple_type(known)?;
        let mut length = 0;
        while self.is("[") {
            length += 1;
            if length > LONGEST_CHAIN {
                return Err(
                    self.fault(self.span(), format!("more than {LONGEST_CHAIN} sizes in a row"))
                );
            }
            let read = |this: &mut Self| {
                this.expect("[")?;
                let size = this.bracketed(false, |this| this.expression())?;
                this.expect("]")?;
                Ok(size)
            };
            // After a type in an expression, `[` may be an index.
            let size = if known {
                match self.attempt(read) {
                    Some(size) => size,
                    None => break,
                }
            } else {
                read(self)?
            };
            let kind = TypeRefKind::Stack { element: Box::new(ty), size: Box::new(size) };
            ty = TypeRef { span: self.since(start), kind };
        }
        Ok(ty)
    }

    fn simple_type(&mut self, known: bool) -> Result<TypeRef> {
        let start = self.span();
        let absolute = self.accept(".");
        let token = self.token().clone();
        if token.kind != TokenKind::Word {
            return Err(self.unexpected("a type"));
        }
        let kind = match &*token.text {
            "bool" => self.keyword(TypeRefKind::Bool),
            "error" => self.keyword(TypeRefKind::Error),
            "match_kind" => self.keyword(TypeRefKind::MatchKind),
            "string" => self.keyword(TypeRefKind::String),
            "void" => self.keyword(TypeRefKind::Void),
            "_" => self.keyword(TypeRefKind::DontCare),
            "bit" => {
                self.at += 1;
                let width = if self.is("<") { Some(Box::new(self.width()?)) } else { None };
                TypeRefKind::Bit(width)
            }
            "int" => {
                self.at += 1;
                if self.is("<") {
                    TypeRefKind::Int(Box::new(self.width()?))
                } else {
                    TypeRefKind::Integer
                }
            }
            "varbit" => {
                self.at += 1;
                TypeRefKind::Varbit(Box::new(self.width()?))
            }
            "tuple" => {
                self.at += 1;
                TypeRefKind::Tuple(self.type_args(false)?)
            }
            "list" if !absolute && !self.is_type_name("list") && self.ahead(1).is("<") => {
                self.at += 1;
                let span = self.span();
                let mut args = self.type_args(false)?;
                match (args.pop(), args.pop()) {
                    (Some(element), None) => TypeRefKind::List(Box::new(element)),
                    _ => return Err(self.fault(span, "list has one type argument".into())),
                }
            }
            text => {
                if !self.is_name(0) {
                    return Err(self.unexpected("a type"));
                }
                let is_type =
                    if absolute { self.is_global_type(text) } else { self.is_type_name(text) };
                if known && !is_type {
                    return Err(self.unexpected("a type"));
                }
                let name = self.name()?;
                let args = if self.is("<") {
                    if known {
                        self.attempt(|this| this.type_args(false)).unwrap_or_default()
                    } else {
                        self.type_args(false)?
                    }
                } else {
                    Vec::new()
                };
                TypeRefKind::Named { name, absolute, args }
            }
        };
        if absolute && !matches!(kind, TypeRefKind::Named { .. }) {
            return Err(self.fault(start, "'.' stands before a name only".into()));
        }
        Ok(TypeRef { span: self.since(start), kind })
    }

    fn keyword(&mut self, kind: TypeRefKind) -> TypeRefKind {
        self.at += 1;
        kind
    }

    /// Reads `<width>`: a number, or an expression in parentheses.
    fn width(&mut self) -> Result<Expr> {
        self.expect("<")?;
        let width = self.bracketed(true, |this| this.expression())?;
        self.close_angle()?;
        Ok(width)
    }

    fn close_angle(&mut self) -> Result<()> {
        self.expect(">").map(|_| ())
    }

    fn type_args(&mut self, known: bool) -> Result<Vec<TypeRef>> {
        self.expect("<")?;
        let mut args = Vec::new();
        while !self.is(">") {
            args.push(self.type_ref(known)?);
            if !self.accept(",") {
                break;
            }
        }
        self.close_angle()?;
        Ok(args)
    }

    fn type_params(&mut self) -> Result<Vec<TypeParam>> {
        let mut params = Vec::new();
        if self.accept("<") {
            while !self.is(">") {
                let name = self.name()?;
                self.declare(&name, true);
                params.push(TypeParam { id: self.decl_id(), name });
                if !self.accept(",") {
                    break;
                }
            }
            self.close_angle()?;
        }
        Ok(params)
    }

    // --- declarations --------------------------------------------------------------------------

    fn declaration(&mut self) -> Result<Decl> {
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

    /// Reads the type of a `typedef`. `typedef struct S { … } T;` also declares `S`.
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

    fn constant(&mut self) -> Result<(Ident, DeclKind)> {
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

    /// Reads `<type parameters>(parameters)`.
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

    /// Reads the sets of a case or an entry: `(set, set)`, or one set.
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
    fn variable_or_instance(&mut self) -> Result<(Ident, DeclKind)> {
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

    // --- statements ----------------------------------------------------------------------------

    fn block(&mut self, annotations: Vec<Annotation>) -> Result<Block> {
        let start = self.expect("{")?;
        let statements = self.scoped(|this| {
            let mut statements = Vec::new();
            while !this.accept("}") {
                statements.push(this.statement()?);
            }
            Ok(statements)
        })?;
        Ok(Block { span: self.since(start), annotations, statements })
    }

    fn statement(&mut self) -> Result<Stmt> {
        self.nested(|this| this.bracketed(false, |this| this.statement_within()))
    }

    fn statement_within(&mut self) -> Result<Stmt> {
        let start = self.span();
        let annotations = self.annotations()?;
        let kind = match &*self.token().text {
            ";" => {
                self.at += 1;
                StmtKind::Empty
            }
            "{" => StmtKind::Block(self.block(annotations)?),
            "if" => return self.conditional(),
            "switch" => self.switch()?,
            "for" => self.scoped(|this| this.for_loop())?,
            "return" => {
                self.at += 1;
                let value = if self.is(";") { None } else { Some(self.expression()?) };
                self.expect(";")?;
                StmtKind::Return(value)
            }
            "exit" => self.jump(StmtKind::Exit)?,
            "break" => self.jump(StmtKind::Break)?,
            "continue" => self.jump(StmtKind::Continue)?,
            "const" => {
                let id = self.decl_id();
                let (name, kind) = self.constant()?;
                StmtKind::Declare(Decl {
                    id,
                    name,
                    span: self.since(start),
                    annotations,
                    kind: Rc::new(kind),
                })
            }
            _ => {
                if self.starts_declaration() {
                    let id = self.decl_id();
                    let (name, kind) = self.variable_or_instance()?;
                    StmtKind::Declare(Decl {
                        id,
                        name,
                        span: self.since(start),
                        annotations,
                        kind: Rc::new(kind),
                    })
                } else {
                    let kind = self.simple_statement()?;
                    self.expect(";")?;
                    kind
                }
            }
        };
        Ok(Stmt { span: self.since(start), kind })
    }

    fn jump(&mut self, kind: StmtKind) -> Result<StmtKind> {
        self.at += 1;
        self.expect(";")?;
        Ok(kind)
    }

    /// Returns true if a type and a name follow, or an instance: `type(args) name`.
    fn starts_declaration(&mut self) -> bool {
        let (at, expressions, declarations) = (self.at, self.expressions, self.declarations);
        let found = self
            .attempt(|this| {
                let known = !this.is_name(0) || this.is_type_name(&this.token().text.clone());
                this.type_ref(known && this.is_name(0))?;
                if this.is_name(0) {
                    return Ok(());
                }
                if known && this.is("(") {
                    this.args()?;
                    if this.is_name(0) {
                        return Ok(());
                    }
                }
                Err(this.unexpected("a name"))
            })
            .is_some();
        self.at = at;
        self.expressions = expressions;
        self.declarations = declarations;
        found
    }

    /// Reads an assignment or a call, without the semicolon.
    fn simple_statement(&mut self) -> Result<StmtKind> {
        let target = self.postfix()?;
        let op = match &*self.token().text {
            "=" => None,
            "+=" => Some(BinaryOp::Add),
            "-=" => Some(BinaryOp::Subtract),
            "|+|=" => Some(BinaryOp::AddSaturating),
            "|-|=" => Some(BinaryOp::SubtractSaturating),
            "*=" => Some(BinaryOp::Multiply),
            "/=" => Some(BinaryOp::Divide),
            "%=" => Some(BinaryOp::Modulo),
            "&=" => Some(BinaryOp::And),
            "|=" => Some(BinaryOp::Or),
            "^=" => Some(BinaryOp::Xor),
            "<<=" => Some(BinaryOp::ShiftLeft),
            // `>>=` is read as `>` and `>=`.
            ">" if self.joins(">=") => {
                self.at += 1;
                Some(BinaryOp::ShiftRight)
            }
            _ => {
                return match target.kind {
                    ExprKind::Call { .. } => Ok(StmtKind::Call(target)),
                    _ => Err(self.unexpected("'=' or '('")),
                };
            }
        };
        self.at += 1;
        let value = self.expression()?;
        Ok(StmtKind::Assign { target, op, value })
    }

    fn conditional(&mut self) -> Result<Stmt> {
        let mut branches = Vec::new();
        let last = loop {
            let start = self.expect("if")?;
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            let yes = self.statement()?;
            branches.push((start, condition, yes));
            if branches.len() as u32 > MOST_BRANCHES {
                return Err(self.fault(
                    start,
                    format!("more than {MOST_BRANCHES} branches of if; use a table"),
                ));
            }
            if !self.accept("else") {
                break None;
            }
            if !self.is("if") {
                break Some(self.statement()?);
            }
        };
        let mut no = last.map(Box::new);
        for (start, condition, yes) in branches.into_iter().rev() {
            let kind = StmtKind::If { condition, yes: Box::new(yes), no };
            no = Some(Box::new(Stmt { span: self.since(start), kind }));
        }
        no.map(|whole| *whole).ok_or_else(|| self.unexpected("'if'"))
    }

    fn switch(&mut self) -> Result<StmtKind> {
        self.expect("switch")?;
        self.expect("(")?;
        let value = self.expression()?;
        self.expect(")")?;
        self.expect("{")?;
        let mut cases = Vec::new();
        while !self.accept("}") {
            let span = self.span();
            let label = if self.accept("default") {
                self.expr(span, ExprKind::Default)
            } else {
                self.expression()?
            };
            self.expect(":")?;
            let body = if self.is("{") { Some(self.block(Vec::new())?) } else { None };
            cases.push(SwitchCase { span, label, body });
        }
        Ok(StmtKind::Switch { value, cases })
    }

    fn for_loop(&mut self) -> Result<StmtKind> {
        self.expect("for")?;
        self.expect("(")?;
        let start = self.span();
        let annotations = self.annotations()?;
        if self.starts_declaration() {
            let id = self.decl_id();
            let ty = self.type_ref(false)?;
            let name = self.name()?;
            if self.accept("in") {
                self.declare(&name, false);
                let kind = Rc::new(DeclKind::Variable { ty, value: None });
                let variable =
                    self.expr(name.span, ExprKind::Name { name: name.clone(), absolute: false });
                let declared = Some(Decl { id, name, span: self.since(start), annotations, kind });
                return self.for_in(declared, variable);
            }
            let value = if self.accept("=") { Some(self.expression()?) } else { None };
            self.declare(&name, false);
            let kind = Rc::new(DeclKind::Variable { ty, value });
            let span = self.since(start);
            let first =
                Stmt { span, kind: StmtKind::Declare(Decl { id, name, span, annotations, kind }) };
            return self.for_rest(vec![first]);
        }
        let mut first = Vec::new();
        if !self.is(";") {
            first.push(self.loop_statement()?);
        }
        self.for_rest(first)
    }

    fn loop_statement(&mut self) -> Result<Stmt> {
        let start = self.span();
        self.annotations()?;
        if self.starts_declaration() {
            let id = self.decl_id();
            let ty = self.type_ref(false)?;
            let name = self.name()?;
            let value = if self.accept("=") { Some(self.expression()?) } else { None };
            self.declare(&name, false);
            let kind = Rc::new(DeclKind::Variable { ty, value });
            let span = self.since(start);
            return Ok(Stmt {
                span,
                kind: StmtKind::Declare(Decl { id, name, span, annotations: Vec::new(), kind }),
            });
        }
        let kind = self.simple_statement()?;
        Ok(Stmt { span: self.since(start), kind })
    }

    fn for_rest(&mut self, mut start: Vec<Stmt>) -> Result<StmtKind> {
        while self.accept(",") {
            start.push(self.loop_statement()?);
        }
        self.expect(";")?;
        let condition = self.expression()?;
        self.expect(";")?;
        let mut updates = Vec::new();
        while !self.is(")") {
            updates.push(self.loop_statement()?);
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        let body = Box::new(self.statement()?);
        Ok(StmtKind::For { start, condition, updates, body })
    }

    fn for_in(&mut self, declared: Option<Decl>, variable: Expr) -> Result<StmtKind> {
        let span = self.span();
        let low = self.expression()?;
        let range = if self.accept("..") {
            let high = self.expression()?;
            self.expr(span, ExprKind::Range { low: Box::new(low), high: Box::new(high) })
        } else {
            low
        };
        self.expect(")")?;
        let body = Box::new(self.statement()?);
        Ok(StmtKind::ForIn { declared, variable, range, body })
    }

    // --- expressions ---------------------------------------------------------------------------

    fn expr(&mut self, start: Span, kind: ExprKind) -> Expr {
        self.expressions += 1;
        Expr { id: ExprId(self.expressions - 1), span: self.since(start), kind }
    }

    fn expression(&mut self) -> Result<Expr> {
        self.nested(|this| this.conditional_expression())
    }

    fn conditional_expression(&mut self) -> Result<Expr> {
        let start = self.span();
        let condition = self.binary(0)?;
        if !self.accept("?") {
            return Ok(condition);
        }
        let yes = self.bracketed(false, |this| this.expression())?;
        self.expect(":")?;
        let no = self.expression()?;
        let kind = ExprKind::Conditional {
            condition: Box::new(condition),
            yes: Box::new(yes),
            no: Box::new(no),
        };
        Ok(self.expr(start, kind))
    }

    /// Returns true if the next token follows the current one directly and has this text. Tokens of
    /// a macro share one place.
    fn joins(&self, text: &str) -> bool {
        let (first, second) = (self.span(), self.ahead(1));
        let follows =
            second.span.file == first.file && (second.span.line, second.span.column) == first.end;
        second.is(text) && (follows || second.span == first)
    }

    /// Returns the binary operator at the current token: its level, number of tokens, and meaning.
    fn operator(&self) -> Option<(u8, usize, BinaryOp)> {
        let token = self.token();
        if token.kind != TokenKind::Symbol {
            return None;
        }
        let found = match &*token.text {
            "||" => (1, BinaryOp::LogicalOr),
            "&&" => (2, BinaryOp::LogicalAnd),
            "==" => (3, BinaryOp::Equal),
            "!=" => (3, BinaryOp::NotEqual),
            "<" => (4, BinaryOp::Less),
            "<=" => (4, BinaryOp::LessEqual),
            ">" if self.no_greater => return None,
            ">" if self.joins(">") => return Some((8, 2, BinaryOp::ShiftRight)),
            ">" if self.joins(">=") => return None,
            ">" => (4, BinaryOp::Greater),
            ">=" => (4, BinaryOp::GreaterEqual),
            "|" => (5, BinaryOp::Or),
            "^" => (6, BinaryOp::Xor),
            "&" => (7, BinaryOp::And),
            "<<" => (8, BinaryOp::ShiftLeft),
            "++" => (9, BinaryOp::Concat),
            "+" => (9, BinaryOp::Add),
            "-" => (9, BinaryOp::Subtract),
            "|+|" => (9, BinaryOp::AddSaturating),
            "|-|" => (9, BinaryOp::SubtractSaturating),
            "*" => (10, BinaryOp::Multiply),
            "/" => (10, BinaryOp::Divide),
            "%" => (10, BinaryOp::Modulo),
            _ => return None,
        };
        Some((found.0, 1, found.1))
    }

    fn binary(&mut self, above: u8) -> Result<Expr> {
        let start = self.span();
        let mut left = self.unary()?;
        let mut length = 0;
        while let Some((level, tokens, op)) = self.operator() {
            if level <= above {
                break;
            }
            length += 1;
            if length > LONGEST_CHAIN {
                return Err(self.fault(
                    self.span(),
                    format!("more than {LONGEST_CHAIN} operators in a row; split the expression"),
                ));
            }
            self.at += tokens;
            let right = self.nested(|this| this.binary(level))?;
            left = self
                .expr(start, ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) });
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr> {
        let start = self.span();
        if self.token().kind == TokenKind::Symbol {
            let op = match &*self.token().text {
                "-" => Some(UnaryOp::Negate),
                "+" => Some(UnaryOp::Plus),
                "!" => Some(UnaryOp::Not),
                "~" => Some(UnaryOp::Complement),
                _ => None,
            };
            if let Some(op) = op {
                self.at += 1;
                let operand = Box::new(self.nested(|this| this.unary())?);
                return Ok(self.expr(start, ExprKind::Unary { op, operand }));
            }
            if self.is("(") {
                let cast = self.attempt(|this| {
                    this.expect("(")?;
                    let ty = this.bracketed(false, |this| this.type_ref(true))?;
                    this.expect(")")?;
                    // `(T).x` and `(T) + x` are not casts if T is a name of a value.
                    Ok(ty)
                });
                if let Some(ty) = cast {
                    let operand = Box::new(self.nested(|this| this.unary())?);
                    return Ok(self.expr(start, ExprKind::Cast { ty, operand }));
                }
            }
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Result<Expr> {
        let start = self.span();
        let mut base = self.primary()?;
        let mut length = 0;
        loop {
            length += 1;
            if length > LONGEST_CHAIN {
                return Err(
                    self.fault(self.span(), format!("more than {LONGEST_CHAIN} members in a row"))
                );
            }
            let kind = if self.accept(".") {
                ExprKind::Member { base: Box::new(base), name: self.word()? }
            } else if self.accept("[") {
                let kind = self.bracketed(false, |this| {
                    let first = this.expression()?;
                    if this.accept(":") {
                        let low = Box::new(this.expression()?);
                        Ok(ExprKind::Slice { base: Box::new(base), high: Box::new(first), low })
                    } else if this.accept("+:") {
                        let width = Box::new(this.expression()?);
                        Ok(ExprKind::PlusSlice {
                            base: Box::new(base),
                            low: Box::new(first),
                            width,
                        })
                    } else {
                        Ok(ExprKind::Index { base: Box::new(base), index: Box::new(first) })
                    }
                })?;
                self.expect("]")?;
                kind
            } else if self.is("(") {
                let args = self.args()?;
                ExprKind::Call { function: Box::new(base), type_args: Vec::new(), args }
            } else if self.is("<")
                && matches!(base.kind, ExprKind::Name { .. } | ExprKind::Member { .. })
            {
                let types = self.attempt(|this| {
                    let types = this.type_args(true)?;
                    if this.is("(") { Ok(types) } else { Err(this.unexpected("'('")) }
                });
                let Some(type_args) = types else { return Ok(base) };
                let args = self.args()?;
                ExprKind::Call { function: Box::new(base), type_args, args }
            } else {
                return Ok(base);
            };
            base = self.expr(start, kind);
        }
    }

    fn args(&mut self) -> Result<Vec<Arg>> {
        self.expect("(")?;
        self.bracketed(false, |this| {
            let mut args = Vec::new();
            while !this.is(")") {
                let name = if this.is_name(0) && this.ahead(1).is("=") {
                    let name = this.name()?;
                    this.at += 1;
                    Some(name)
                } else {
                    None
                };
                let start = this.span();
                let value = if this.is("_") && (this.ahead(1).is(",") || this.ahead(1).is(")")) {
                    this.at += 1;
                    this.expr(start, ExprKind::DontCare)
                } else {
                    this.expression()?
                };
                args.push(Arg { name, value });
                if !this.accept(",") {
                    break;
                }
            }
            this.expect(")")?;
            Ok(args)
        })
    }

    fn primary(&mut self) -> Result<Expr> {
        let start = self.span();
        let token = self.token().clone();
        let kind = match token.kind {
            TokenKind::Number => {
                self.at += 1;
                let (value, ty) = number(&token)?;
                ExprKind::Number { value, ty }
            }
            TokenKind::Text => {
                self.at += 1;
                ExprKind::Text(token.text)
            }
            TokenKind::End => return Err(self.unexpected("an expression")),
            TokenKind::Symbol => match &*token.text {
                "(" => {
                    self.at += 1;
                    let mut inner = self.bracketed(false, |this| this.expression())?;
                    self.expect(")")?;
                    inner.span = self.since(start);
                    return Ok(inner);
                }
                "{" => self.bracketed(false, |this| this.list())?,
                "{#" => {
                    self.at += 1;
                    self.expect("}")?;
                    ExprKind::Invalid
                }
                "..." => {
                    self.at += 1;
                    ExprKind::Default
                }
                "." if self.is_name(1) => {
                    if self.is_global_type(&self.ahead(1).text.clone()) {
                        ExprKind::Type(self.type_ref(true)?)
                    } else {
                        self.at += 1;
                        ExprKind::Name { name: self.name()?, absolute: true }
                    }
                }
                _ => return Err(self.unexpected("an expression")),
            },
            TokenKind::Word => match &*token.text {
                "true" => self.literal(true),
                "false" => self.literal(false),
                "this" => {
                    self.at += 1;
                    ExprKind::This
                }
                "_" => return Err(self.unexpected("an expression")),
                "error" | "bit" | "int" | "bool" | "varbit" | "tuple" | "string" | "match_kind" => {
                    ExprKind::Type(self.type_ref(true)?)
                }
                _ if !self.is_name(0) => return Err(self.unexpected("an expression")),
                name if self.is_type_name(name) => ExprKind::Type(self.simple_type(true)?),
                _ => ExprKind::Name { name: self.name()?, absolute: false },
            },
        };
        Ok(self.expr(start, kind))
    }

    fn literal(&mut self, value: bool) -> ExprKind {
        self.at += 1;
        ExprKind::Bool(value)
    }

    fn list(&mut self) -> Result<ExprKind> {
        self.expect("{")?;
        let is_record = self.is_name(0) && self.ahead(1).is("=");
        let (mut items, mut fields, mut defaults) = (Vec::new(), Vec::new(), false);
        while !self.is("}") {
            if self.accept("...") {
                defaults = true;
                self.accept(",");
                break;
            }
            if is_record {
                let name = self.name()?;
                self.expect("=")?;
                fields.push((name, self.expression()?));
            } else {
                items.push(self.expression()?);
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(if is_record {
            ExprKind::Record { fields, defaults }
        } else {
            ExprKind::List { items, defaults }
        })
    }
}

/// Reads a number as written: `10`, `0x1F`, `8w0b1`, `4s7`, with underscores.
fn number(token: &Token) -> Result<(BigInt, Option<LiteralType>)> {
    let fault = |message: &str| {
        Err(P4Error::new(
            codes::P4_SYNTAX,
            token.span,
            format!("number '{}' {message}", token.text),
        ))
    };
    let text = token.text.to_ascii_lowercase().replace('_', "");
    let (ty, digits) = match text.find(['w', 's']) {
        Some(split) => {
            let (width, rest) = text.split_at(split);
            let width = match width.parse::<u32>() {
                Ok(width) if width <= WIDEST => width,
                _ => return fault("has a width that is not a number up to 1048576"),
            };
            (Some(LiteralType { width, is_signed: rest.starts_with('s') }), rest[1..].to_owned())
        }
        None => (None, text),
    };
    let (base, digits) = match digits.get(..2) {
        Some("0x") => (16, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0d") => (10, &digits[2..]),
        _ => (10, &digits[..]),
    };
    if digits.len() > MOST_DIGITS {
        return fault("has too many digits");
    }
    match BigInt::parse_bytes(digits.as_bytes(), base) {
        Some(value)
            if ty.is_some_and(|ty| ty.width == 0 && !ty.is_signed) && value != BigInt::ZERO =>
        {
            fault("does not fit its width")
        }
        Some(value) => Ok((value, ty)),
        None => fault(&format!("has characters that are not digits of base {base}")),
    }
}
