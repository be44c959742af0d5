//! Tests random P4 controls: assignments, branches, and calls of actions and functions with side
//! effects. The fields of the packet must be as computed by an interpreter, which copies parameters
//! in and out as sections 6.8 and 8.1 of the specification say.

use crate::support;

use std::fmt::Write;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_oracle::Oracle;
use support::clang::clang;
use support::p4::P4;
use support::{hex, kernel};

/// Number of programs. The environment variable `SLOWPATH_P4_PROGRAMS` overrides it.
const PROGRAMS: u64 = 20;
/// Number of packets for each program.
const PACKETS: usize = 20;
/// Number of fields of the header. Actions can read and write them.
const FIELDS: usize = 8;
/// Number of parameters of an action: one `inout`, one `in` and one `out` parameter.
const PARAMS: usize = 3;
/// Number of actions. An action calls only earlier ones.
const ACTIONS: usize = 4;
/// P4 functions with one `inout` parameter, as pairs of numbers. A function adds the first number
/// to its parameter, and returns the old value of the parameter, XORed with the second number.
const FUNCTIONS: [(u16, u16); 2] = [(1, 0x5555), (0x1234, 0x00ff)];

/// A 16-bit variable: a field of the header, or a parameter of the running action.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Field(usize),
    Param(usize),
}

#[derive(Clone, Debug)]
enum Expr {
    Read(Place),
    Number(u16),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// Calls the function at this index of [`FUNCTIONS`], which changes the variable.
    Call(usize, Place),
    Choice(Box<Condition>, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Debug)]
enum Condition {
    Less(Expr, Expr),
    Both(&'static str, Box<Condition>, Box<Condition>),
}

#[derive(Clone, Debug)]
enum Stmt {
    /// Assigns an expression to a variable. With two numbers, assigns only the bits from the first
    /// to the second number.
    Assign(Place, Option<(u32, u32)>, Expr),
    /// Assigns with an operator such as `+=`.
    Change(Place, &'static str, Expr),
    If(Condition, Vec<Stmt>, Vec<Stmt>),
    Switch(Expr, Vec<(u16, Vec<Stmt>)>, Vec<Stmt>),
    Call(usize, Place, Expr, Place),
    Return,
    Exit,
}

#[derive(PartialEq)]
enum Flow {
    Next,
    Return,
    Exit,
}

/// State of the interpreter: the fields, the parameters of the running action, and the bodies of
/// all actions.
struct State<'a> {
    fields: [u16; FIELDS],
    params: [u16; PARAMS],
    actions: &'a [Vec<Stmt>],
}

fn binary(op: &str, a: u16, b: u16) -> u16 {
    match op {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "&" => a & b,
        "|" => a | b,
        _ => a ^ b,
    }
}

impl State<'_> {
    fn place(&mut self, place: Place) -> &mut u16 {
        match place {
            Place::Field(at) => &mut self.fields[at],
            Place::Param(at) => &mut self.params[at],
        }
    }

    fn value(&mut self, expr: &Expr) -> u16 {
        match expr {
            Expr::Read(place) => *self.place(*place),
            Expr::Number(number) => *number,
            Expr::Binary(op, a, b) => {
                let a = self.value(a);
                let b = self.value(b);
                binary(op, a, b)
            }
            Expr::Call(function, place) => {
                let (added, changed) = FUNCTIONS[*function];
                let place = self.place(*place);
                let before = *place;
                *place = before.wrapping_add(added);
                before ^ changed
            }
            Expr::Choice(condition, a, b) => {
                if self.holds(condition) {
                    self.value(a)
                } else {
                    self.value(b)
                }
            }
        }
    }

    fn holds(&mut self, condition: &Condition) -> bool {
        match condition {
            Condition::Less(a, b) => {
                let a = self.value(a);
                a < self.value(b)
            }
            Condition::Both("&&", a, b) => self.holds(a) && self.holds(b),
            Condition::Both(_, a, b) => self.holds(a) || self.holds(b),
        }
    }

