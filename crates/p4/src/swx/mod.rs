//! Translation of P4 programs to SWX pipelines: files `.spec` of DPDK 22.11.
//!
//! The parser and the controls become one list of instructions: parser states become labels, and
//! controls and functions are inlined. Actions of tables become SWX actions, and constant entries
//! become comparisons.
//!
//! Headers keep their bits in the packet. Neighbouring fields that are not whole bytes share a
//! field of the pipeline, and a field wider than 64 bits takes several. All other values are
//! metadata.
//!
//! SWX itself checks nothing. An operand beyond byte 255 of a struct would silently denote another
//! one. A header that was never extracted would have the memory of an earlier packet. Here, such
//! operands are errors, and such headers get their own memory at the start.

mod action;
mod call;
mod checksum;
mod condition;
mod expression;
mod externs;
pub mod layout;
mod number;
mod parser;
mod pipeline;
mod place;
mod psa;
mod rounds;
mod statement;
mod table;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use slowpath_swx::spec::{
    Alu, Condition, Field, FieldRef, Instruction, Line, Op, Operand, Origin, Relation, SourceLine,
    Spec, Struct,
};

use self::layout::{Layout, SwxEntry};
use self::place::Place;
use crate::ast::*;
use crate::check::{Checked, Type, Value};
use crate::error::P4Error;
use crate::token::{Sources, Span};
use crate::xdp::entries;
use crate::xdp::layout::MatchKind;

type Result<T> = std::result::Result<T, P4Error>;

/// Name of the metadata struct.
const METADATA: &str = "metadata_t";
/// Name of the metadata field with the port on which the packet arrived.
const PORT: &str = "ingress_port";
/// Number of bytes of a struct that an operand can address.
const MOST_BYTES: u32 = 256;
/// Largest number of headers of a pipeline.
const MOST_HEADERS: usize = 64;
/// Largest number of instructions of a pipeline, with inlined calls.
const MOST_INSTRUCTIONS: usize = 100_000;
/// Largest length in characters of a source line that a comment of the pipeline quotes.
const LONGEST_TEXT: usize = 200;
/// Largest length of a name in DPDK, in characters.
const LONGEST_NAME: usize = 60;

/// A translated program.
#[derive(Clone, Debug)]
pub struct Output {
    /// The pipeline.
    pub spec: Spec,
    /// Keys and actions of the pipeline's tables, which table entries refer to.
    pub layout: Layout,
    /// Conditions under which the pipeline does the same as the program.
    pub conditions: Vec<String>,
}

impl Output {
    /// Returns the lines of [`layout::lines`]. First enlarges tables where ranges expand to several
    /// entries.
    ///
    /// # Errors
    ///
    /// Returns an error for the first entry that does not fit its table.
    pub fn lines(
        &mut self,
        entries: &[entries::Entry],
    ) -> std::result::Result<Vec<SwxEntry>, entries::EntryError> {
        let tables = layout::filled(&self.layout, entries)?;
        for (table, filled) in self.layout.tables.iter_mut().zip(tables) {
            let has_ranges = table.table.keys.iter().any(|key| key.kind == MatchKind::Range);
            let is_full = filled.of_program > table.table.size as usize;
            if !has_ranges || is_full || filled.count <= table.room {
                continue;
            }
            table.room = filled.count;
            let name = &table.table.map;
            let spec = self.spec.tables.iter_mut().find(|one| one.name == *name);
            if let Some(spec) = spec {
                spec.size = filled.count;
            }
        }
        layout::lines(&self.layout, entries)
    }
}

/// Translates a checked program to a pipeline.
///
/// # Errors
///
/// Returns an error for the first construct that cannot be translated.
pub fn to_spec(program: &Program, checked: &Checked, sources: &Sources) -> Result<Output> {
    let (mut copies_headers, mut runs_egress) = (false, false);
    loop {
        let new = Generator::new(checked, sources, program);
        let mut made = Generator { copies_headers, runs_egress, ..new };
        match made.program(program) {
            Ok(()) => return made.finish(),
            // A filter works on copies of its headers only if it changes them.
            Err(_) if made.changes_headers && !copies_headers => copies_headers = true,
            // An egress takes a pass of its own only if it changes packets.
            Err(_) if made.needs_egress && !runs_egress => runs_egress = true,
            Err(fault) => return Err(fault),
        }
    }
}

