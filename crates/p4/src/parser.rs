//! The parser: tokens to a syntax tree (grammar of appendix G of the P4_16 specification).
//!
//! The grammar depends on which names are types: `a < b > (c)` and `(a) - b` have two readings.
//! The parser therefore keeps scopes that tell types from other names, and tries a reading with
//! types first.

mod declaration;
mod expression;
mod statement;

use std::collections::HashMap;
use std::rc::Rc;

use slowpath_codes as codes;

use crate::ast::*;
use crate::error::P4Error;
use crate::token::{Span, Token, TokenKind};

type Result<T> = std::result::Result<T, P4Error>;

/// Largest nesting depth of expressions, statements and types. It prevents a stack overflow by
/// recursion.
const DEEPEST: u32 = 50;
/// Largest number of chained operators, member accesses, or stack sizes in one expression or type.
const LONGEST_CHAIN: u32 = 100;
/// Largest number of consecutive `else if` branches of one `if`.
const MOST_BRANCHES: u32 = 600;

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
/// Returns an error at the first token that does not fit the grammar.
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

/// State of the parser.
struct Reader<'a> {
    tokens: &'a [Token],
    end: Token,
    at: usize,
    expressions: u32,
    declarations: u32,
    depth: u32,
    /// True inside `<…>`, where `>` ends the list instead of comparing values.
    no_greater: bool,
    /// Names in each scope, innermost scope last. A name has the value true if it is the name of a
    /// type.
    scopes: Vec<HashMap<Rc<str>, bool>>,
    /// Types that the current `typedef` declares inline.
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

    /// Returns the source range from `start` to the last token that the parser has read.
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

    /// Runs `read` one nesting level deeper. Returns an error if this exceeds [`DEEPEST`].
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

    /// Runs `read` with `>` as the comparison operator, for text in parentheses inside `<…>`.
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

    /// Runs `read`. If it fails, returns `None` and makes the parser continue at the current token.
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

    /// Reads any word, even a reserved one, as after a dot.
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

    /// Reads a type. If `known` is true, a name must be that of a type in scope. Callers set it
    /// where an expression is possible, too.
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
}
