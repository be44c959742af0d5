//! Runs a P4 program on one packet. Records the parser states that the packet visits, the headers
//! that the parser extracts, and the tables that the controls apply.
//!
//! The module shares no code with the translation of parsers, controls and expressions to C, so
//! each can check the other. Variables without a value are zero, as in the translation. Results of
//! extern functions other than those on the packet are unknown; a branch on an unknown value ends
//! the run.

mod call;
mod control;
mod data;
mod expression;
mod packet;
mod parser;
mod table;

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;
use serde::Serialize;

use crate::ast::*;
use crate::check::{Builtin, Callee, Checked, Type, Value, constant, wrap};
use crate::token::Span;
use crate::xdp::layout::Layout;
use data::{Data, Place, Step, equal, plain};

/// Largest number of states and calls in a run.
const MOST_STEPS: u32 = 10_000;

/// A field of an extracted header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Name of the field in its header, with dots for fields of structs.
    pub name: String,
    /// Offset of the first bit in the packet.
    pub at: u64,
    /// Width in bits.
    pub bits: u64,
}

/// A header that the parser extracts, or a range of bits that it skips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    /// Name of the header in the program: `hdr.ipv4`, `hdr.vlan[0]`.
    pub name: String,
    /// Fields in packet order.
    pub fields: Vec<Field>,
}

/// Result of a table that a control applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableRun {
    /// Control-plane name.
    pub table: String,
    /// True if an entry matches.
    pub hit: bool,
    /// Name of the action that runs; empty if none runs.
    pub action: String,
    /// Names and values (in hexadecimal) of the action's parameters without direction.
    pub args: Vec<(String, String)>,
}

/// Result of running a program on a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Walk {
    /// Visited states, in order. The last one is `accept` or `reject`, if the parser gets there. A
    /// state of an inner parser follows the name of its instance and a dot.
    pub states: Vec<String>,
    /// Extracted headers, in order.
    pub headers: Vec<Header>,
    /// Tables that the controls apply, in order.
    pub tables: Vec<TableRun>,
    /// Parser error with which the parser rejects the packet.
    pub error: Option<String>,
    /// Reason why the run stops early: line of the program, and a text. `None` for a complete run.
    pub unknown: Option<(u32, String)>,
}

/// Reason for the end of a parser state, control or function.
enum Halt {
    Reject(Rc<str>),
    Return(Option<Data>),
    Exit,
    Unknown(Span, String),
}

type Result<T> = std::result::Result<T, Halt>;

struct Walker<'a> {
    checked: &'a Checked,
    packet: &'a [u8],
    layout: &'a Layout,
    content: &'a Content,
    /// Offset of the next unparsed bit in the packet.
    at: u64,
    nodes: HashMap<DeclId, &'a Decl>,
    /// Control-plane path of each declaration: names of the enclosing controls and its own.
    paths: HashMap<DeclId, String>,
    variables: HashMap<DeclId, Data>,
    /// Parameters that share the storage of their arguments, each with the location of the
    /// argument.
    aliases: HashMap<DeclId, Place>,
    /// Constructor parameters for instances, with their arguments.
    instances: HashMap<DeclId, &'a Expr>,
    names: HashMap<DeclId, Rc<str>>,
    subst: Vec<(DeclId, Type)>,
    /// Names of the enclosing parser instances, each followed by a dot.
    prefix: String,
    /// Path of the current control.
    scope: String,
    /// Parameter with the standard metadata of v1model.
    standard: Option<DeclId>,
    steps: u32,
    walk: Walk,
}

/// Content of maps, by map name: key and value of each element. The value is `None` for an element
/// that is known to be missing.
pub type Content = BTreeMap<String, Vec<(Vec<u8>, Option<Vec<u8>>)>>;

