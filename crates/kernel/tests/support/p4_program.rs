//! Generates random P4 programs for v1model, with table entries and packets.
//!
//! The specification leaves some results open: fields of invalid headers, and variables without a
//! value. The programs read neither. Packets are longer than the headers that a parser can extract.

use std::collections::BTreeSet;
use std::fmt::Write;

use num_bigint::BigInt;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::p4_expr::{Field, Source, Type, padding};

/// Length in bytes of each packet. A parser never extracts as many bytes.
const LONGEST: usize = 280;
/// Maximum width of a number in a program, in bits.
const WIDEST: u32 = 128;
/// Headers besides `h`, each with the name of its type. `x` and `y` have the same type.
const HEADERS: [(&str, &str); 3] = [("x", "A"), ("y", "A"), ("z", "B")];
/// Number of elements of the header stack `s`.
const STACK: usize = 3;

/// A random program: its P4 source, entries of its tables as text, and packets.
#[derive(Clone, Debug)]
pub struct Random {
    pub text: String,
    pub entries: String,
    pub packets: Vec<Vec<u8>>,
}

/// A key of a table: its P4 expression, width in bits, match kind, and first bit in the header `h`.
/// The bit is `None` if the key is not a field of `h`.
struct Key {
    text: String,
    width: u32,
    kind: &'static str,
    bit: Option<u32>,
}

/// A P4 action: its name, its parameters with a direction, and its parameters that table entries
/// set.
#[derive(Clone)]
struct Action {
    name: String,
    directed: Vec<(&'static str, Type)>,
    data: Vec<Type>,
}

struct Generator {
    rng: StdRng,
    /// Metadata fields, parameters and variables that have a value at the point of the program for
    /// which code is being generated.
    fields: Vec<Field>,
    /// First bit in the packet of each field of the header `h`, by the name of the field.
    bits: Vec<(String, u32)>,
    headers: Vec<(String, Vec<Field>)>,
    /// Headers that are certainly valid at the point of the program for which code is being
    /// generated.
    valid: BTreeSet<String>,
    actions: Vec<Action>,
    functions: Vec<(String, Vec<Type>, Type)>,
    tables: Vec<(String, Vec<String>)>,
    registers: Vec<(String, Type)>,
    /// Table entries in the text format of entry files.
    entries: String,
    packets: Vec<Vec<u8>>,
    /// Number of loops and actions around the current statement. Inside of them, no statement makes
    /// a header invalid.
    keeping: u32,
    /// True if the current control may contain `exit` statements.
    exits: bool,
    /// True while the ingress control is generated.
    ingress: bool,
    /// True if the program may contain numbers of more than 64 bits.
    wide: bool,
    names: u32,
}

/// Returns the random program of a seed. Equal arguments give equal programs.
pub fn random(seed: u64, packets: usize) -> Random {
    let mut rng = StdRng::seed_from_u64(seed);
    let wide = rng.random_bool(0.5);
    let packets = (0..packets).map(|_| packet(&mut rng)).collect();
    let mut generator = Generator {
        rng,
        fields: Vec::new(),
        bits: Vec::new(),
        headers: Vec::new(),
        valid: BTreeSet::new(),
        actions: Vec::new(),
        functions: Vec::new(),
        tables: Vec::new(),
        registers: Vec::new(),
        entries: String::new(),
        packets,
        keeping: 0,
        exits: false,
        ingress: true,
        wide,
        names: 0,
    };
    let text = generator.program();
    Random { text, entries: generator.entries, packets: generator.packets }
}

fn packet(rng: &mut StdRng) -> Vec<u8> {
    let often = rng.random_bool(0.7);
    (0..LONGEST)
        .map(|at| match (at < 4, often && rng.random_bool(0.7)) {
            (true, _) => rng.random_range(0..5),
            (_, true) => [0, 1, 2, 0x7f, 0x80, 0xff][rng.random_range(0..6)],
            _ => rng.random(),
        })
        .collect()
}

/// Reads `width` bits of a packet as a number, starting with bit `first`.
fn bits(packet: &[u8], first: u32, width: u32) -> BigInt {
    (first..first + width).fold(BigInt::ZERO, |sum, bit| {
        let one = packet[bit as usize / 8] >> (7 - bit % 8) & 1;
        (sum << 1) + one
    })
}

impl Generator {
    fn below(&mut self, limit: usize) -> usize {
        self.rng.random_range(0..limit)
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.rng.random_bool(probability)
    }

    fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    fn ty(&mut self) -> Type {
        let width = match self.below(10) {
            0..3 => [8, 16, 32, 48, 64][self.below(5)],
            3 if self.wide => self.rng.random_range(65..=WIDEST),
            4 => self.rng.random_range(1..4),
            _ => self.rng.random_range(1..=64),
        };
        Type { signed: self.chance(0.25), width }
    }

    fn unsigned(&mut self) -> Type {
        Type { signed: false, ..self.ty() }
    }