/// The object that a declared name stands for at the current point of the program.
#[derive(Clone, Debug)]
enum Binding {
    /// A storage location that the program can read, and write where P4 allows it.
    Place(Place),
    /// A compile-time value.
    Constant(Value),
    /// An instance of an extern type, parser or control.
    Instance(Instance),
    /// The packet that a parser reads.
    PacketIn,
    /// The packet that a deparser writes.
    PacketOut,
}

/// An instance of an extern, parser or control, with its path of names.
#[derive(Clone, Debug)]
struct Instance {
    /// Type of the instance.
    ty: Type,
    /// Control-plane path: names of the enclosing controls and of the instance, with dots.
    path: String,
    /// Constructor arguments, in the order of the parameters; `None` for a missing argument.
    args: Vec<Option<Binding>>,
}

/// An argument for a parameter of an inlined call.
#[derive(Clone, Debug)]
enum Given<'a> {
    /// An expression of the caller.
    Expr(&'a Expr),
    /// A storage location that contains the value.
    Place(Place),
    /// No argument: the parameter has its default value, or stays unset.
    Missing,
}

/// An inlined call whose body is being emitted.
struct Frame {
    /// Label at the end of the body.
    end: String,
    /// Location of the result; `None` for a call without result.
    result: Option<Place>,
    /// Instructions that copy `out` parameters to the arguments; `exit` runs them, too.
    copy_out: Vec<Instruction>,
}

/// An instruction list under construction: the pipeline, or an SWX action.
struct Unit {
    /// First letter of the names of temporary fields in this list.
    letter: &'static str,
    /// Instructions emitted so far.
    code: Vec<Instruction>,
    /// Labels that the next emitted instruction gets.
    waiting: Vec<String>,
    /// Labels that are replaced because their instruction has several labels, each with the label
    /// that replaces it.
    alias: HashMap<String, String>,
    /// Number of labels made so far.
    labels: u32,
    /// Number of temporary fields in use, by width in bits.
    used: BTreeMap<u32, u32>,
    /// Label in this list to which the instructions at the start of each pass can jump.
    entry: Option<String>,
}

impl Unit {
    fn new(letter: &'static str) -> Unit {
        Unit {
            letter,
            code: Vec::new(),
            waiting: Vec::new(),
            alias: HashMap::new(),
            labels: 0,
            used: BTreeMap::new(),
            entry: None,
        }
    }

    /// Appends the instruction `last` if the list does not end the action or pipeline. Replaces
    /// labels in jumps as `alias` states, and returns the instructions.
    fn finish(mut self, last: Op, origin: Origin) -> Vec<Instruction> {
        let ends = matches!(
            self.code.last().map(|one| &one.op),
            Some(Op::Return | Op::Drop | Op::Transmit { .. })
        );
        if !ends || !self.waiting.is_empty() {
            let label = self.waiting.first().cloned();
            for other in self.waiting.drain(..).skip(1) {
                self.alias.insert(other, label.clone().unwrap_or_default());
            }
            self.code.push(Instruction { label, origin, ..Instruction::new(last) });
        }
        let mut used: BTreeSet<String> = self.entry.take().into_iter().collect();
        for one in &mut self.code {
            if let Op::Jump { target, .. } = &mut one.op {
                if let Some(other) = self.alias.get(target) {
                    target.clone_from(other);
                }
                used.insert(target.clone());
            }
        }
        for one in &mut self.code {
            if one.label.as_ref().is_some_and(|label| !used.contains(label)) {
                one.label = None;
            }
        }
        without_idle_jumps(self.code)
    }
}

/// Removes jumps to the instruction that follows.
fn without_idle_jumps(code: Vec<Instruction>) -> Vec<Instruction> {
    let mut kept: Vec<Instruction> = Vec::with_capacity(code.len());
    let mut ahead = code.into_iter().peekable();
    while let Some(one) = ahead.next() {
        let idle = match &one.op {
            Op::Jump { target, .. } => {
                ahead.peek().is_some_and(|next| next.label.as_ref() == Some(target))
            }
            _ => false,
        };
        if !idle || one.label.is_some() {
            kept.push(one);
        }
    }
    kept
}

