//! Parses statements, conditions and loops.

use std::rc::Rc;

use super::{MOST_BRANCHES, Reader, Result};
use crate::ast::*;

impl Reader<'_> {
    pub(super) fn block(&mut self, annotations: Vec<Annotation>) -> Result<Block> {
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

    pub(super) fn statement(&mut self) -> Result<Stmt> {
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

    /// Returns true if a declaration follows: a type and a name, or an instance `type(args) name`.
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
}