    /// Declares a header type with the fields `start` and some random fields. Returns all fields
    /// with their first bits.
    fn header(&mut self, ty: &str, start: &[(&str, u32)], text: &mut String) -> Vec<(Field, u32)> {
        let mut fields: Vec<(String, Type)> = start
            .iter()
            .map(|(name, width)| ((*name).to_owned(), Type { signed: false, width: *width }))
            .collect();
        for at in 0..self.rng.random_range(2..6) {
            fields.push((format!("f{at}"), self.ty()));
        }
        let types: Vec<Type> = fields.iter().map(|one| one.1).collect();
        if padding(&types) > 0 {
            fields.push(("rest".to_owned(), Type { signed: false, width: padding(&types) }));
        }
        let _ = write!(text, "header {ty} {{");
        let (mut bit, mut found) = (0, Vec::new());
        for (name, ty) in fields {
            let _ = write!(text, " {} {name};", ty.text());
            found.push((Field { name, ty }, bit));
            bit += ty.width;
        }
        text.push_str(" }\n");
        found
    }

    /// Returns the fields and variables that the current statement can read and write.
    fn visible(&self) -> Vec<Field> {
        let headers = self.headers.iter().filter(|(name, _)| self.valid.contains(name));
        let members = headers.flat_map(|(name, fields)| {
            fields.iter().map(move |one| Field { name: format!("hdr.{name}.{}", one.name), ..*one })
        });
        self.fields.iter().cloned().chain(members).collect()
    }

    fn expr(&mut self, ty: Type, depth: u32) -> String {
        let fields = self.visible();
        let mut text = String::new();
        let mut source = Source { rng: &mut self.rng, fields: &fields, shifts_wide: false };
        source.expr(ty, depth).text(&mut text);
        text
    }

    fn condition(&mut self) -> String {
        if self.chance(0.15) {
            let (name, _) = HEADERS[self.below(3)];
            let not = if self.chance(0.3) { "!" } else { "" };
            return format!("{not}hdr.{name}.isValid()");
        }
        if self.chance(0.05) {
            let op = ["==", "!="][self.below(2)];
            return format!("hdr.x {op} hdr.y");
        }
        let fields = self.visible();
        let mut text = String::new();
        let mut source = Source { rng: &mut self.rng, fields: &fields, shifts_wide: false };
        source.condition(2).text(&mut text);
        text
    }

    /// Returns a random field or variable that the current statement can write.
    fn target(&mut self) -> Field {
        let fields = self.visible();
        fields[self.below(fields.len())].clone()
    }

    /// Returns a random field or variable of exactly this type to write to. Returns `None` if there
    /// is none.
    fn target_of(&mut self, ty: Type) -> Option<Field> {
        let fields: Vec<Field> = self.visible().into_iter().filter(|one| one.ty == ty).collect();
        match fields.len() {
            0 => None,
            count => Some(fields[self.below(count)].clone()),
        }
    }

    fn program(&mut self) -> String {
        let mut top = String::new();
        let h = self.header("H", &[("k0", 8), ("k1", 8), ("k2", 8), ("k3", 8)], &mut top);
        let a = self.header("A", &[("n", 8)], &mut top);
        let b = self.header("B", &[], &mut top);
        top.push_str("header S { bit<1> last; bit<7> a; bit<8> b; }\n");
        self.bits = h.iter().map(|(one, bit)| (format!("hdr.h.{}", one.name), *bit)).collect();
        let plain = |fields: Vec<(Field, u32)>| fields.into_iter().map(|one| one.0).collect();
        let (a, b): (Vec<Field>, Vec<Field>) = (plain(a), plain(b));
        self.headers = vec![
            ("h".to_owned(), plain(h)),
            ("x".to_owned(), a.clone()),
            ("y".to_owned(), a),
            ("z".to_owned(), b),
        ];
        let stack: Vec<Field> = [("last", 1), ("a", 7), ("b", 8)]
            .map(|(name, width)| Field { name: name.to_owned(), ty: Type { signed: false, width } })
            .into();
        for at in 0..STACK {
            self.headers.push((format!("s[{at}]"), stack.clone()));
        }
        self.valid.insert("h".to_owned());
        let metadata: Vec<Field> = (0..self.rng.random_range(1..4))
            .map(|at| Field { name: format!("m.m{at}"), ty: self.ty() })
            .collect();
        top.push_str("struct Hs { H h; A x; A y; B z; S[3] s; }\nstruct M {");
        for one in &metadata {
            let kept = ["", "@field_list(1) "][usize::from(self.chance(0.3))];
            let _ = write!(top, " {kept}{} {};", one.ty.text(), &one.name[2..]);
        }
        top.push_str(" }\n");
        let parser = self.parser(&metadata);
        self.fields = metadata;
        let functions: Vec<String> = (0..self.below(3)).map(|_| self.function()).collect();
        self.exits = true;
        let mut ingress = self.control();
        ingress.1 += &self.round("resubmit");
        self.ingress = false;
        self.valid = BTreeSet::new();
        let egress = match self.chance(0.5) {
            true => {
                let mut egress = self.control();
                egress.1 += &self.round("recirculate");
                egress
            }
            false => ("".to_owned(), "".to_owned()),
        };
        let update = self.checksum("update_checksum");
        let verify = self.checksum("verify_checksum");
        format!(
            "#include <core.p4>
#include <v1model.p4>
{top}{functions}parser P(packet_in b, out Hs hdr, inout M m, inout standard_metadata_t st) {{
{parser}}}
control V(inout Hs hdr, inout M m) {{ apply {{ {verify} }} }}
control I(inout Hs hdr, inout M m, inout standard_metadata_t st) {{
{locals}  apply {{
{body}  }}
}}
control E(inout Hs hdr, inout M m, inout standard_metadata_t st) {{
{egress_locals}  apply {{
{egress}  }}
}}
control C(inout Hs hdr, inout M m) {{ apply {{ {update} }} }}
control D(packet_out b, in Hs hdr) {{
  apply {{ b.emit(hdr.h); b.emit(hdr.x); b.emit(hdr.s); b.emit(hdr.y); b.emit(hdr.z); }}
}}
V1Switch(P(), V(), I(), E(), C(), D()) main;
",
            functions = functions.concat(),
            locals = ingress.0,
            body = ingress.1,
            egress_locals = egress.0,
            egress = egress.1,
        )
    }

