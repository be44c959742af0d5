//! Writes `.spec` files.

use std::fmt::{self, Write};

use crate::spec::{
    ActionRef, Alu, Call, Condition, DefaultAction, FieldRef, Instruction, Match, Op, Operand,
    Relation, SourceLine, Spec, Summand, Use,
};

/// Start of the comment that states the origin of the next instructions.
pub(crate) const ORIGIN: &str = "//line";
/// Comment before instructions whose origin is unknown.
const NO_ORIGIN: &str = "\t//line";
/// Largest length of a line in bytes. DPDK would read a longer line as several lines.
pub(crate) const MAX_LINE: usize = 2046;

/// Returns the text of a pipeline in a canonical form. [`crate::parse()`] reads it as the same
/// pipeline.
pub fn print(spec: &Spec) -> String {
    text_of(spec, false)
}

/// Returns the text of a pipeline in canonical form, with a comment wherever the origin of the
/// instructions changes: `//line 12 "router.p4" TEXT`. [`crate::parse()`] reads these comments.
pub fn print_with_origins(spec: &Spec) -> String {
    text_of(spec, true)
}

fn text_of(spec: &Spec, origins: bool) -> String {
    let mut text = String::new();
    match write_spec(&mut text, spec, origins) {
        Ok(()) => text,
        Err(fmt::Error) => unreachable!("a string takes all text"),
    }
}

fn write_spec(out: &mut String, spec: &Spec, origins: bool) -> fmt::Result {
    for object in &spec.extern_objects {
        write!(out, "extobj {} instanceof {}", object.name, object.kind)?;
        match &object.pragma {
            Some(pragma) => writeln!(out, " pragma {pragma}")?,
            None => writeln!(out)?,
        }
    }
    for found in &spec.structs {
        writeln!(out, "struct {} {{", found.name)?;
        for (index, field) in found.fields.iter().enumerate() {
            let variable = found.variable && index + 1 == found.fields.len();
            let kind = if variable { "varbit" } else { "bit" };
            writeln!(out, "\t{kind}<{}> {}", field.bits, field.name)?;
        }
        writeln!(out, "}}\n")?;
    }
    for header in &spec.headers {
        writeln!(out, "header {} instanceof {}", header.name, header.kind)?;
    }
    if let Some(metadata) = &spec.metadata {
        writeln!(out, "metadata instanceof {}", metadata.kind)?;
    }
    for array in &spec.register_arrays {
        let (size, initial) = (Number(array.size.into()), Number(array.initial));
        writeln!(out, "regarray {} size {size} initval {initial}", array.name)?;
    }
    for array in &spec.meter_arrays {
        writeln!(out, "metarray {} size {}", array.name, Number(array.size.into()))?;
    }
    for action in &spec.actions {
        match &action.data {
            Some(data) => writeln!(out, "\naction {} args instanceof {data} {{", action.name)?,
            None => writeln!(out, "\naction {} args none {{", action.name)?,
        }
        write_instructions(out, &action.instructions, origins)?;
    }
    write_tables(out, spec)?;
    writeln!(out, "\napply {{")?;
    write_instructions(out, &spec.apply, origins)
}

fn write_instructions(
    out: &mut String,
    instructions: &[Instruction],
    origins: bool,
) -> fmt::Result {
    let mut last: Option<&SourceLine> = None;
    for instruction in instructions {
        let origin = instruction.origin.0.as_deref();
        if origins && origin != last {
            match origin {
                Some(SourceLine { file, line, text }) => {
                    let file = file.replace('\\', "\\\\").replace('"', "\\\"");
                    let comment = format!("\t{ORIGIN} {line} \"{file}\" {text}");
                    // Some programs end a line at these characters.
                    let breaks =
                        |c: char| c.is_control() && c != '\t' || "\u{2028}\u{2029}".contains(c);
                    let comment = comment.replace(breaks, " ");
                    let is_short = comment.len() < MAX_LINE;
                    writeln!(out, "{}", if is_short { comment.trim_end() } else { NO_ORIGIN })?;
                }
                None => writeln!(out, "{NO_ORIGIN}")?,
            }
            last = origin;
        }
        writeln!(out, "\t{instruction}")?;
    }
    writeln!(out, "}}")
}

