//! Parser of `.spec` files.
//!
//! A line consists of tokens separated by blanks. A token that starts with `#`, `;` or `//` starts
//! a comment. A statement is a line, or a block of lines between a line that ends with `{` and the
//! line `}`.
//!
//! The grammar is that of `lib/pipeline/rte_swx_pipeline_spec.c` in DPDK 22.11.

mod instruction;
mod token;

use slowpath_codes as codes;

use crate::error::SpecError;
use crate::print::MAX_LINE;
use crate::spec::{
    Action, ActionRef, DefaultAction, ExternObject, Field, FieldRef, Header, KeyField, Learner,
    Line, Match, Metadata, MeterArray, RegisterArray, Selector, Spec, Struct, Table, Use,
};
use token::{Lines, Tokens, field, meta, small, syntax};
pub(crate) use token::{in_memory_order, number};

/// Parses a pipeline from the text of a file.
///
/// # Errors
/// Returns [`SpecError`] at the first line that DPDK 22.11 does not accept.
pub fn parse(text: &str) -> Result<Spec, SpecError> {
    let mut spec = Spec::default();
    let mut apply = None;
    let mut lines = Lines::new(text, MAX_LINE);
    while let Some(tokens) = lines.next()? {
        let line = tokens.line;
        match tokens.words[0] {
            "extobj" => spec.extern_objects.push(extern_object(&tokens)?),
            "struct" => spec.structs.push(structure(&tokens, &mut lines)?),
            "header" => {
                let [name, kind] =
                    tokens.shape(&["", "", "instanceof", ""], "header NAME instanceof STRUCT")?;
                spec.headers.push(Header { line, name, kind });
            }
            "metadata" => {
                let [kind] = tokens.shape(&["", "instanceof", ""], "metadata instanceof STRUCT")?;
                if spec.metadata.replace(Metadata { line, kind }).is_some() {
                    return Err(syntax(line, "the file has two 'metadata' statements; keep one"));
                }
            }
            "regarray" => spec.register_arrays.push(register_array(&tokens)?),
            "metarray" => {
                let [name, size] =
                    tokens.shape(&["", "", "size", ""], "metarray NAME size NUMBER")?;
                let size = size_of(line, &size)?;
                spec.meter_arrays.push(MeterArray { line, name, size });
            }
            "action" => spec.actions.push(action(&tokens, &mut lines)?),
            "table" => spec.tables.push(table(&tokens, &mut lines)?),
            "selector" => spec.selectors.push(selector(&tokens, &mut lines)?),
            "learner" => spec.learners.push(learner(&tokens, &mut lines)?),
            "apply" => {
                tokens.opens("apply {")?;
                let block = instructions(&mut lines, line)?;
                if apply.replace(block).is_some() {
                    return Err(syntax(line, "the file has two 'apply' blocks; keep one"));
                }
            }
            "rss" => return Err(newer(line, "the statement 'rss'", "without hashes of this kind")),
            other => {
                let not_one = if spec == Spec::default() && apply.is_none() {
                    "the file is not a pipeline of DPDK's software switch: "
                } else {
                    ""
                };
                return Err(syntax(
                    line,
                    format!(
                        "{not_one}unknown statement '{other}'; DPDK 22.11 reads extobj, struct, \
                         header, metadata, regarray, metarray, action, table, selector, learner \
                         and apply"
                    ),
                ));
            }
        }
    }
    spec.apply = apply.ok_or_else(|| {
        syntax(lines.last(), "the file has no 'apply' block; add one that begins with rx")
    })?;
    Ok(spec)
}

/// Returns true if a text looks like a `.spec` file: its first statement occurs only in such files.
pub fn is_pipeline(text: &str) -> bool {
    let first = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let first = words.next().filter(|word| !word.starts_with(['#', ';', '/']))?;
        Some((first, words.next(), words.last()))
    });
    match first {
        Some(("extobj" | "regarray" | "metarray" | "rss", Some(_), Some(_))) => true,
        Some(("header" | "metadata", _, Some(_))) => text.contains(" instanceof "),
        Some(("struct" | "action" | "table" | "selector" | "learner", _, Some("{"))) => {
            text.lines().any(|line| line.trim_start().starts_with("apply"))
        }
        Some(("apply", Some("{"), None)) => true,
        _ => false,
    }
}