    /// Returns a statement that sends some packets through the program again, or nothing. `kind` is
    /// `resubmit` or `recirculate`.
    fn round(&mut self, kind: &str) -> String {
        if self.chance(0.85) {
            return String::new();
        }
        let own = std::mem::take(&mut self.valid);
        let condition = self.condition();
        self.valid = own;
        let once = ["st.instance_type == 0", "true"][self.below(2)];
        let list = self.below(2);
        format!("    if ({condition} && {once}) {{ {kind}_preserving_field_list({list}); }}\n")
    }

    /// Returns a statement that updates or verifies a checksum, or nothing. `function` is the P4
    /// function to call.
    fn checksum(&mut self, function: &str) -> String {
        if self.chance(0.6) {
            return String::new();
        }
        let fields = self.headers[0].1.clone();
        let names: Vec<String> = (0..self.rng.random_range(1..5))
            .map(|_| format!("hdr.h.{}", fields[self.below(fields.len())].name))
            .collect();
        let sums: Vec<&Field> = fields.iter().filter(|one| one.ty.width >= 16).collect();
        let Some(sum) = sums.first() else { return String::new() };
        let sum = match (sum.ty.width == 16 && !sum.ty.signed, function) {
            (true, _) => format!("hdr.h.{}", sum.name),
            (false, "verify_checksum") => format!("(bit<16>)hdr.h.{}[15:0]", sum.name),
            (false, _) => return String::new(),
        };
        format!(
            "{function}({}, {{ {} }}, {sum}, HashAlgorithm.csum16);",
            ["true", "hdr.h.k0 == 1"][self.below(2)],
            names.join(", ")
        )
    }

    fn parser(&mut self, metadata: &[Field]) -> String {
        let mut text = String::from("  state start {\n    b.extract(hdr.h);\n");
        let own = std::mem::take(&mut self.fields);
        for one in metadata {
            let value = self.expr(one.ty, 1);
            let _ = writeln!(text, "    {} = {value};", one.name);
        }
        self.fields = metadata.to_vec();
        let order = ["x", "s", "y", "z"];
        let _ = writeln!(text, "    {}\n  }}", self.transition(&order));
        for (at, name) in order.iter().enumerate() {
            let later = &order[at + 1..];
            self.valid = BTreeSet::from(["h".to_owned()]);
            let _ = writeln!(text, "  state p_{name} {{");
            if *name == "s" {
                let _ = writeln!(text, "    b.extract(hdr.s.next);");
                let next = later[self.below(later.len())];
                let _ = writeln!(
                    text,
                    "    transition select(hdr.s.last.last) {{ 0: p_s; 1: p_{next}; }}\n  }}"
                );
                continue;
            }
            if self.chance(0.25) {
                let width = self.rng.random_range(1..=64);
                let ahead = self.name("ahead");
                let _ = writeln!(text, "    bit<{width}> {ahead} = b.lookahead<bit<{width}>>();");
                let to = self.target();
                let _ = writeln!(
                    text,
                    "    {} = ({})(bit<{}>){ahead};",
                    to.name,
                    to.ty.text(),
                    to.ty.width
                );
            }
            if self.chance(0.15) {
                let _ = writeln!(text, "    b.advance({});", 8 * self.rng.random_range(1..9));
            }
            let _ = writeln!(text, "    b.extract(hdr.{name});");
            self.valid.insert((*name).to_owned());
            if self.chance(0.2) {
                let condition = self.condition();
                let fault = ["NoMatch", "HeaderTooShort", "ParserInvalidArgument"][self.below(3)];
                let _ = writeln!(text, "    verify({condition}, error.{fault});");
            }
            for _ in 0..self.below(3) {
                let one = self.assignment();
                let _ = writeln!(text, "    {one}");
            }
            let _ = writeln!(text, "    {}\n  }}", self.transition(later));
        }
        self.fields = own;
        self.valid = BTreeSet::from(["h".to_owned()]);
        text
    }

