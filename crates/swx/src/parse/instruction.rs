//! Parses instructions as `instr_translate` in `lib/pipeline/rte_swx_pipeline.c` of DPDK 22.11
//! does.

use slowpath_codes as codes;

use super::token::{Tokens, field, meta, number, syntax};
use crate::error::SpecError;
use crate::spec::{
    Alu, Call, Condition, FieldRef, Instruction, Line, Op, Operand, Relation, Summand,
};

/// Largest number of words in an instruction.
const MAX_WORDS: usize = 16;
/// Largest length of an instruction in bytes, with one blank between words.
const MAX_BYTES: usize = 255;

/// Parses an instruction with its label.
pub fn parse(tokens: &Tokens) -> Result<Instruction, SpecError> {
    let line = tokens.line;
    let length: usize = tokens.words.iter().map(|word| word.len() + 1).sum();
    if tokens.words.len() > MAX_WORDS || length > MAX_BYTES + 1 {
        return Err(syntax(
            line,
            format!("an instruction has over {MAX_WORDS} words or {MAX_BYTES} bytes; cut it"),
        ));
    }
    let (label, words) = match &tokens.words[..] {
        [label, ":", words @ ..] => (Some((*label).to_owned()), words),
        words => (None, words),
    };
    let Some((&name, words)) = words.split_first() else {
        return Err(syntax(line, "a label has no instruction; write both in one line"));
    };
    let op = Reader { line, tokens }.op(name, words)?;
    Ok(Instruction { line, label, ..Instruction::new(op) })
}

/// Parser of an instruction's operands.
struct Reader<'a> {
    line: Line,
    tokens: &'a Tokens<'a>,
}