    fn run(&mut self, statements: &[Stmt]) -> Flow {
        for statement in statements {
            let flow = self.step(statement);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn step(&mut self, statement: &Stmt) -> Flow {
        match statement {
            Stmt::Assign(place, bits, expr) => {
                let value = self.value(expr);
                let place = self.place(*place);
                *place = match bits {
                    None => value,
                    Some((high, low)) => {
                        let ones = (((1u32 << (high - low + 1)) - 1) << low) as u16;
                        (*place & !ones) | ((value << low) & ones)
                    }
                };
                Flow::Next
            }
            Stmt::Change(place, op, expr) => {
                let before = *self.place(*place);
                let value = self.value(expr);
                *self.place(*place) = binary(op, before, value);
                Flow::Next
            }
            Stmt::If(condition, yes, no) => {
                if self.holds(condition) {
                    self.run(yes)
                } else {
                    self.run(no)
                }
            }
            Stmt::Switch(expr, cases, default) => {
                let value = self.value(expr);
                let case = cases.iter().find(|case| case.0 == value);
                self.run(case.map_or(default, |case| &case.1))
            }
            Stmt::Call(action, first, second, third) => {
                let first_value = *self.place(*first);
                let second_value = self.value(second);
                let outer = std::mem::replace(&mut self.params, [first_value, second_value, 0]);
                let actions = self.actions;
                let flow = self.run(&actions[*action]);
                let inner = std::mem::replace(&mut self.params, outer);
                // Parameters are copied out even if the action exits.
                *self.place(*first) = inner[0];
                *self.place(*third) = inner[2];
                if flow == Flow::Exit { Flow::Exit } else { Flow::Next }
            }
            Stmt::Return => Flow::Return,
            Stmt::Exit => Flow::Exit,
        }
    }
}

/// Generator of random statements for the body of an action or of the control.
struct Source<'a> {
    rng: &'a mut StdRng,
    /// Number of actions that the body can call: those with the lowest indices.
    actions: usize,
    has_params: bool,
}

impl Source<'_> {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.random_range(0..from.len())]
    }

    /// Returns a random variable that can be read. If `written` is set, it can also be written: it
    /// is not an `in` parameter.
    fn place(&mut self, written: bool) -> Place {
        if !self.has_params || self.rng.random_bool(0.5) {
            return Place::Field(self.rng.random_range(0..4));
        }
        match self.rng.random_range(0..PARAMS) {
            1 if written => Place::Param(0),
            at => Place::Param(at),
        }
    }

    fn expr(&mut self, depth: u32) -> Expr {
        match self.rng.random_range(0..if depth == 0 { 4 } else { 10 }) {
            0..=2 => Expr::Read(self.place(false)),
            3 => Expr::Number(self.rng.random_range(0..4)),
            4..=6 => {
                let op = self.pick(&["+", "-", "*", "&", "|", "^"]);
                Expr::Binary(op, self.expr(depth - 1).into(), self.expr(depth - 1).into())
            }
            7 | 8 => Expr::Call(self.rng.random_range(0..2), self.place(true)),
            _ => {
                let condition = self.condition(depth - 1).into();
                Expr::Choice(condition, self.expr(depth - 1).into(), self.expr(depth - 1).into())
            }
        }
    }

    fn condition(&mut self, depth: u32) -> Condition {
        if depth == 0 || self.rng.random_bool(0.5) {
            return Condition::Less(self.expr(depth), self.expr(depth));
        }
        let op = self.pick(&["&&", "||"]);
        Condition::Both(op, self.condition(depth - 1).into(), self.condition(depth - 1).into())
    }

    fn statements(&mut self, depth: u32) -> Vec<Stmt> {
        (0..self.rng.random_range(1..4)).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> Stmt {
        match self.rng.random_range(0..if depth == 0 { 7 } else { 10 }) {
            0 | 1 => Stmt::Assign(self.place(true), None, self.expr(2)),
            2 => {
                let low = self.rng.random_range(0..16);
                let high = self.rng.random_range(low..16);
                Stmt::Assign(self.place(true), Some((high, low)), self.expr(1))
            }
            3 => {
                let op = self.pick(&["+", "-", "*", "&", "|", "^"]);
                Stmt::Change(self.place(true), op, self.expr(1))
            }
            4 | 5 if self.actions > 0 => {
                let action = self.rng.random_range(0..self.actions);
                Stmt::Call(action, self.place(true), self.expr(1), self.place(true))
            }
            6 if self.rng.random_bool(0.3) => self.pick_end(),
            7 => Stmt::If(self.condition(1), self.statements(depth - 1), Vec::new()),
            8 => {
                Stmt::If(self.condition(2), self.statements(depth - 1), self.statements(depth - 1))
            }
            9 => {
                let cases = [0, 2].map(|value| (value, self.statements(depth - 1))).into();
                let value = Expr::Binary("&", self.expr(1).into(), Expr::Number(3).into());
                Stmt::Switch(value, cases, self.statements(depth - 1))
            }
            _ => Stmt::Assign(self.place(true), None, self.expr(1)),
        }
    }

    fn pick_end(&mut self) -> Stmt {
        if self.rng.random() { Stmt::Return } else { Stmt::Exit }
    }
}

fn place_text(place: Place) -> String {
    match place {
        Place::Field(at) => format!("hdr.f.f{at}"),
        Place::Param(at) => ["x", "y", "z"][at].to_owned(),
    }
}

fn expr_text(expr: &Expr) -> String {
    match expr {
        Expr::Read(place) => place_text(*place),
        Expr::Number(number) => format!("16w{number}"),
        Expr::Binary(op, a, b) => format!("({} {op} {})", expr_text(a), expr_text(b)),
        Expr::Call(function, place) => format!("g{function}({})", place_text(*place)),
        Expr::Choice(condition, a, b) => {
            format!("({} ? {} : {})", condition_text(condition), expr_text(a), expr_text(b))
        }
    }
}

fn condition_text(condition: &Condition) -> String {
    match condition {
        Condition::Less(a, b) => format!("({} < {})", expr_text(a), expr_text(b)),
        Condition::Both(op, a, b) => {
            format!("({} {op} {})", condition_text(a), condition_text(b))
        }
    }
}