fn write_tables(out: &mut String, spec: &Spec) -> fmt::Result {
    for table in &spec.tables {
        writeln!(out, "\ntable {} {{", table.name)?;
        if !table.key.is_empty() {
            writeln!(out, "\tkey {{")?;
            for key in &table.key {
                let kind = match key.kind {
                    Match::Exact => "exact",
                    Match::Wildcard => "wildcard",
                    Match::Lpm => "lpm",
                };
                writeln!(out, "\t\t{} {kind}", key.field)?;
            }
            writeln!(out, "\t}}")?;
        }
        write_actions(out, &table.actions, &table.default_action)?;
        for (name, value) in
            [("hash", &table.hash), ("instanceof", &table.kind), ("pragma", &table.pragma)]
        {
            if let Some(value) = value {
                writeln!(out, "\t{name} {value}")?;
            }
        }
        writeln!(out, "\tsize {}\n}}", Number(table.size.into()))?;
    }
    for selector in &spec.selectors {
        writeln!(out, "\nselector {} {{\n\tgroup_id m.{}", selector.name, selector.group)?;
        writeln!(out, "\tselector {{")?;
        for field in &selector.fields {
            writeln!(out, "\t\t{field}")?;
        }
        writeln!(out, "\t}}\n\tmember_id m.{}", selector.member)?;
        writeln!(out, "\tn_groups_max {}", Number(selector.groups.into()))?;
        writeln!(out, "\tn_members_per_group_max {}\n}}", Number(selector.members.into()))?;
    }
    for learner in &spec.learners {
        writeln!(out, "\nlearner {} {{\n\tkey {{", learner.name)?;
        for field in &learner.key {
            writeln!(out, "\t\t{field}")?;
        }
        writeln!(out, "\t}}")?;
        write_actions(out, &learner.actions, &learner.default_action)?;
        if let Some(hash) = &learner.hash {
            writeln!(out, "\thash {hash}")?;
        }
        writeln!(out, "\tsize {}\n\ttimeout {{", Number(learner.size.into()))?;
        for timeout in &learner.timeouts {
            writeln!(out, "\t\t{timeout}")?;
        }
        writeln!(out, "\t}}\n}}")?;
    }
    Ok(())
}

fn write_actions(out: &mut String, actions: &[ActionRef], default: &DefaultAction) -> fmt::Result {
    writeln!(out, "\tactions {{")?;
    for action in actions {
        let used = match action.used {
            Use::Any => "",
            Use::TableOnly => " @tableonly",
            Use::DefaultOnly => " @defaultonly",
        };
        writeln!(out, "\t\t{}{used}", action.name)?;
    }
    write!(out, "\t}}\n\tdefault_action {} args", default.name)?;
    if default.arguments.is_empty() {
        write!(out, " none")?;
    }
    for (name, value) in &default.arguments {
        write!(out, " {name} {value}")?;
    }
    writeln!(out, "{}", if default.constant { " const" } else { "" })
}

/// A number that is printed as decimal below 10, and as hexadecimal from 10 on.
struct Number(u64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            small @ 0..10 => write!(f, "{small}"),
            large => write!(f, "{large:#x}"),
        }
    }
}

impl fmt::Display for FieldRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldRef::Header { header, field } => write!(f, "h.{header}.{field}"),
            FieldRef::Meta(field) => write!(f, "m.{field}"),
            FieldRef::Data(field) => write!(f, "t.{field}"),
            FieldRef::Object { object, field } => write!(f, "e.{object}.{field}"),
            FieldRef::Function { function, field } => write!(f, "f.{function}.{field}"),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Field(field) => write!(f, "{field}"),
            Operand::Immediate(value) => write!(f, "{}", Number(*value)),
        }
    }
}