/// Creates an error about a construct that only later releases of DPDK accept.
fn newer(line: Line, what: &str, how: &str) -> SpecError {
    SpecError::new(
        codes::SWX_NEWER,
        line,
        format!("{what} is newer than DPDK 22.11; compile the program {how}"),
    )
}

fn extern_object(tokens: &Tokens) -> Result<ExternObject, SpecError> {
    const FORM: &str = "extobj NAME instanceof TYPE [pragma TEXT]";
    let line = tokens.line;
    if tokens.words.len() == 6 {
        let shape = ["", "", "instanceof", "", "pragma", ""];
        let [name, kind, pragma] = tokens.shape(&shape, FORM)?;
        return Ok(ExternObject { line, name, kind, pragma: Some(pragma) });
    }
    let [name, kind] = tokens.shape(&["", "", "instanceof", ""], FORM)?;
    Ok(ExternObject { line, name, kind, pragma: None })
}

fn register_array(tokens: &Tokens) -> Result<RegisterArray, SpecError> {
    let line = tokens.line;
    let [name, size, initial] = tokens
        .shape(&["", "", "size", "", "initval", ""], "regarray NAME size NUMBER initval NUMBER")?;
    let size = size_of(line, &size)?;
    let initial = token::number(&initial).ok_or_else(|| {
        syntax(line, format!("'{initial}' after 'initval' is not a number; write a number"))
    })?;
    Ok(RegisterArray { line, name, size, initial })
}

/// Parses the size of an array.
fn size_of(line: Line, text: &str) -> Result<u32, SpecError> {
    match small(line, text, "size")? {
        0 => Err(syntax(line, "the size of an array is 0; write at least 1")),
        size => Ok(size),
    }
}

fn structure(tokens: &Tokens, lines: &mut Lines) -> Result<Struct, SpecError> {
    let line = tokens.line;
    let [name] = tokens.shape(&["", "", "{"], "struct NAME {")?;
    let mut parsed = Struct { line, name, fields: Vec::new(), variable: false };
    let mut total = 0u32;
    while let Some(tokens) = lines.in_block("struct", line)? {
        let line = tokens.line;
        if parsed.variable {
            return Err(syntax(line, "a varbit field is not the last of its struct; move it"));
        }
        let &[kind, name] = &tokens.words[..] else {
            return Err(tokens.unlike("bit<WIDTH> NAME"));
        };
        let width = |begin: &str| kind.strip_prefix(begin)?.strip_suffix('>');
        let (width, variable) = match (width("bit<"), width("varbit<")) {
            (Some(width), _) => (width, false),
            (None, Some(width)) => (width, true),
            (None, None) => return Err(tokens.unlike("bit<WIDTH> NAME")),
        };
        let bits = small(line, width, "width of a field")?;
        total = total.saturating_add(bits);
        if bits == 0 || bits % 8 != 0 || total >= 1 << 20 {
            return Err(syntax(
                line,
                format!(
                    "the width {width} is not a positive multiple of 8 below 2^20; pad the field"
                ),
            ));
        }
        parsed.fields.push(Field { line, name: name.to_owned(), bits });
        parsed.variable = variable;
    }
    Ok(parsed)
}

fn action(tokens: &Tokens, lines: &mut Lines) -> Result<Action, SpecError> {
    const FORM: &str = "action NAME args none|instanceof STRUCT {";
    let line = tokens.line;
    let (name, data) = if tokens.words.len() == 5 {
        let [name] = tokens.shape(&["", "", "args", "none", "{"], FORM)?;
        (name, None)
    } else {
        let [name, data] = tokens.shape(&["", "", "args", "instanceof", "", "{"], FORM)?;
        (name, Some(data))
    };
    Ok(Action { line, name, data, instructions: instructions(lines, line)? })
}