    fn transition(&mut self, later: &[&str]) -> String {
        if later.is_empty() || self.chance(0.1) {
            return format!("transition {};", ["accept", "reject"][usize::from(self.chance(0.1))]);
        }
        let keys: Vec<Field> = (0..self.rng.random_range(1..3))
            .map(|_| match self.chance(0.7) {
                true => Field {
                    name: format!("hdr.h.k{}", self.below(4)),
                    ty: Type { signed: false, width: 8 },
                },
                false => {
                    let ty = self.unsigned();
                    let ty = Type { width: ty.width.min(64), ..ty };
                    Field { name: self.expr(ty, 1), ty }
                }
            })
            .collect();
        let names: Vec<String> = keys.iter().map(|one| one.name.clone()).collect();
        let mut text = format!("transition select({}) {{", names.join(", "));
        for _ in 0..self.rng.random_range(1..5) {
            let sets: Vec<String> = keys.iter().map(|key| self.set(key.ty.width)).collect();
            let sets = match sets.len() {
                1 => sets[0].clone(),
                _ => format!("({})", sets.join(", ")),
            };
            let to = later[self.below(later.len())];
            let _ = write!(text, " {sets}: p_{to};");
        }
        if self.chance(0.8) {
            let to = match self.chance(0.5) {
                true => "accept".to_owned(),
                false => format!("p_{}", later[self.below(later.len())]),
            };
            let _ = write!(text, " default: {to};");
        }
        text + " }"
    }

    /// Returns a random keyset expression for numbers of this width: a value, a mask, a range or
    /// `_`.
    fn set(&mut self, width: u32) -> String {
        let most = if width >= 31 { u32::MAX >> 1 } else { (1 << width) - 1 };
        let small = |this: &mut Self| this.rng.random_range(0..=most.min(4));
        match self.below(6) {
            0 => {
                let (a, b) = (small(self), small(self));
                format!("{width}w{a} &&& {width}w{b}")
            }
            1 => {
                let (a, b) = (small(self), small(self));
                format!("{width}w{}..{width}w{}", a.min(b), a.max(b))
            }
            2 => "_".to_owned(),
            _ => format!("{width}w{}", small(self)),
        }
    }

    fn function(&mut self) -> String {
        let name = self.name("fn");
        let (result, params) = (self.ty(), (0..self.rng.random_range(1..4)).map(|_| self.ty()));
        let params: Vec<Type> = params.collect();
        let outer = std::mem::take(&mut self.fields);
        let valid = std::mem::take(&mut self.valid);
        self.fields = params
            .iter()
            .enumerate()
            .map(|(at, ty)| Field { name: format!("p{at}"), ty: *ty })
            .collect();
        // The first parameter is written back.
        let list: Vec<String> = self
            .fields
            .iter()
            .enumerate()
            .map(|(at, one)| {
                let direction = if at == 0 { "inout" } else { "in" };
                format!("{direction} {} {}", one.ty.text(), one.name)
            })
            .collect();
        let first = self.fields[0].clone();
        let mut text = format!("{} {name}({}) {{\n", result.text(), list.join(", "));
        let condition = self.plain_condition();
        let (early, late) = (self.expr(result, 2), self.expr(result, 2));
        let (one, two) = (self.expr(first.ty, 2), self.expr(first.ty, 2));
        let _ = writeln!(text, "  if ({condition}) {{ p0 = {one}; return {early}; }}");
        let _ = writeln!(text, "  p0 = {two};\n  return {late};\n}}");
        self.fields = outer;
        self.valid = valid;
        self.functions.push((name, params, result));
        text
    }

    fn plain_condition(&mut self) -> String {
        let fields = self.visible();
        let mut text = String::new();
        let mut source = Source { rng: &mut self.rng, fields: &fields, shifts_wide: false };
        source.condition(2).text(&mut text);
        text
    }

    /// Returns the declarations and the statements of a random control.
    fn control(&mut self) -> (String, String) {
        let mut locals = String::new();
        self.valid = BTreeSet::from(["h".to_owned()]);
        (self.actions, self.tables, self.registers) = (Vec::new(), Vec::new(), Vec::new());
        if !self.ingress {
            // The program never makes `h` invalid.
            self.exits = false;
        }
        for _ in 0..self.below(2) {
            let (name, ty) = (self.name("r"), self.unsigned());
            let ty = Type { width: ty.width.min(64), ..ty };
            let _ = writeln!(locals, "  register<{}>(4) {name};", ty.text());
            self.registers.push((name, ty));
        }
        for _ in 0..self.rng.random_range(1..4) {
            locals += &self.action();
        }
        let first = self.fields.len();
        let mut body = String::new();
        for _ in 0..self.rng.random_range(1..3) {
            let (name, ty) = (self.name("v"), self.ty());
            let value = self.expr(ty, 1);
            // Variables of the control, which its tables can have as keys.
            let _ = writeln!(locals, "  {} {name};", ty.text());
            let _ = writeln!(body, "    {name} = {value};");
            self.fields.push(Field { name, ty });
        }
        for _ in 0..self.below(4) {
            locals += &self.table();
        }
        for _ in 0..self.rng.random_range(2..6) {
            let one = self.statement(2);
            let _ = writeln!(body, "    {one}");
        }
        while !self.tables.is_empty() {
            let one = self.apply();
            let _ = writeln!(body, "    {one}");
            let one = self.statement(1);
            let _ = writeln!(body, "    {one}");
        }
        self.fields.truncate(first);
        (locals, body)
    }