/// Runs the package `main` on a packet from a port, up to the deparser. `layout` describes the maps
/// of its tables. `content` contains their elements; maps without content are empty. Returns `None`
/// for packages of unknown architectures.
pub fn walk(
    program: &Program,
    checked: &Checked,
    (packet, port): (&[u8], u32),
    layout: &Layout,
    content: &Content,
) -> Option<Walk> {
    let main = program.declarations.iter().rev().find(|decl| &*decl.name.text == "main")?;
    let DeclKind::Instance { args, .. } = &*main.kind else { return None };
    let Some(Type::Package(package)) = checked.declared.get(&main.id) else { return None };
    let mut walker = Walker {
        checked,
        packet,
        layout,
        content,
        at: 0,
        nodes: program.declarations.iter().map(|decl| (decl.id, decl)).collect(),
        paths: HashMap::new(),
        variables: HashMap::new(),
        aliases: HashMap::new(),
        instances: HashMap::new(),
        names: HashMap::new(),
        subst: Vec::new(),
        prefix: String::new(),
        scope: String::new(),
        standard: None,
        steps: 0,
        walk: Walk::default(),
    };
    for decl in &program.declarations {
        if let DeclKind::Const { value, .. } = &*decl.kind {
            let known = checked.constants.get(&value.id).cloned();
            let data = walker.of_value(known.as_ref(), &walker.declared(decl.id));
            walker.variables.insert(decl.id, data);
        }
        walker.paths.insert(decl.id, decl.name.text.to_string());
    }
    let names = checked.signatures.get(&package.id)?.params.iter().map(|one| one.name.clone());
    let parts: Vec<Option<&Expr>> = names
        .enumerate()
        .map(|(at, name)| {
            let named = args.iter().find(|arg| arg.name.as_ref().is_some_and(|it| it.text == name));
            named.or_else(|| args.get(at).filter(|arg| arg.name.is_none())).map(|arg| &arg.value)
        })
        .collect();
    let ended = match &*package.name {
        "V1Switch" => walker.v1_switch(&parts, port),
        "ebpfFilter" | "xdp" => walker.filter(&parts, port),
        _ => return None,
    };
    if let Err(Halt::Unknown(span, text)) = ended {
        walker.walk.unknown = Some((span.line, text));
    }
    Some(walker.walk)
}

fn stop<T>(span: Span, text: impl Into<String>) -> Result<T> {
    Err(Halt::Unknown(span, text.into()))
}

fn reject<T>(error: &str) -> Result<T> {
    Err(Halt::Reject(error.into()))
}

impl<'a> Walker<'a> {
    fn statements(&mut self, statements: &'a [Stmt]) -> Result<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &'a Stmt) -> Result<()> {
        match &statement.kind {
            StmtKind::Empty => Ok(()),
            StmtKind::Call(call) => self.value(call).map(|_| ()),
            StmtKind::Block(block) => self.statements(&block.statements),
            StmtKind::Return(value) => {
                let data = value.as_ref().map(|value| self.value(value)).transpose()?;
                Err(Halt::Return(data))
            }
            StmtKind::If { condition, yes, no } => match (self.truth(condition)?, no) {
                (true, _) => self.statement(yes),
                (false, Some(no)) => self.statement(no),
                (false, None) => Ok(()),
            },
            StmtKind::Declare(decl) => self.declare(decl),
            StmtKind::Assign { target, op, value } => {
                let data = match op {
                    None => self.value(value)?,
                    Some(op) => self.binary(*op, target, value)?,
                };
                self.assign(target, data)
            }
            StmtKind::Switch { value, cases } => self.switch(value, cases),
            StmtKind::Exit => Err(Halt::Exit),
            _ => stop(statement.span, "a loop"),
        }
    }

    fn declare(&mut self, decl: &'a Decl) -> Result<()> {
        self.nodes.insert(decl.id, decl);
        let value = match &*decl.kind {
            DeclKind::Const { value, .. } => Some(value),
            DeclKind::Variable { value, .. } => value.as_ref(),
            _ => return Ok(()),
        };
        let ty = self.declared(decl.id);
        let data = match value {
            Some(value) => {
                let data = self.value(value)?;
                self.converted(data, &ty)
            }
            None => self.initial(&ty),
        };
        self.names.insert(decl.id, decl.name.text.clone());
        self.variables.insert(decl.id, data);
        Ok(())
    }

    fn assign(&mut self, target: &'a Expr, data: Data) -> Result<()> {
        if let ExprKind::Slice { base, high, low } = &target.kind {
            let (high, low) = (self.number(high)?.to_u32(), self.number(low)?.to_u32());
            let Some((high, low)) = high.zip(low) else { return stop(target.span, "a slice") };
            let value = match (self.leaf(base)?, data) {
                (Some(Value::Number(before)), Data::Leaf(Some(Value::Number(part)))) => {
                    let mask: BigInt = ((BigInt::from(1) << (high - low + 1)) - 1) << low;
                    let kept = &before - (&before & &mask);
                    let number = kept + ((part << low) & mask);
                    Some(Value::Number(wrap(&number, &plain(&self.ty(base)))))
                }
                _ => None,
            };
            return self.assign(base, Data::Leaf(value));
        }
        let ty = self.ty(target);
        let data = self.converted(data, &ty);
        let Some(place) = self.place(target)? else { return stop(target.span, "this assignment") };
        if data.is_valid() {
            self.invalidate_siblings(&place);
        }
        match self.slot(&place) {
            Some(slot) => *slot = data,
            None => return stop(target.span, "this assignment"),
        }
        Ok(())
    }
}