/// Prints the instruction as a line of a `.spec` file, with its label.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = &self.label {
            write!(f, "{label} : ")?;
        }
        write!(f, "{}", self.op)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Op::Receive { port: field }
            | Op::RecirculationId { pass: field }
            | Op::Rearm { timeout: Some(field) }
            | Op::EntryId { to: field } => write!(f, "{name} m.{field}"),
            Op::Transmit { port } => write!(f, "{name} {port}"),
            Op::Drop | Op::Recirculate | Op::Rearm { timeout: None } | Op::Forget | Op::Return => {
                write!(f, "{name}")
            }
            Op::Mirror { slot, session } => write!(f, "{name} {slot} {session}"),
            Op::Extract { header, length: Some(length) } => {
                write!(f, "{name} h.{header} m.{length}")
            }
            Op::Extract { header, length: None }
            | Op::Lookahead { header }
            | Op::Emit { header }
            | Op::Validate { header }
            | Op::Invalidate { header } => write!(f, "{name} h.{header}"),
            Op::Move { to, from } | Op::Alu { to, from, .. } => write!(f, "{name} {to} {from}"),
            Op::ChecksumAdd { to, from: Summand::Field(from) } | Op::ChecksumSub { to, from } => {
                write!(f, "{name} {to} {from}")
            }
            Op::ChecksumAdd { to, from: Summand::Header(header) } => {
                write!(f, "{name} {to} h.{header}")
            }
            Op::Hash { function, to, first, last } => {
                write!(f, "{name} {function} m.{to} {first} {last}")
            }
            Op::RegisterPrefetch { array, index } | Op::MeterPrefetch { array, index } => {
                write!(f, "{name} {array} {index}")
            }
            Op::RegisterRead { to, array, index } => write!(f, "{name} {to} {array} {index}"),
            Op::RegisterWrite { array, index, from } | Op::RegisterAdd { array, index, from } => {
                write!(f, "{name} {array} {index} {from}")
            }
            Op::Meter { array, index, length, colour, to } => {
                write!(f, "{name} {array} {index} {length} {colour} {to}")
            }
            Op::Table { table } => write!(f, "{name} {table}"),
            Op::Learn { action, data: Some(data), timeout } => {
                write!(f, "{name} {action} m.{data} m.{timeout}")
            }
            Op::Learn { action, data: None, timeout } => write!(f, "{name} {action} m.{timeout}"),
            Op::Extern { call: Call::Object { object, function } } => {
                write!(f, "{name} e.{object}.{function}")
            }
            Op::Extern { call: Call::Function(function) } => write!(f, "{name} f.{function}"),
            Op::Jump { condition, target } => {
                write!(f, "{name} {target}")?;
                match condition {
                    Condition::Always | Condition::Hit | Condition::Miss => Ok(()),
                    Condition::Valid(header) | Condition::Invalid(header) => {
                        write!(f, " h.{header}")
                    }
                    Condition::Action(action) | Condition::NotAction(action) => {
                        write!(f, " {action}")
                    }
                    Condition::Compare { left, right, .. } => write!(f, " {left} {right}"),
                }
            }
        }
    }
}

impl Op {
    /// Returns the name of the instruction in `.spec` files.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Receive { .. } => "rx",
            Op::Transmit { .. } => "tx",
            Op::Drop => "drop",
            Op::Mirror { .. } => "mirror",
            Op::Recirculate => "recirculate",
            Op::RecirculationId { .. } => "recircid",
            Op::Extract { .. } => "extract",
            Op::Lookahead { .. } => "lookahead",
            Op::Emit { .. } => "emit",
            Op::Validate { .. } => "validate",
            Op::Invalidate { .. } => "invalidate",
            Op::Move { .. } => "mov",
            Op::Alu { alu, .. } => match alu {
                Alu::Add => "add",
                Alu::Sub => "sub",
                Alu::And => "and",
                Alu::Or => "or",
                Alu::Xor => "xor",
                Alu::Shl => "shl",
                Alu::Shr => "shr",
            },
            Op::ChecksumAdd { .. } => "ckadd",
            Op::ChecksumSub { .. } => "cksub",
            Op::Hash { .. } => "hash",
            Op::RegisterPrefetch { .. } => "regprefetch",
            Op::RegisterRead { .. } => "regrd",
            Op::RegisterWrite { .. } => "regwr",
            Op::RegisterAdd { .. } => "regadd",
            Op::MeterPrefetch { .. } => "metprefetch",
            Op::Meter { .. } => "meter",
            Op::Table { .. } => "table",
            Op::Learn { .. } => "learn",
            Op::Rearm { .. } => "rearm",
            Op::Forget => "forget",
            Op::EntryId { .. } => "entryid",
            Op::Extern { .. } => "extern",
            Op::Jump { condition, .. } => match condition {
                Condition::Always => "jmp",
                Condition::Valid(_) => "jmpv",
                Condition::Invalid(_) => "jmpnv",
                Condition::Hit => "jmph",
                Condition::Miss => "jmpnh",
                Condition::Action(_) => "jmpa",
                Condition::NotAction(_) => "jmpna",
                Condition::Compare { relation: Relation::Eq, .. } => "jmpeq",
                Condition::Compare { relation: Relation::Ne, .. } => "jmpneq",
                Condition::Compare { relation: Relation::Lt, .. } => "jmplt",
                Condition::Compare { relation: Relation::Gt, .. } => "jmpgt",
            },
            Op::Return => "return",
        }
    }
}