fn instructions(
    lines: &mut Lines,
    opened: Line,
) -> Result<Vec<crate::spec::Instruction>, SpecError> {
    let mut found = Vec::new();
    while let Some(tokens) = lines.in_block("instructions", opened)? {
        let origin = lines.origin();
        found.push(crate::spec::Instruction { origin, ..instruction::parse(&tokens)? });
    }
    Ok(found)
}

/// Statements that can occur in blocks of tables as well as of learners.
#[derive(Default)]
struct Common {
    actions: Vec<ActionRef>,
    default_action: Option<DefaultAction>,
    hash: Option<String>,
    size: u32,
}

impl Common {
    /// Parses a statement. Returns false if the statement can occur only in tables or only in
    /// learners.
    fn parse(&mut self, tokens: &Tokens, lines: &mut Lines) -> Result<bool, SpecError> {
        let line = tokens.line;
        match tokens.words[0] {
            "actions" => {
                tokens.opens("actions {")?;
                while let Some(tokens) = lines.in_block("actions", line)? {
                    let used = match tokens.words[1..] {
                        [] => Use::Any,
                        ["@tableonly"] => Use::TableOnly,
                        ["@defaultonly"] => Use::DefaultOnly,
                        _ => return Err(tokens.unlike("ACTION [@tableonly|@defaultonly]")),
                    };
                    let name = tokens.words[0].to_owned();
                    self.actions.push(ActionRef { line: tokens.line, name, used });
                }
            }
            "default_action" => once(line, &mut self.default_action, default_action(tokens)?)?,
            "hash" => {
                let [name] = tokens.shape(&["", ""], "hash FUNCTION")?;
                once(line, &mut self.hash, name)?;
            }
            "size" => {
                let [size] = tokens.shape(&["", ""], "size NUMBER")?;
                self.size = small(line, &size, "size")?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Stores a value in `place`. Returns an error if a value is already there, because the block
/// repeats a statement.
fn once<T>(line: Line, place: &mut Option<T>, value: T) -> Result<(), SpecError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(syntax(line, "the statement occurs twice in its block; keep one")),
    }
}

fn default_action(tokens: &Tokens) -> Result<DefaultAction, SpecError> {
    const FORM: &str = "default_action ACTION args none|NAME VALUE... [const]";
    let [_, name, "args", words @ ..] = &tokens.words[..] else {
        return Err(tokens.unlike(FORM));
    };
    let (words, constant) = match words {
        [words @ .., "const"] => (words, true),
        words => (words, false),
    };
    let pairs = if words == ["none"] { &[][..] } else { words };
    if words.is_empty() || pairs.len() % 2 != 0 || pairs.first() == Some(&"none") {
        return Err(tokens.unlike(FORM));
    }
    Ok(DefaultAction {
        line: tokens.line,
        name: (*name).to_owned(),
        arguments: pairs.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect(),
        constant,
    })
}

/// Returns the default action, or an error if the table has none.
fn with_default(line: Line, found: Option<DefaultAction>) -> Result<DefaultAction, SpecError> {
    found.ok_or_else(|| syntax(line, "the table has no 'default_action'; add one"))
}

fn key_field(tokens: &Tokens, name: &str) -> Result<FieldRef, SpecError> {
    field(name).ok_or_else(|| {
        syntax(tokens.line, format!("'{name}' is not a field; write h.HEADER.FIELD or m.FIELD"))
    })
}

fn table(tokens: &Tokens, lines: &mut Lines) -> Result<Table, SpecError> {
    let opened = tokens.line;
    let [name] = tokens.shape(&["", "", "{"], "table NAME {")?;
    let (mut key, mut common, mut kind, mut pragma) = (Vec::new(), Common::default(), None, None);
    while let Some(tokens) = lines.in_block("table", opened)? {
        let line = tokens.line;
        match tokens.words[0] {
            "key" => {
                tokens.opens("key {")?;
                while let Some(tokens) = lines.in_block("key", line)? {
                    let kind = match tokens.words[1..] {
                        ["exact"] => Match::Exact,
                        ["wildcard"] => Match::Wildcard,
                        ["lpm"] => Match::Lpm,
                        _ => return Err(tokens.unlike("FIELD exact|wildcard|lpm")),
                    };
                    let field = key_field(&tokens, tokens.words[0])?;
                    key.push(KeyField { line: tokens.line, field, kind });
                }
            }
            "instanceof" => {
                let [name] = tokens.shape(&["", ""], "instanceof TYPE")?;
                once(line, &mut kind, name)?;
            }
            "pragma" => {
                let [text] = tokens.shape(&["", ""], "pragma TEXT")?;
                once(line, &mut pragma, text)?;
            }
            other => {
                if !common.parse(&tokens, lines)? {
                    return Err(unknown_in(line, "table", other));
                }
            }
        }
    }
    let Common { actions, default_action, hash, size } = common;
    let default_action = with_default(opened, default_action)?;
    Ok(Table { line: opened, name, key, actions, default_action, hash, kind, pragma, size })
}

fn unknown_in(line: Line, block: &str, found: &str) -> SpecError {
    syntax(line, format!("unknown statement '{found}' in a {block}; delete or correct it"))
}

fn selector(tokens: &Tokens, lines: &mut Lines) -> Result<Selector, SpecError> {
    let opened = tokens.line;
    let [name] = tokens.shape(&["", "", "{"], "selector NAME {")?;
    let (mut group, mut member, mut fields) = (None, None, Vec::new());
    let (mut groups, mut members) = (0, 0);
    while let Some(tokens) = lines.in_block("selector", opened)? {
        let line = tokens.line;
        match tokens.words[0] {
            "group_id" => {
                let [field] = tokens.shape(&["", ""], "group_id m.FIELD")?;
                group = Some(meta(line, &field)?);
            }
            "member_id" => {
                let [field] = tokens.shape(&["", ""], "member_id m.FIELD")?;
                member = Some(meta(line, &field)?);
            }
            "selector" => {
                tokens.opens("selector {")?;
                while let Some(tokens) = lines.in_block("selector", line)? {
                    let &[name] = &tokens.words[..] else {
                        return Err(tokens.unlike("FIELD"));
                    };
                    fields.push(key_field(&tokens, name)?);
                }
            }
            "n_groups_max" => {
                let [number] = tokens.shape(&["", ""], "n_groups_max NUMBER")?;
                groups = small(line, &number, "n_groups_max")?;
            }
            "n_members_per_group_max" => {
                let [number] = tokens.shape(&["", ""], "n_members_per_group_max NUMBER")?;
                members = small(line, &number, "n_members_per_group_max")?;
            }
            other => return Err(unknown_in(line, "selector", other)),
        }
    }
    let lacks = |what| syntax(opened, format!("the selector has no '{what}'; add one"));
    let group = group.ok_or_else(|| lacks("group_id"))?;
    let member = member.ok_or_else(|| lacks("member_id"))?;
    Ok(Selector { line: opened, name, group, fields, member, groups, members })
}

fn learner(tokens: &Tokens, lines: &mut Lines) -> Result<Learner, SpecError> {
    let opened = tokens.line;
    let [name] = tokens.shape(&["", "", "{"], "learner NAME {")?;
    let (mut key, mut common, mut timeouts) = (Vec::new(), Common::default(), Vec::new());
    while let Some(tokens) = lines.in_block("learner", opened)? {
        let line = tokens.line;
        match tokens.words[0] {
            "key" => {
                tokens.opens("key {")?;
                while let Some(tokens) = lines.in_block("key", line)? {
                    let &[name] = &tokens.words[..] else {
                        return Err(tokens.unlike("FIELD"));
                    };
                    key.push(key_field(&tokens, name)?);
                }
            }
            "timeout" => {
                tokens.opens("timeout {")?;
                while let Some(tokens) = lines.in_block("timeout", line)? {
                    let &[number] = &tokens.words[..] else {
                        return Err(tokens.unlike("SECONDS"));
                    };
                    timeouts.push(small(tokens.line, number, "timeout")?);
                }
            }
            other => {
                if !common.parse(&tokens, lines)? {
                    return Err(unknown_in(line, "learner", other));
                }
            }
        }
    }
    let Common { actions, default_action, hash, size } = common;
    let default_action = with_default(opened, default_action)?;
    Ok(Learner { line: opened, name, key, actions, default_action, hash, size, timeouts })
}
