//! Evaluates the conditions of `#if` and `#elif`, with integers of 64 bits as in C.

use std::rc::Rc;

use super::{MAX_DEPTH, Preprocessor, fault, short};
use crate::P4Error;
use crate::lexer::{Kind, Lexeme};
use crate::token::Span;

impl Preprocessor<'_> {
    /// Evaluates the condition of a directive: true if its value is not 0.
    pub(super) fn evaluate(
        &mut self,
        line: Vec<Lexeme>,
        directive: &str,
        span: Span,
    ) -> Result<bool, P4Error> {
        if line.is_empty() {
            return Err(fault(span, format_args!("#{directive} has no condition; add it")));
        }
        let lexemes = self.expand(line, span)?;
        let is_defined = |name: &Rc<str>| self.is_defined(name);
        let mut evaluator =
            Evaluator { lexemes: &lexemes, position: 0, depth: 0, span, is_defined: &is_defined };
        let value = evaluator.conditional(true)?;
        match evaluator.peek() {
            Some(_) => Err(evaluator.error()),
            None => Ok(value != 0),
        }
    }
}

struct Evaluator<'a> {
    lexemes: &'a [Lexeme],
    position: usize,
    depth: usize,
    /// Source position of the directive.
    span: Span,
    is_defined: &'a dyn Fn(&Rc<str>) -> bool,
}

impl<'a> Evaluator<'a> {
    fn peek(&self) -> Option<&'a Lexeme> {
        self.lexemes.get(self.position)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.peek().is_some_and(|lexeme| lexeme.is(symbol));
        self.position += usize::from(found);
        found
    }

    fn error(&self) -> P4Error {
        match self.peek() {
            Some(lexeme) => {
                let text = short(&lexeme.text);
                fault(lexeme.span, format_args!("'{text}' does not fit the condition; correct it"))
            }
            None => fault(self.span, "condition is incomplete; complete it"),
        }
    }

    /// Evaluates `a ? b : c` and operators of higher precedence. If `live` is false, the value of
    /// this part does not count, as in the unused branch of `?:`, and division by zero is not an
    /// error.
    fn conditional(&mut self, live: bool) -> Result<i64, P4Error> {
        self.enter()?;
        let condition = self.binary(1, live)?;
        let value = if self.eat("?") {
            let yes = self.conditional(live && condition != 0)?;
            if !self.eat(":") {
                return Err(self.error());
            }
            let no = self.conditional(live && condition == 0)?;
            if condition != 0 { yes } else { no }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }

    fn enter(&mut self) -> Result<(), P4Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message =
                format!("condition is nested more than {MAX_DEPTH} deep; make it simpler");
            return Err(fault(self.span, message));
        }
        Ok(())
    }

    /// Evaluates operators whose precedence is at least `least`.
    fn binary(&mut self, least: u32, live: bool) -> Result<i64, P4Error> {
        let mut left = self.unary(live)?;
        while let Some((operator, level, length)) = self.operator() {
            if level < least {
                break;
            }
            let place = self.peek().map_or(self.span, |lexeme| lexeme.span);
            self.position += length;
            let needed = match operator {
                "&&" => left != 0,
                "||" => left == 0,
                _ => true,
            };
            let right = self.binary(level + 1, live && needed)?;
            left = match operator {
                "/" | "%" if right == 0 => {
                    if live {
                        return Err(fault(place, "condition divides by zero; correct it"));
                    }
                    0
                }
                _ => apply(operator, left, right),
            };
        }
        Ok(left)
    }

    /// Returns the operator at the current position as a tuple: its text, its precedence, and its
    /// number of tokens.
    fn operator(&self) -> Option<(&'a str, u32, usize)> {
        let symbol = self.peek().filter(|lexeme| lexeme.kind == Kind::Symbol)?;
        let level = match &*symbol.text {
            "||" => 1,
            "&&" => 2,
            "|" => 3,
            "^" => 4,
            "&" => 5,
            "==" | "!=" => 6,
            ">" if self.lexemes.get(self.position + 1).is_some_and(|next| next.is(">")) => {
                return Some((">>", 8, 2));
            }
            "<" | "<=" | ">" | ">=" => 7,
            "<<" => 8,
            "+" | "-" => 9,
            "*" | "/" | "%" => 10,
            _ => return None,
        };
        Some((&symbol.text, level, 1))
    }

    fn unary(&mut self, live: bool) -> Result<i64, P4Error> {
        self.enter()?;
        let Some(lexeme) = self.peek() else { return Err(self.error()) };
        self.position += 1;
        let value = match (lexeme.kind, &*lexeme.text) {
            (Kind::Symbol, "!") => i64::from(self.unary(live)? == 0),
            (Kind::Symbol, "~") => !self.unary(live)?,
            (Kind::Symbol, "-") => self.unary(live)?.wrapping_neg(),
            (Kind::Symbol, "+") => self.unary(live)?,
            (Kind::Symbol, "(") => {
                let value = self.conditional(live)?;
                if !self.eat(")") {
                    return Err(self.error());
                }
                value
            }
            (Kind::Word, "defined") => {
                let open = self.eat("(");
                let Some(name) = self.peek().filter(|lexeme| lexeme.kind == Kind::Word) else {
                    return Err(self.error());
                };
                self.position += 1;
                if open && !self.eat(")") {
                    return Err(self.error());
                }
                i64::from((self.is_defined)(&name.text))
            }
            (Kind::Word, _) => 0,
            (Kind::Number, text) => match number(text) {
                Some(value) => value,
                None => {
                    let text = short(text);
                    let message = format!("'{text}' is not a number of 64 bits; correct it");
                    return Err(fault(lexeme.span, message));
                }
            },
            _ => {
                self.position -= 1;
                return Err(self.error());
            }
        };
        self.depth -= 1;
        Ok(value)
    }
}

/// Parses an integer in C's notation; returns `None` if the text is not one. Numbers above the
/// largest signed one wrap around.
fn number(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let (digits, base) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', b'o' | b'O', ..] => (&digits[2..], 8),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    u64::from_str_radix(&digits.replace('_', ""), base).ok().map(|value| value as i64)
}

/// Applies a binary operator. The divisor must not be 0.
fn apply(operator: &str, left: i64, right: i64) -> i64 {
    let shift = u32::try_from(right).unwrap_or(u32::MAX);
    match operator {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<" => i64::from(left < right),
        "<=" => i64::from(left <= right),
        ">" => i64::from(left > right),
        ">=" => i64::from(left >= right),
        "<<" => left.checked_shl(shift).unwrap_or(0),
        ">>" => left.checked_shr(shift).unwrap_or(if left < 0 { -1 } else { 0 }),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.wrapping_div(right),
        _ => left.wrapping_rem(right),
    }
}