    fn action(&mut self) -> String {
        let name = self.name("a");
        let directed: Vec<(&str, Type)> = (0..self.below(3))
            .map(|_| (["in", "inout", "out"][self.below(3)], self.ty()))
            .collect();
        let data: Vec<Type> = (0..self.below(3)).map(|_| self.ty()).collect();
        let (fields, valid) = (self.fields.len(), self.valid.clone());
        let mut params = Vec::new();
        let mut starts = String::new();
        for (at, (direction, ty)) in directed.iter().enumerate() {
            params.push(format!("{direction} {} d{at}", ty.text()));
            if *direction == "out" {
                let value = self.expr(*ty, 1);
                let _ = write!(starts, "d{at} = {value}; ");
            }
            if *direction != "in" {
                self.fields.push(Field { name: format!("d{at}"), ty: *ty });
            }
        }
        for (at, ty) in data.iter().enumerate() {
            params.push(format!("{} c{at}", ty.text()));
        }
        let mut body = String::new();
        for (at, ty) in data.iter().enumerate() {
            // Parameters without a direction can be read only.
            let to = match self.target_of(*ty) {
                Some(to) => format!("{} = c{at}; ", to.name),
                None => {
                    let to = self.target();
                    format!(
                        "{} = ({})(bit<{}>)(bit<{}>)c{at}; ",
                        to.name,
                        to.ty.text(),
                        to.ty.width,
                        ty.width
                    )
                }
            };
            body += &to;
        }
        self.keeping += 1;
        for _ in 0..self.rng.random_range(1..3) {
            let one = self.statement(1);
            let _ = write!(body, "{one} ");
        }
        self.keeping -= 1;
        if self.ingress && self.chance(0.5) {
            body += &self.port();
        }
        self.fields.truncate(fields);
        self.valid = valid;
        self.actions.push(Action { name: name.clone(), directed, data });
        format!("  action {name}({}) {{ {starts}{body}}}\n", params.join(", "))
    }

    /// Returns a statement that chooses the output port or drops the packet.
    fn port(&mut self) -> String {
        if self.chance(0.15) {
            return "mark_to_drop(st); ".to_owned();
        }
        let port = self.expr(Type { signed: false, width: 4 }, 1);
        format!("st.egress_spec = (bit<9>)({port}); ")
    }

    fn key(&mut self) -> Key {
        let fields: Vec<Field> = self.visible().into_iter().filter(|one| !one.ty.signed).collect();
        let field = match fields.len() {
            0 => Field { name: "hdr.h.k0".to_owned(), ty: Type { signed: false, width: 8 } },
            count => fields[self.below(count)].clone(),
        };
        let first = self.bits.iter().find(|(name, _)| *name == field.name).map(|one| one.1);
        let (mut text, mut width, mut bit) = (field.name, field.ty.width, first);
        if width > 6 && self.chance(0.5) {
            let part = self.rng.random_range(1..6);
            let low = self.rng.random_range(0..=width - part);
            text = format!("{text}[{}:{low}]", low + part - 1);
            bit = bit.map(|bit| bit + width - low - part);
            width = part;
        }
        let kind = match self.below(8) {
            0..4 => "exact",
            4 => "lpm",
            5 if width <= 12 => "range",
            6 => "optional",
            _ => "ternary",
        };
        Key { text, width, kind, bit }
    }