/// Removes writes to metadata fields that are not in `read`.
fn without_unread(code: Vec<Instruction>, read: &BTreeSet<String>) -> Vec<Instruction> {
    let mut kept: Vec<Instruction> = Vec::with_capacity(code.len());
    let mut alias: HashMap<String, String> = HashMap::new();
    let mut waiting: Vec<String> = Vec::new();
    for mut one in code {
        waiting.extend(one.label.take());
        if let Op::Move { to: FieldRef::Meta(name), .. } | Op::Alu { to: FieldRef::Meta(name), .. } =
            &one.op
            && !read.contains(name)
        {
            continue;
        }
        one.label = waiting.first().cloned();
        for other in waiting.drain(..).skip(1) {
            alias.insert(other, one.label.clone().unwrap_or_default());
        }
        kept.push(one);
    }
    for one in &mut kept {
        if let Op::Jump { target, .. } = &mut one.op
            && let Some(other) = alias.get(target)
        {
            target.clone_from(other);
        }
    }
    without_idle_jumps(kept)
}

/// State of the translation of a program to a pipeline.
struct Generator<'a> {
    checked: &'a Checked,
    sources: &'a Sources,
    /// Index of the file that contains the package `main`.
    main: u32,
    /// Source lines of the file `main`, by line number, to which emitted instructions refer.
    origins: HashMap<u32, Arc<SourceLine>>,
    nodes: HashMap<DeclId, &'a Decl>,
    bindings: HashMap<DeclId, Binding>,
    /// Type arguments of the function that is being inlined.
    subst: Vec<(DeclId, Type)>,
    spec: Spec,
    layout: Layout,
    unit: Unit,
    /// Metadata fields: names and widths in bits.
    fields: Vec<(String, u32)>,
    /// Metadata fields that must be adjacent, at the start of the metadata: keys of tables.
    groups: BTreeSet<String>,
    /// Metadata fields that the pipeline sets to 0 when a packet arrives.
    cleared: BTreeSet<String>,
    /// Names in use for fields, headers, tables and registers.
    names: BTreeSet<String>,
    /// Name of the pipeline's struct for each header type.
    header_kinds: HashMap<String, String>,
    /// Headers that certainly have memory at the current point, on every path that leads to it.
    known: BTreeSet<String>,
    /// Headers that some instruction uses at a point where they may have no memory.
    exposed: BTreeSet<String>,
    /// Headers that the deparser emits.
    emitted: BTreeSet<String>,
    frames: Vec<Frame>,
    /// Label of the end of the current parser or control of the architecture; `exit` jumps there.
    exit: Option<String>,
    /// Labels for `break` and `continue` of each loop around the current statement, innermost last.
    loops: Vec<(String, String)>,
    /// Index of the header that `next` denotes at the current point of the parser, for each header
    /// stack by its path.
    next: BTreeMap<String, u32>,
    /// Label that `reject` jumps to; `None` outside of parsers.
    in_parser: Option<String>,
    /// Control-plane path of each declaration.
    paths: HashMap<DeclId, String>,
    parser_error: Option<Place>,
    /// Location of v1model's standard metadata.
    standard: Option<Place>,
    /// Source position of the current statement, for errors without a position.
    here: Span,
    /// Direct counters and meters that the current action may use, by path, with the size of their
    /// table.
    direct: HashMap<String, u32>,
    /// True while the action of a table is being emitted.
    in_action: bool,
    /// True if a filter program changes headers that must leave unchanged.
    changes_headers: bool,
    /// True if a filter program works on copies of its headers, so that the packet stays unchanged.
    copies_headers: bool,
    /// True if a packet may leave the pass with the bytes with which it arrived, as for a
    /// resubmission.
    puts_back: bool,
    /// True in a parser whose packets may be resubmitted.
    receives: bool,
    /// Locations of unchanged copies of the extracted headers, by name of the header that the
    /// program may change.
    received: HashMap<String, Place>,
    /// True if a PSA egress pipeline changes packets, so that it needs a separate pass through the
    /// SWX pipeline.
    needs_egress: bool,
    /// True if the translation gives the PSA egress pipeline a separate pass through the SWX
    /// pipeline.
    runs_egress: bool,
    /// Passes of a packet through the pipeline.
    passes: rounds::Passes,
    /// True if the current action can execute `exit`.
    exits: bool,
    /// Conditions under which the pipeline does the same as the program.
    conditions: BTreeSet<String>,
}