fn body_text(statements: &[Stmt], to: &mut String) {
    for statement in statements {
        let _ = match statement {
            Stmt::Assign(place, None, expr) => {
                writeln!(to, "{} = {};", place_text(*place), expr_text(expr))
            }
            Stmt::Assign(place, Some((high, low)), expr) => {
                let width = high - low + 1;
                let (place, expr) = (place_text(*place), expr_text(expr));
                writeln!(to, "{place}[{high}:{low}] = (bit<{width}>)({expr});")
            }
            Stmt::Change(place, op, expr) => {
                writeln!(to, "{} {op}= {};", place_text(*place), expr_text(expr))
            }
            Stmt::If(condition, yes, no) => {
                let _ = writeln!(to, "if ({}) {{", condition_text(condition));
                body_text(yes, to);
                if !no.is_empty() {
                    to.push_str("} else {\n");
                    body_text(no, to);
                }
                writeln!(to, "}}")
            }
            Stmt::Switch(expr, cases, default) => {
                let _ = writeln!(to, "switch ({}) {{", expr_text(expr));
                for (value, body) in cases {
                    let _ = writeln!(to, "{value}: {{");
                    body_text(body, to);
                    to.push_str("}\n");
                }
                to.push_str("default: {\n");
                body_text(default, to);
                writeln!(to, "}} }}")
            }
            Stmt::Call(action, first, second, third) => {
                let (first, second) = (place_text(*first), expr_text(second));
                writeln!(to, "a{action}({first}, {second}, {});", place_text(*third))
            }
            Stmt::Return => writeln!(to, "return;"),
            Stmt::Exit => writeln!(to, "exit;"),
        };
    }
}

fn program(actions: &[Vec<Stmt>], body: &[Stmt]) -> String {
    let mut functions = String::new();
    for (at, (added, changed)) in FUNCTIONS.iter().enumerate() {
        let _ = writeln!(
            functions,
            "bit<16> g{at}(inout bit<16> x) {{ bit<16> before = x; x = x + {added}; return before ^ {changed}; }}"
        );
    }
    let mut locals = String::new();
    for (at, action) in actions.iter().enumerate() {
        let params = "inout bit<16> x, in bit<16> y, out bit<16> z";
        let _ = writeln!(locals, "action a{at}({params}) {{");
        body_text(action, &mut locals);
        locals.push_str("}\n");
    }
    let mut statements = String::new();
    body_text(body, &mut statements);
    let fields: String = (0..FIELDS).map(|at| format!("bit<16> f{at}; ")).collect();
    format!(
        "#include <core.p4>
#include <v1model.p4>
header F {{ {fields} }}
struct Hs {{ F f; }}
struct M {{}}
{functions}
parser P(packet_in b, out Hs hdr, inout M m, inout standard_metadata_t s) {{
    state start {{ b.extract(hdr.f); transition accept; }}
}}
control V(inout Hs hdr, inout M m) {{ apply {{}} }}
control I(inout Hs hdr, inout M m, inout standard_metadata_t s) {{
{locals}
    apply {{
{statements}
    }}
}}
control E(inout Hs hdr, inout M m, inout standard_metadata_t s) {{ apply {{}} }}
control D(packet_out b, in Hs hdr) {{ apply {{ b.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    )
}

#[test]
fn random_controls_have_the_fields_of_an_interpreter() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let setting = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let programs = setting("SLOWPATH_P4_PROGRAMS").unwrap_or(PROGRAMS);
    let first = setting("SLOWPATH_P4_SEED").unwrap_or(0);
    let mut count = 0;
    for seed in first..first + programs {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut actions: Vec<Vec<Stmt>> = Vec::new();
        for at in 0..ACTIONS {
            let mut source = Source { rng: &mut rng, actions: at.min(2), has_params: true };
            // An `out` parameter has no value when its action starts.
            let mut body = vec![Stmt::Assign(Place::Param(2), None, Expr::Number(at as u16))];
            body.extend(source.statements(1));
            actions.push(body);
        }
        let mut source = Source { rng: &mut rng, actions: ACTIONS, has_params: false };
        let body: Vec<Stmt> = (0..6).map(|_| source.statement(2)).collect();
        let text = program(&actions, &body);
        let loaded = P4::load(&kernel, &clang, &text, true);
        for _ in 0..PACKETS {
            let fields = [(); FIELDS].map(|()| match rng.random_range(0..3) {
                0 => rng.random(),
                1 => rng.random_range(0..4),
                _ => u16::MAX - rng.random_range(0..4),
            });
            let mut state = State { fields, params: [0; PARAMS], actions: &actions };
            state.run(&body);
            let bytes = |fields: [u16; FIELDS]| fields.map(u16::to_be_bytes).concat();
            let sent = loaded.run(&bytes(fields)).map(|sent| hex(&sent.1));
            let wanted = hex(&bytes(state.fields));
            assert_eq!(sent, Some(wanted), "seed {seed}: fields {fields:?}\n{text}");
            count += 1;
        }
    }
    Oracle::Kernel.compared(count, "packets of random P4 controls");
}