    fn table(&mut self) -> String {
        let name = self.name("t");
        let mut keys: Vec<Key> = (0..self.rng.random_range(1..4)).map(|_| self.key()).collect();
        let mut prefixes = 0;
        for key in &mut keys {
            prefixes += usize::from(key.kind == "lpm");
            if prefixes > 1 && key.kind == "lpm" {
                key.kind = "exact";
            }
        }
        let mut text = format!("  table {name} {{\n    key = {{");
        for key in &keys {
            let _ = write!(text, " {}: {};", key.text, key.kind);
        }
        text.push_str(" }\n    actions = {");
        let mut actions = Vec::new();
        for action in self.actions.clone() {
            let given: Vec<String> = action.directed.iter().map(|one| self.argument(one)).collect();
            if given.iter().any(String::is_empty) || self.chance(0.2) {
                continue;
            }
            match given.is_empty() {
                true => text += &format!(" {};", action.name),
                false => text += &format!(" {}({});", action.name, given.join(", ")),
            }
            actions.push(action);
        }
        if actions.is_empty() {
            let name = "NoAction".to_owned();
            actions.push(Action { name, directed: Vec::new(), data: Vec::new() });
        }
        text.push_str(" NoAction; }\n");
        let is_constant = self.chance(0.3);
        let ordered = keys.iter().any(|key| !matches!(key.kind, "exact" | "lpm"));
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        let count = self.rng.random_range(0..7);
        for _ in 0..count {
            let packet = self.below(self.packets.len());
            let values: Vec<(String, String)> =
                keys.iter().map(|key| self.value(key, packet)).collect();
            let unique: Vec<&str> = values.iter().map(|one| &*one.1).collect();
            if !seen.insert(unique.join(",")) && !ordered {
                continue;
            }
            let action = actions[self.below(actions.len())].clone();
            let args: Vec<BigInt> = action.data.iter().map(|ty| self.number(*ty)).collect();
            let texts: Vec<String> = values.into_iter().map(|one| one.0).collect();
            lines.push((texts, action, args));
        }
        if is_constant && !lines.is_empty() {
            text.push_str("    const entries = {\n");
            for (values, action, args) in &lines {
                let values: Vec<String> = values.iter().map(|one| one.replace('*', "_")).collect();
                let args: Vec<String> = args.iter().map(ToString::to_string).collect();
                let values = match values.len() {
                    1 => values[0].clone(),
                    _ => format!("({})", values.join(", ")),
                };
                let _ = writeln!(text, "      {values}: {}({});", action.name, args.join(", "));
            }
            text.push_str("    }\n");
        } else {
            for (at, (values, action, args)) in lines.iter().enumerate() {
                let values: Vec<String> = values
                    .iter()
                    .zip(&keys)
                    .map(|(value, key)| match (key.kind, value.split_once(" &&& ")) {
                        // Entry files state a prefix by its length.
                        ("lpm", Some((value, mask))) => {
                            let mask: BigInt = mask.parse().unwrap_or_default();
                            format!("{value}/{}", mask.magnitude().count_ones())
                        }
                        _ => value.clone(),
                    })
                    .collect();
                let priority = match ordered && self.chance(0.7) {
                    true => format!(" priority {}", (at * 7) % 5 + 1),
                    false => String::new(),
                };
                let args: Vec<String> = args.iter().map(ToString::to_string).collect();
                let _ = writeln!(
                    self.entries,
                    "{name} {}{priority} -> {}({})",
                    values.join(", "),
                    action.name,
                    args.join(", ")
                );
            }
        }
        let default = actions[self.below(actions.len())].clone();
        actions.retain(|one| one.name != "NoAction");
        if default.directed.is_empty() && self.chance(0.6) {
            let args: Vec<String> =
                default.data.iter().map(|ty| self.number(*ty).to_string()).collect();
            let constant = if self.chance(0.5) { "const " } else { "" };
            let _ = writeln!(
                text,
                "    {constant}default_action = {}({});",
                default.name,
                args.join(", ")
            );
        }
        text.push_str("    size = 16;\n  }\n");
        self.tables.push((name, actions.into_iter().map(|one| one.name).collect()));
        text
    }