impl<'a> Generator<'a> {
    fn new(checked: &'a Checked, sources: &'a Sources, program: &'a Program) -> Generator<'a> {
        Generator {
            checked,
            sources,
            main: 0,
            origins: HashMap::new(),
            nodes: program.declarations.iter().map(|decl| (decl.id, decl)).collect(),
            bindings: HashMap::new(),
            subst: Vec::new(),
            spec: Spec::default(),
            layout: Layout::default(),
            unit: Unit::new("t"),
            fields: Vec::new(),
            groups: BTreeSet::new(),
            cleared: BTreeSet::new(),
            names: BTreeSet::new(),
            header_kinds: HashMap::new(),
            known: BTreeSet::new(),
            exposed: BTreeSet::new(),
            emitted: BTreeSet::new(),
            frames: Vec::new(),
            exit: None,
            loops: Vec::new(),
            next: BTreeMap::new(),
            in_parser: None,
            paths: HashMap::new(),
            parser_error: None,
            standard: None,
            here: Span::default(),
            direct: HashMap::new(),
            in_action: false,
            exits: false,
            conditions: conditions(),
            changes_headers: false,
            copies_headers: false,
            puts_back: false,
            receives: false,
            received: HashMap::new(),
            needs_egress: false,
            runs_egress: false,
            passes: rounds::Passes::default(),
        }
    }

    // --- output --------------------------------------------------------------------------------

    fn put(&mut self, op: Op) {
        let label = self.unit.waiting.first().cloned();
        for other in std::mem::take(&mut self.unit.waiting).into_iter().skip(1) {
            self.unit.alias.insert(other, label.clone().unwrap_or_default());
        }
        let origin = self.origin();
        self.unit.code.push(Instruction { label, origin, ..Instruction::new(op) });
    }

    /// Returns the source line for the next instruction. For code of an included file, it is the
    /// line of the `#include`, as in the translation to XDP.
    fn origin(&mut self) -> Origin {
        let Some(line) = self.sources.line_in(self.main, self.here) else {
            return Origin::default();
        };
        let Some(file) = self.sources.files.get(self.main as usize) else {
            return Origin::default();
        };
        let found = self.origins.entry(line).or_insert_with(|| {
            let text = file.text.lines().nth((line as usize).saturating_sub(1)).unwrap_or_default();
            let text = text.trim_end().chars().take(LONGEST_TEXT).collect::<String>();
            let file = file.path.display().to_string();
            Arc::new(SourceLine { file: file.into(), line, text: text.into() })
        });
        Origin(Some(Arc::clone(found)))
    }

    /// Creates a new label for jumps in the current instruction list. The label begins with `name`
    /// in upper case.
    fn label(&mut self, name: &str) -> String {
        self.unit.labels += 1;
        let name: String = plain_name(name).to_uppercase().chars().take(40).collect();
        format!("{name}_{}", self.unit.labels)
    }

    /// Attaches a label to the next instruction.
    fn mark(&mut self, label: &str) {
        self.unit.waiting.push(label.to_owned());
    }

    fn jump(&mut self, target: &str) {
        self.put(Op::Jump { condition: Condition::Always, target: target.to_owned() });
    }

    fn jump_on(&mut self, condition: Condition, target: &str) {
        self.put(Op::Jump { condition, target: target.to_owned() });
    }

    fn copy(&mut self, to: FieldRef, from: Operand) {
        if Operand::Field(to.clone()) != from {
            self.put(Op::Move { to, from });
        }
    }

    fn alu(&mut self, alu: Alu, to: &FieldRef, from: Operand) {
        self.put(Op::Alu { alu, to: to.clone(), from });
    }

    /// Runs `emit`, and returns the emitted instructions instead of appending them to the
    /// instruction list.
    fn aside<T>(
        &mut self,
        emit: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Vec<Instruction>)> {
        let before = std::mem::take(&mut self.unit.code);
        let waiting = std::mem::take(&mut self.unit.waiting);
        let result = emit(self);
        if !self.unit.waiting.is_empty() {
            let none = self.temporary(8);
            self.copy(none, Operand::Immediate(0));
        }
        let code = std::mem::replace(&mut self.unit.code, before);
        self.unit.waiting = waiting;
        Ok((result?, code))
    }

    /// Emits a copy of instructions with new labels.
    fn put_copy(&mut self, code: &[Instruction]) {
        self.put_copy_if(code, |_| true);
    }

    /// Emits a copy of the instructions for which `is_kept` returns true, with new labels.
    fn put_copy_if(&mut self, code: &[Instruction], is_kept: impl Fn(&Op) -> bool) {
        let labels: HashMap<String, String> = code
            .iter()
            .filter_map(|one| one.label.clone())
            .map(|label| (label, self.label("copy")))
            .collect();
        for one in code {
            let mut op = one.op.clone();
            if let Op::Jump { target, .. } = &mut op
                && let Some(label) = labels.get(self.unit.alias.get(target).unwrap_or(target))
            {
                target.clone_from(label);
            }
            self.unit.waiting.extend(one.label.as_ref().map(|label| labels[label].clone()));
            if is_kept(&op) {
                self.put(op);
            }
        }
    }

    // --- metadata ------------------------------------------------------------------------------

    /// Returns an unused name that resembles `wanted`.
    fn name(&mut self, wanted: &str) -> String {
        let base: String = plain_name(wanted).chars().take(LONGEST_NAME - 6).collect();
        let mut name = base.clone();
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }

    /// Adds a metadata field of `bits` bits, and returns its name.
    fn field(&mut self, wanted: &str, bits: u32) -> String {
        let name = self.name(wanted);
        self.fields.push((name.clone(), bits));
        name
    }

    /// Returns a temporary field, which is in use until the end of the statement or block.
    fn temporary(&mut self, width: u32) -> FieldRef {
        let bits = [8, 16, 32, 64].into_iter().find(|bits| width <= *bits).unwrap_or(64);
        let number = self.unit.used.entry(bits).or_insert(0);
        let name = format!("{}{bits}_{number}", self.unit.letter);
        *number += 1;
        if self.names.insert(name.clone()) {
            self.fields.push((name.clone(), bits));
        }
        FieldRef::Meta(name)
    }

    /// Runs `emit`, and then frees the temporary fields that it used.
    fn scoped<T>(&mut self, emit: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = self.unit.used.clone();
        let result = emit(self);
        self.unit.used = before;
        result
    }

    // --- types and constants -------------------------------------------------------------------

    fn resolved(&self, ty: &Type) -> Type {
        ty.replace(&|id| self.subst.iter().rev().find(|one| one.0 == id).map(|one| one.1.clone()))
    }

    /// Returns the type of an expression, with the type arguments of inlined functions.
    fn ty(&self, expr: &Expr) -> Type {
        self.resolved(self.checked.type_of(expr))
    }

    /// Returns the type of a parameter, variable or constant, with the type arguments of inlined
    /// functions.
    fn declared(&self, id: DeclId) -> Type {
        self.resolved(self.checked.declared.get(&id).unwrap_or(&Type::Unknown))
    }

    /// Returns the compile-time value of an expression; `None` if it is unknown.
    fn constant(&self, expr: &Expr) -> Option<Value> {
        if let Some(value) = self.checked.constants.get(&expr.id) {
            return Some(value.clone());
        }
        if let ExprKind::Name { .. } = expr.kind
            && let Some(Binding::Constant(value)) =
                self.checked.uses.get(&expr.id).and_then(|id| self.bindings.get(id))
        {
            return Some(value.clone());
        }
        if let ExprKind::Cast { operand, .. } = &expr.kind
            && let Some(Value::Number(number)) = self.constant(operand)
        {
            return Some(Value::Number(crate::check::wrap(&number, &place::plain(&self.ty(expr)))));
        }
        None
    }

    /// Returns the compile-time value of an expression as an integer of 32 bits; `None` if it is
    /// unknown or larger.
    fn known_number(&self, expr: &Expr) -> Option<u32> {
        let value = self.constant(expr)?;
        value.number().and_then(num_traits::ToPrimitive::to_u32)
    }

    /// Returns an error for a construct without translation. An empty span stands for the position
    /// of the current statement.
    fn unsupported<T>(&self, span: Span, what: impl std::fmt::Display) -> Result<T> {
        let span = if span == Span::default() { self.here } else { span };
        Err(P4Error::unsupported(span, format!("{what} cannot be compiled for SWX yet")))
    }

    /// Returns an error if the pipeline has more than [`MOST_INSTRUCTIONS`] instructions.
    fn check_length(&self) -> Result<()> {
        if self.unit.code.len() > MOST_INSTRUCTIONS {
            return self.unsupported(
                Span::default(),
                format!("a program of more than {MOST_INSTRUCTIONS} instructions, calls expanded,"),
            );
        }
        Ok(())
    }

    // --- the whole -----------------------------------------------------------------------------

    fn finish(mut self) -> Result<Output> {
        let unit = std::mem::replace(&mut self.unit, Unit::new("t"));
        let origin = self.origin();
        let mut body = unit.finish(Op::Drop, origin.clone());
        if self.spec.headers.len() > MOST_HEADERS {
            return self.unsupported(
                Span::default(),
                format!("a program of more than {MOST_HEADERS} headers"),
            );
        }
        let port = PORT.to_owned();
        let (mut read, mut named) = (BTreeSet::new(), BTreeSet::from([port.clone()]));
        let keys = self.spec.tables.iter().flat_map(|table| &table.key);
        keys.for_each(|key| note(&key.field, &mut [&mut named]));
        named.extend(self.fields_of_passes());
        loop {
            let before = read.len();
            read.clone_from(&named);
            let actions = self.spec.actions.iter().flat_map(|one| &one.instructions);
            for one in body.iter().chain(actions) {
                uses(&one.op, &mut read, &mut BTreeSet::new());
            }
            body = without_unread(body, &read);
            for action in &mut self.spec.actions {
                action.instructions =
                    without_unread(std::mem::take(&mut action.instructions), &read);
            }
            if read.len() == before {
                break;
            }
        }
        let actions = self.spec.actions.iter().flat_map(|one| &one.instructions);
        for one in body.iter().chain(actions) {
            uses(&one.op, &mut BTreeSet::new(), &mut named);
        }
        let mut start = vec![Op::Receive { port }];
        for header in &self.exposed {
            let header = header.clone();
            start.extend([Op::Validate { header: header.clone() }, Op::Invalidate { header }]);
        }
        let clears = self.cleared.intersection(&read).map(|field| {
            let to = FieldRef::Meta(field.clone());
            Instruction::new(Op::Move { to, from: Operand::Immediate(0) })
        });
        let clears: Vec<Instruction> = clears.collect();
        let known = start.len() + clears.len();
        let mut rest: Vec<Instruction> = clears.into_iter().chain(body).collect();
        let passes = self.start_of_passes(&read, &mut rest);
        let known = known + passes.len();
        let start = start.into_iter().map(Instruction::new);
        self.spec.apply = start.chain(passes).chain(rest).collect();
        for one in self.spec.apply.iter_mut().take(known) {
            one.origin = origin.clone();
        }
        let actions = self.spec.actions.iter().flat_map(|one| &one.instructions);
        let reads_registers = self
            .spec
            .apply
            .iter()
            .chain(actions)
            .any(|one| matches!(one.op, Op::RegisterRead { .. }));
        if reads_registers && !self.spec.tables.is_empty() {
            self.conditions.insert(
                "no other packet changes a register between its read and its write, because DPDK \
                 runs other packets during look-ups"
                    .to_owned(),
            );
        }
        self.metadata(&named)?;
        let conditions = self.conditions.into_iter().collect();
        let mut made = Output { spec: self.spec, layout: self.layout, conditions };
        // Enlarge tables for the ranges in the program's own entries. Faults in these entries are
        // reported when entries are added.
        let _: std::result::Result<_, _> = made.lines(&[]);
        Ok(made)
    }

    /// Adds the metadata struct to the pipeline, with the fields that instructions use.
    fn metadata(&mut self, named: &BTreeSet<String>) -> Result<()> {
        let mut fields: Vec<(String, u32)> =
            self.fields.iter().filter(|(name, _)| named.contains(name)).cloned().collect();
        // DPDK writes 8 bytes from the start of a field, so the last field must have 8 bytes.
        fields.sort_by_key(|(name, bits)| match self.groups.contains(name) {
            true => 0,
            false => *bits,
        });
        if fields.last().is_some_and(|last| last.1 < 64 || self.groups.contains(&last.0)) {
            let name = self.name("unused");
            fields.push((name, 64));
        }
        let bytes: u32 = fields.iter().map(|one| one.1 / 8).sum();
        if bytes - fields.last().map_or(0, |one| one.1 / 8) >= MOST_BYTES {
            return self.unsupported(
                Span::default(),
                format!(
                    "a program whose metadata and variables take {bytes} of {MOST_BYTES} bytes"
                ),
            );
        }
        let fields = fields
            .into_iter()
            .map(|(name, bits)| Field { line: Line::default(), name, bits })
            .collect();
        self.spec.structs.push(Struct {
            line: Line::default(),
            name: METADATA.to_owned(),
            fields,
            variable: false,
        });
        self.spec.metadata =
            Some(slowpath_swx::spec::Metadata { line: Line::default(), kind: METADATA.to_owned() });
        Ok(())
    }
}

/// Returns the conditions under which any translated pipeline does the same as its P4 program.
fn conditions() -> BTreeSet<String> {
    let always = [
        "each packet has all bytes that the parser extracts, because SWX does not check lengths",
        "the switch has an output port for each number that packets are sent to",
    ];
    always.into_iter().map(str::to_owned).collect()
}

/// Adds the name of `field` to each set in `sets`, if it is a metadata field.
fn note(field: &FieldRef, sets: &mut [&mut BTreeSet<String>]) {
    if let FieldRef::Meta(name) = field {
        sets.iter_mut().for_each(|set| {
            set.insert(name.clone());
        });
    }
}

/// Adds the metadata fields that an instruction reads to `read`. Adds those that it reads or writes
/// to `named`.
fn uses(op: &Op, read: &mut BTreeSet<String>, named: &mut BTreeSet<String>) {
    let mut reads: Vec<FieldRef> = Vec::new();
    let mut writes: Vec<FieldRef> = Vec::new();
    let mut from = |operand: &Operand| {
        if let Operand::Field(field) = operand {
            reads.push(field.clone());
        }
    };
    match op {
        Op::Transmit { port } => from(port),
        Op::Extract { length: Some(length), .. } => reads.push(FieldRef::Meta(length.clone())),
        Op::Move { to, from: source } => {
            from(source);
            writes.push(to.clone());
        }
        Op::Alu { to, from: source, .. } => {
            from(source);
            // A field that only its own operations read has no effect.
            writes.push(to.clone());
        }
        Op::RegisterRead { to, index, .. } => {
            from(index);
            writes.push(to.clone());
        }
        Op::RegisterWrite { index, from: source, .. }
        | Op::RegisterAdd { index, from: source, .. } => {
            from(index);
            from(source);
        }
        Op::Meter { index, length, colour, to, .. } => {
            from(index);
            from(colour);
            reads.push(length.clone());
            writes.push(to.clone());
        }
        Op::EntryId { to } => writes.push(FieldRef::Meta(to.clone())),
        Op::Jump { condition: Condition::Compare { left, right, .. }, .. } => {
            from(right);
            reads.push(left.clone());
        }
        _ => {}
    }
    reads.iter().for_each(|field| note(field, &mut [read, named]));
    writes.iter().for_each(|field| note(field, &mut [named]));
}

/// Replaces each character other than letters and digits by `_`.
fn plain_name(name: &str) -> String {
    name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }).collect()
}

/// Returns the condition of a jump that compares two operands; `None` if both are constants.
fn compared(relation: Relation, left: &Operand, right: &Operand) -> Option<Condition> {
    let turned = match relation {
        Relation::Lt => Relation::Gt,
        Relation::Gt => Relation::Lt,
        same => same,
    };
    match (left, right) {
        (Operand::Field(left), _) => {
            Some(Condition::Compare { relation, left: left.clone(), right: right.clone() })
        }
        (_, Operand::Field(field)) => {
            Some(Condition::Compare { relation: turned, left: field.clone(), right: left.clone() })
        }
        _ => None,
    }
}
