//! Parses expressions and literals.

use num_bigint::BigInt;
use slowpath_codes as codes;

use super::{LONGEST_CHAIN, Reader, Result};
use crate::ast::*;
use crate::error::P4Error;
use crate::token::{Span, Token, TokenKind};

/// Largest width of a literal in bits.
const WIDEST: u32 = 1 << 20;
/// Largest number of digits of a number.
const MOST_DIGITS: usize = 1 << 14;

impl Reader<'_> {
    pub(super) fn expr(&mut self, start: Span, kind: ExprKind) -> Expr {
        self.expressions += 1;
        Expr { id: ExprId(self.expressions - 1), span: self.since(start), kind }
    }

    pub(super) fn expression(&mut self) -> Result<Expr> {
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

    /// Returns true if the next token has this text and directly follows the current one, without
    /// space. Tokens from one macro share a position and count as adjacent.
    pub(super) fn joins(&self, text: &str) -> bool {
        let (first, second) = (self.span(), self.ahead(1));
        let follows =
            second.span.file == first.file && (second.span.line, second.span.column) == first.end;
        second.is(text) && (follows || second.span == first)
    }

    /// Returns the binary operator at the current token as a tuple: its precedence, its number of
    /// tokens, and the operator.
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

    pub(super) fn postfix(&mut self) -> Result<Expr> {
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

    pub(super) fn args(&mut self) -> Result<Vec<Arg>> {
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

/// Reads an integer literal: `10`, `0x1F`, `8w0b1`, `4s7`, with underscores. Returns its value, and
/// its type if it has one.
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