    /// Returns an argument for an action's parameter, which is given as direction and type.
    fn argument(&mut self, (direction, ty): &(&'static str, Type)) -> String {
        match self.target_of(*ty) {
            Some(field) => field.name,
            None if *direction == "in" => self.expr(*ty, 1),
            None => self.lvalue(*ty),
        }
    }

    /// Returns a bit slice of a random unsigned field or variable, with the width of `ty`, to write
    /// to. Returns an empty text if there is none.
    fn lvalue(&mut self, ty: Type) -> String {
        let wider: Vec<Field> = self
            .visible()
            .into_iter()
            .filter(|one| !one.ty.signed && one.ty.width >= ty.width)
            .collect();
        if ty.signed || wider.is_empty() {
            return String::new();
        }
        let field = wider[self.below(wider.len())].clone();
        let low = self.rng.random_range(0..=field.ty.width - ty.width);
        format!("{}[{}:{low}]", field.name, low + ty.width - 1)
    }

    fn number(&mut self, ty: Type) -> BigInt {
        Source { rng: &mut self.rng, fields: &[], shifts_wide: false }.number(ty)
    }

    /// Returns a random value of a table key as two texts. The first one goes into a table entry,
    /// and the second one serves to recognise duplicate entries.
    fn value(&mut self, key: &Key, packet: usize) -> (String, String) {
        let ty = Type { signed: false, width: key.width };
        let number = match key.bit {
            Some(bit) if self.chance(0.8) => bits(&self.packets[packet], bit, key.width),
            _ => self.number(ty),
        };
        let all = (BigInt::from(1) << key.width) - 1;
        match key.kind {
            "lpm" => {
                let length = self.rng.random_range(0..=key.width);
                let mask: BigInt = &all - ((BigInt::from(1) << (key.width - length)) - 1);
                let number: BigInt = number & &mask;
                let text = format!("{number} &&& {mask}");
                (text.clone(), text)
            }
            "ternary" if self.chance(0.8) => {
                let mask = match self.chance(0.4) {
                    true => all,
                    false => self.number(ty),
                };
                let number: BigInt = number & &mask;
                let text = format!("{number} &&& {mask}");
                (text.clone(), text)
            }
            "range" => {
                let other = self.number(ty);
                let (low, high) = (number.clone().min(other.clone()), number.max(other));
                let text = format!("{low}..{high}");
                (text.clone(), text)
            }
            "optional" if self.chance(0.3) => ("*".to_owned(), "*".to_owned()),
            _ => (number.to_string(), number.to_string()),
        }
    }

    fn apply(&mut self) -> String {
        let Some((name, actions)) = self.tables.pop() else { return String::new() };
        match self.below(4) {
            0 => {
                let (hit, miss) = (self.block(1), self.assignment());
                format!("if ({name}.apply().hit) {hit} else {{ {miss} }}")
            }
            1 => {
                let Some(chosen) = actions.first().cloned() else {
                    return format!("{name}.apply();");
                };
                let (one, other) = (self.block(1), self.assignment());
                let (label, rest) = match self.chance(0.3) {
                    true => (format!("{chosen}: NoAction"), ""),
                    false => (chosen, "NoAction: { } "),
                };
                format!(
                    "switch ({name}.apply().action_run) {{ {label}: {one} {rest}default: {{ {other} }} }}"
                )
            }
            2 => {
                let to = self.target_of(Type { signed: false, width: 1 });
                match to {
                    Some(to) => format!("{} = {name}.apply().miss ? 1w1 : 0;", to.name),
                    None => format!("{name}.apply();"),
                }
            }
            _ => format!("{name}.apply();"),
        }
    }

    /// Returns a block of random statements in braces. Headers that the block makes valid do not
    /// count as valid after it, because the program may skip the block.
    fn block(&mut self, depth: u32) -> String {
        let (fields, valid) = (self.fields.len(), self.valid.clone());
        let mut text = String::from("{ ");
        for _ in 0..self.rng.random_range(1..4) {
            let one = self.statement(depth.saturating_sub(1));
            text += &one;
            text.push(' ');
        }
        self.fields.truncate(fields);
        self.valid = valid.intersection(&self.valid).cloned().collect();
        text + "}"
    }

    fn assignment(&mut self) -> String {
        let to = self.target();
        match self.below(8) {
            0 if !to.ty.signed && to.ty.width > 1 => {
                let width = self.rng.random_range(1..to.ty.width);
                let low = self.rng.random_range(0..=to.ty.width - width);
                let value = self.expr(Type { signed: false, width }, 2);
                format!("{}[{}:{low}] = {value};", to.name, low + width - 1)
            }
            1 => {
                let op = ["+", "-", "&", "|", "^"][self.below(5)];
                let value = self.expr(to.ty, 1);
                format!("{} {op}= {value};", to.name)
            }
            _ => {
                let depth = self.rng.random_range(1..3);
                let value = self.expr(to.ty, depth);
                format!("{} = {value};", to.name)
            }
        }
    }

    fn statement(&mut self, depth: u32) -> String {
        let outer = self.keeping == 0;
        match self.below(24) {
            0..2 if depth > 0 => {
                let (condition, before) = (self.condition(), self.valid.clone());
                let then = self.block(depth);
                let after = std::mem::replace(&mut self.valid, before);
                if self.chance(0.5) {
                    let other = self.block(depth);
                    self.valid = self.valid.intersection(&after).cloned().collect();
                    return format!("if ({condition}) {then} else {other}");
                }
                self.valid = after;
                format!("if ({condition}) {then}")
            }
            2..4 if depth > 0 => {
                let names: Vec<String> =
                    self.headers[1..].iter().map(|one| one.0.clone()).collect();
                let name = names[self.below(names.len())].clone();
                let before = self.valid.clone();
                self.valid.insert(name.clone());
                let then = self.block(depth);
                self.valid = before.intersection(&self.valid).cloned().collect();
                format!("if (hdr.{name}.isValid()) {then}")
            }
            4 => {
                let at = self.rng.random_range(1..self.headers.len());
                let (name, fields) = self.headers[at].clone();
                let mut text = format!("hdr.{name}.setValid();");
                for one in fields {
                    let value = self.expr(one.ty, 1);
                    let _ = write!(text, " hdr.{name}.{} = {value};", one.name);
                }
                self.valid.insert(name);
                text
            }
            // If a loop makes a header invalid, the header is also invalid in the next iteration.
            5 if outer && self.exits => {
                let at = self.rng.random_range(1..self.headers.len());
                let name = self.headers[at].0.clone();
                self.valid.remove(&name);
                format!("hdr.{name}.setInvalid();")
            }
            6 if outer => {
                let (to, from) = [("x", "y"), ("y", "x")][self.below(2)];
                match self.valid.contains(from) {
                    true => self.valid.insert(to.to_owned()),
                    false => self.valid.remove(to),
                };
                format!("hdr.{to} = hdr.{from};")
            }
            7 if outer => {
                for at in 0..STACK {
                    self.valid.remove(&format!("s[{at}]"));
                }
                let count = self.rng.random_range(1..=STACK + 1);
                format!("hdr.s.{}({count});", ["push_front", "pop_front"][self.below(2)])
            }
            8 if depth > 0 => {
                let name = self.name("i");
                let (low, high) = (self.below(3), self.below(5));
                self.keeping += 1;
                let inner = self.block(1);
                let jump = match self.below(3) {
                    0 => {
                        let condition = self.condition();
                        format!("if ({condition}) {{ {}; }} ", ["break", "continue"][self.below(2)])
                    }
                    _ => String::new(),
                };
                let last = self.assignment();
                self.keeping -= 1;
                format!("for (bit<8> {name} in {low}..{high}) {{ {inner} {jump}{last} }}")
            }
            9 if depth > 0 => {
                let ty = self.unsigned();
                let ty = Type { width: ty.width.min(16), ..ty };
                let value = self.expr(ty, 1);
                let most = if ty.width == 1 { 1 } else { 3 };
                let (one, other) = (self.block(1), self.block(1));
                let more = if most == 3 { "2: 3: { } " } else { "" };
                format!("switch ({value}) {{ 0: 1: {one} {more}default: {other} }}")
                    .replace("0: 1:", if most == 1 { "1:" } else { "0: 1:" })
            }
            10 if !self.functions.is_empty() => {
                let at = self.below(self.functions.len());
                let (name, params, result) = self.functions[at].clone();
                let Some(first) = self.target_of(params[0]) else { return self.assignment() };
                let Some(to) = self.target_of(result) else { return self.assignment() };
                let mut given = vec![first.name];
                given.extend(params[1..].iter().map(|ty| self.expr(*ty, 1)).collect::<Vec<_>>());
                let more = match self.chance(0.3) && result.width <= 64 {
                    true => format!(" + {}", self.expr(result, 1)),
                    false => String::new(),
                };
                format!("{} = {name}({}){more};", to.name, given.join(", "))
            }
            11..13 if !self.actions.is_empty() => {
                let at = self.below(self.actions.len());
                let action = self.actions[at].clone();
                let mut given = Vec::new();
                for one in &action.directed {
                    given.push(match one.0 {
                        "in" => self.expr(one.1, 1),
                        _ => match self.argument(one) {
                            text if text.is_empty() => return self.assignment(),
                            text => text,
                        },
                    });
                }
                for ty in &action.data {
                    given.push(self.expr(*ty, 1));
                }
                format!("{}({});", action.name, given.join(", "))
            }
            13 if !self.registers.is_empty() => {
                let at = self.below(self.registers.len());
                let (name, ty) = self.registers[at].clone();
                let index = self.expr(Type { signed: false, width: 3 }, 1);
                let value = self.expr(ty, 1);
                match self.target_of(ty) {
                    Some(to) => format!(
                        "{name}.read({}, (bit<32>)({index})); {name}.write((bit<32>)({index}), {value});",
                        to.name
                    ),
                    None => format!("{name}.write((bit<32>)({index}), {value});"),
                }
            }
            14 if self.ingress => self.port().trim_end().to_owned(),
            15 if self.chance(0.3) && self.exits => {
                let condition = self.condition();
                let end = ["exit", "return"][self.below(2)];
                format!("if ({condition}) {{ {end}; }}")
            }
            16 if self.chance(0.3) => {
                let Some(to) = self.target_of(Type { signed: false, width: 16 }) else {
                    return self.assignment();
                };
                let fields = self.headers[0].1.clone();
                let data: Vec<String> = (0..self.rng.random_range(1..4))
                    .map(|_| format!("hdr.h.{}", fields[self.below(fields.len())].name))
                    .collect();
                let algorithm = ["crc32", "crc16", "csum16", "identity", "xor16"][self.below(5)];
                format!(
                    "hash({}, HashAlgorithm.{algorithm}, 16w{}, {{ {} }}, 32w{});",
                    to.name,
                    self.below(3),
                    data.join(", "),
                    [1, 7, 256, 65535, 65536][self.below(5)]
                )
            }
            17 if self.chance(0.4) => {
                let (name, ty) = (self.name("w"), self.ty());
                let value = self.expr(ty, 2);
                self.fields.push(Field { name: name.clone(), ty });
                format!("{} {name} = {value};", ty.text())
            }
            18 if self.ingress && self.chance(0.5) => {
                let fault = ["NoError", "StackOutOfBounds", "NoMatch", "ParserInvalidArgument"]
                    [self.below(4)];
                let one = self.assignment();
                format!("if (st.parser_error == error.{fault}) {{ {one} }}")
            }
            19 if self.ingress && self.chance(0.3) => {
                let one = self.assignment();
                format!("if (st.checksum_error == 1) {{ {one} }}")
            }
            20 if !self.ingress && self.chance(0.5) => {
                let one = self.assignment();
                format!("if (st.egress_port < 5) {{ {one} }}")
            }
            _ => self.assignment(),
        }
    }
}
