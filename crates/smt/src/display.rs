//! Converts terms to text for messages and tests: infix notation, with operator names as in
//! SMT-LIB.

use std::fmt::Write;

use crate::pool::TermPool;
use crate::term::{Node, TermId};

/// Approximate maximum length of the text in bytes. Shared subterms are repeated, so the text can
/// be exponentially larger than the term.
const MAX_LENGTH: usize = 4_000;

/// A piece of text that is still to be written, on a stack of such pieces.
enum Piece {
    Text(&'static str),
    Owned(String),
    Term(TermId),
}

impl TermPool {
    /// Returns `t` as text; very long text ends with `…`. Constants appear as `value:width`,
    /// unknowns as their names, bytes as `array[index]`, extracts as `term{high:low}`.
    pub fn display(&self, t: TermId) -> String {
        let mut out = String::new();
        let mut stack = vec![Piece::Term(t)];
        while let Some(piece) = stack.pop() {
            if out.len() > MAX_LENGTH {
                out.push('…');
                return out;
            }
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Owned(text) => out.push_str(&text),
                Piece::Term(t) => self.display_node(t, &mut out, &mut stack),
            }
        }
        out
    }

    fn display_node(&self, t: TermId, out: &mut String, stack: &mut Vec<Piece>) {
        let mut infix = |a, operator, b| {
            stack.extend([
                Piece::Text(")"),
                Piece::Term(b),
                Piece::Text(operator),
                Piece::Term(a),
                Piece::Text("("),
            ]);
        };
        match *self.node(t) {
            Node::Const(value) => {
                let width = self.width(t);
                // Writing to a string cannot fail.
                let _ = if value < 10 {
                    write!(out, "{value}:{width}")
                } else {
                    write!(out, "{value:#x}:{width}")
                };
            }
            Node::Var(var) => out.push_str(self.var_info(var).0),
            Node::Select { array, index } => {
                out.push_str(self.array_info(array).0);
                stack.extend([Piece::Text("]"), Piece::Term(index), Piece::Text("[")]);
            }
            Node::Not(a) => stack.extend([Piece::Term(a), Piece::Text("~")]),
            Node::Neg(a) => stack.extend([Piece::Term(a), Piece::Text("-")]),
            Node::And(a, b) => infix(a, " & ", b),
            Node::Or(a, b) => infix(a, " | ", b),
            Node::Xor(a, b) => infix(a, " ^ ", b),
            Node::Add(a, b) => infix(a, " + ", b),
            Node::Mul(a, b) => infix(a, " * ", b),
            Node::Udiv(a, b) => infix(a, " /u ", b),
            Node::Urem(a, b) => infix(a, " %u ", b),
            Node::Sdiv(a, b) => infix(a, " /s ", b),
            Node::Srem(a, b) => infix(a, " %s ", b),
            Node::Shl(a, b) => infix(a, " << ", b),
            Node::Lshr(a, b) => infix(a, " >>u ", b),
            Node::Ashr(a, b) => infix(a, " >>s ", b),
            Node::Eq(a, b) => infix(a, " == ", b),
            Node::Ult(a, b) => infix(a, " <u ", b),
            Node::Slt(a, b) => infix(a, " <s ", b),
            Node::Concat(a, b) => infix(a, " . ", b),
            Node::Intern(a, b) => stack.extend([
                Piece::Text(")"),
                Piece::Term(b),
                Piece::Text(", "),
                Piece::Term(a),
                Piece::Text("intern("),
            ]),
            Node::Extract { src, lo } => {
                let bits = format!("{{{}:{lo}}}", lo + self.width(t) - 1);
                stack.extend([Piece::Owned(bits), Piece::Term(src)]);
            }
            Node::Sext(a) => {
                let head = format!("sext{}(", self.width(t));
                stack.extend([Piece::Text(")"), Piece::Term(a), Piece::Owned(head)]);
            }
            Node::Ite(c, a, b) => stack.extend([
                Piece::Text(")"),
                Piece::Term(b),
                Piece::Text(" : "),
                Piece::Term(a),
                Piece::Text(" ? "),
                Piece::Term(c),
                Piece::Text("("),
            ]),
        }
    }
}