impl Reader<'_> {
    fn op(&self, name: &str, words: &[&str]) -> Result<Op, SpecError> {
        let unlike = |form: &str| Err(self.tokens.unlike(form));
        Ok(match (name, words) {
            ("rx", [port]) => Op::Receive { port: self.meta(port)? },
            ("rx", _) => return unlike("rx m.PORT"),
            ("tx", [port]) => Op::Transmit { port: self.port(port)? },
            ("tx", _) => return unlike("tx m.PORT|NUMBER"),
            ("drop", []) => Op::Drop,
            ("drop", _) => return unlike("drop"),
            ("mirror", [slot, session]) => {
                Op::Mirror { slot: self.field(slot)?, session: self.field(session)? }
            }
            ("mirror", _) => return unlike("mirror SLOT SESSION"),
            ("recirculate", []) => Op::Recirculate,
            ("recirculate", _) => return unlike("recirculate"),
            ("recircid", [pass]) => Op::RecirculationId { pass: self.meta(pass)? },
            ("recircid", _) => return unlike("recircid m.FIELD"),
            ("extract", [header]) => Op::Extract { header: self.header(header)?, length: None },
            ("extract", [header, length]) => {
                Op::Extract { header: self.header(header)?, length: Some(self.meta(length)?) }
            }
            ("extract", _) => return unlike("extract h.HEADER [m.LENGTH]"),
            ("lookahead", [header]) => Op::Lookahead { header: self.header(header)? },
            ("emit", [header]) => Op::Emit { header: self.header(header)? },
            ("validate", [header]) => Op::Validate { header: self.header(header)? },
            ("invalidate", [header]) => Op::Invalidate { header: self.header(header)? },
            ("lookahead" | "emit" | "validate" | "invalidate", _) => {
                return unlike(&format!("{name} h.HEADER"));
            }
            ("mov", [to, from]) => Op::Move { to: self.field(to)?, from: self.operand(from)? },
            ("mov", _) => return unlike("mov FIELD FIELD|NUMBER"),
            ("ckadd", [to, from]) => {
                Op::ChecksumAdd { to: self.field(to)?, from: self.summand(from)? }
            }
            ("cksub", [to, from]) => {
                Op::ChecksumSub { to: self.field(to)?, from: self.field(from)? }
            }
            ("ckadd" | "cksub", _) => {
                return unlike(&format!("{name} h.HEADER.FIELD h.HEADER.FIELD"));
            }
            ("hash", [function, to, first, last]) => Op::Hash {
                function: (*function).to_owned(),
                to: self.meta(to)?,
                first: self.field(first)?,
                last: self.field(last)?,
            },
            ("hash", _) => return unlike("hash FUNCTION m.FIELD FIRST LAST"),
            ("table", [table]) => Op::Table { table: (*table).to_owned() },
            ("table", _) => return unlike("table NAME"),
            ("learn", [action, timeout]) => {
                Op::Learn { action: (*action).to_owned(), data: None, timeout: self.meta(timeout)? }
            }
            ("learn", [action, data, timeout]) => Op::Learn {
                action: (*action).to_owned(),
                data: Some(self.meta(data)?),
                timeout: self.meta(timeout)?,
            },
            ("learn", _) => return unlike("learn ACTION [m.FIRST] m.TIMEOUT"),
            ("rearm", []) => Op::Rearm { timeout: None },
            ("rearm", [timeout]) => Op::Rearm { timeout: Some(self.meta(timeout)?) },
            ("rearm", _) => return unlike("rearm [m.TIMEOUT]"),
            ("forget", []) => Op::Forget,
            ("forget", _) => return unlike("forget"),
            ("entryid", [to]) => Op::EntryId { to: self.meta(to)? },
            ("entryid", _) => return unlike("entryid m.FIELD"),
            ("extern", [call]) => Op::Extern { call: self.call(call)? },
            ("extern", _) => return unlike("extern e.OBJECT.FUNCTION|f.FUNCTION"),
            ("return", []) => Op::Return,
            ("return", _) => return unlike("return"),
            ("movh" | "rss", _) => {
                return Err(SpecError::new(
                    codes::SWX_NEWER,
                    self.line,
                    format!(
                        "the instruction '{name}' is newer than DPDK 22.11; compile the program \
                         without it"
                    ),
                ));
            }
            _ => match (alu(name), words) {
                (Some(alu), [to, from]) => {
                    Op::Alu { alu, to: self.field(to)?, from: self.operand(from)? }
                }
                (Some(_), _) => return unlike(&format!("{name} FIELD FIELD|NUMBER")),
                (None, _) => match self.array_op(name, words)? {
                    Some(op) => op,
                    None => self.jump(name, words)?,
                },
            },
        })
    }

    /// Parses an instruction on registers or meters. Returns `None` for other instructions.
    fn array_op(&self, name: &str, words: &[&str]) -> Result<Option<Op>, SpecError> {
        let unlike = |form: &str| Err(self.tokens.unlike(form));
        Ok(Some(match (name, words) {
            ("regprefetch", &[array, index]) => {
                Op::RegisterPrefetch { array: array.to_owned(), index: self.operand(index)? }
            }
            ("regrd", &[to, array, index]) => Op::RegisterRead {
                to: self.field(to)?,
                array: array.to_owned(),
                index: self.operand(index)?,
            },
            ("regwr", &[array, index, from]) => Op::RegisterWrite {
                array: array.to_owned(),
                index: self.operand(index)?,
                from: self.operand(from)?,
            },
            ("regadd", &[array, index, from]) => Op::RegisterAdd {
                array: array.to_owned(),
                index: self.operand(index)?,
                from: self.operand(from)?,
            },
            ("metprefetch", &[array, index]) => {
                Op::MeterPrefetch { array: array.to_owned(), index: self.operand(index)? }
            }
            ("meter", &[array, index, length, colour, to]) => Op::Meter {
                array: array.to_owned(),
                index: self.operand(index)?,
                length: self.field(length)?,
                colour: self.operand(colour)?,
                to: self.field(to)?,
            },
            ("regrd", _) => return unlike("regrd FIELD ARRAY INDEX"),
            ("regwr" | "regadd", _) => return unlike(&format!("{name} ARRAY INDEX FIELD|NUMBER")),
            ("regprefetch" | "metprefetch", _) => return unlike(&format!("{name} ARRAY INDEX")),
            ("meter", _) => return unlike("meter ARRAY INDEX LENGTH COLOUR FIELD"),
            _ => return Ok(None),
        }))
    }

    fn jump(&self, name: &str, words: &[&str]) -> Result<Op, SpecError> {
        let unlike = |form: &str| Err(self.tokens.unlike(form));
        let relation = match name {
            "jmpeq" => Some(Relation::Eq),
            "jmpneq" => Some(Relation::Ne),
            "jmplt" => Some(Relation::Lt),
            "jmpgt" => Some(Relation::Gt),
            _ => None,
        };
        let (target, condition) = match (name, words) {
            ("jmp", &[target]) => (target, Condition::Always),
            ("jmph", &[target]) => (target, Condition::Hit),
            ("jmpnh", &[target]) => (target, Condition::Miss),
            ("jmp" | "jmph" | "jmpnh", _) => return unlike(&format!("{name} LABEL")),
            ("jmpv", &[target, header]) => (target, Condition::Valid(self.header(header)?)),
            ("jmpnv", &[target, header]) => (target, Condition::Invalid(self.header(header)?)),
            ("jmpv" | "jmpnv", _) => return unlike(&format!("{name} LABEL h.HEADER")),
            ("jmpa", &[target, action]) => (target, Condition::Action(action.to_owned())),
            ("jmpna", &[target, action]) => (target, Condition::NotAction(action.to_owned())),
            ("jmpa" | "jmpna", _) => return unlike(&format!("{name} LABEL ACTION")),
            _ => match (relation, words) {
                (Some(relation), &[target, left, right]) => {
                    let (left, right) = (self.field(left)?, self.operand(right)?);
                    (target, Condition::Compare { relation, left, right })
                }
                (Some(_), _) => return unlike(&format!("{name} LABEL FIELD FIELD|NUMBER")),
                (None, _) => {
                    return Err(syntax(
                        self.line,
                        format!("DPDK 22.11 has no instruction '{name}'; correct the name"),
                    ));
                }
            },
        };
        Ok(Op::Jump { condition, target: target.to_owned() })
    }

    fn field(&self, text: &str) -> Result<FieldRef, SpecError> {
        field(text).ok_or_else(|| {
            let forms = "h.HEADER.FIELD, m.FIELD, t.FIELD, e.OBJECT.FIELD or f.FUNCTION.FIELD";
            syntax(self.line, format!("'{text}' is not a field; write {forms}"))
        })
    }

    fn meta(&self, text: &str) -> Result<String, SpecError> {
        meta(self.line, text)
    }

    fn operand(&self, text: &str) -> Result<Operand, SpecError> {
        if let Some(field) = field(text) {
            return Ok(Operand::Field(field));
        }
        number(text).map(Operand::Immediate).ok_or_else(|| {
            syntax(self.line, format!("'{text}' is neither a field nor a number; correct it"))
        })
    }

    fn port(&self, text: &str) -> Result<Operand, SpecError> {
        match self.operand(text)? {
            Operand::Field(FieldRef::Meta(_)) | Operand::Immediate(_) => self.operand(text),
            Operand::Field(_) => {
                Err(syntax(self.line, format!("'{text}' is not a port; write m.FIELD or a number")))
            }
        }
    }

    fn header(&self, text: &str) -> Result<String, SpecError> {
        text.strip_prefix("h.")
            .map(str::to_owned)
            .ok_or_else(|| syntax(self.line, format!("'{text}' is not a header; write h.HEADER")))
    }

    fn summand(&self, text: &str) -> Result<Summand, SpecError> {
        match field(text) {
            Some(field) => Ok(Summand::Field(field)),
            None => Ok(Summand::Header(self.header(text)?)),
        }
    }

    fn call(&self, text: &str) -> Result<Call, SpecError> {
        match field(text) {
            Some(FieldRef::Object { object, field }) => {
                Ok(Call::Object { object, function: field })
            }
            _ => match text.strip_prefix("f.") {
                Some(function) => Ok(Call::Function(function.to_owned())),
                None => Err(syntax(
                    self.line,
                    format!("'{text}' is not a function; write e.OBJECT.FUNCTION or f.FUNCTION"),
                )),
            },
        }
    }
}

fn alu(name: &str) -> Option<Alu> {
    Some(match name {
        "add" => Alu::Add,
        "sub" => Alu::Sub,
        "and" => Alu::And,
        "or" => Alu::Or,
        "xor" => Alu::Xor,
        "shl" => Alu::Shl,
        "shr" => Alu::Shr,
        _ => return None,
    })
}
