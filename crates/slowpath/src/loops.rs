//! Finds the loops of a program by source line or instruction, and names them for users.

use crate::Error;
use crate::frontend::Lifted;
use slowpath_bpf::LineInfo;
use slowpath_codes as codes;
use slowpath_ir::{Block, BlockId, Destination, FlowGraph, Loop};
use slowpath_search::UnrollLimits;
use std::collections::BTreeSet;

/// Selects the loops to which a limit of the option `--unroll` applies.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Location {
    Everywhere,
    /// The innermost loop that contains the instruction with this number.
    Instruction(u32),
    /// The innermost loops that contain code of a source line. The text is the file's name or the
    /// end of its path, and the number is the line.
    Line(String, u32),
}

/// A limit on iterations that the option `--unroll` sets for loops.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Limit {
    location: Location,
    /// Maximum number of iterations of the loop.
    count: u32,
}

fn parse(piece: &str) -> Result<Limit, Error> {
    let wrong = || {
        Error::Option(
            codes::INVALID_VALUE,
            format!(
                "--unroll {piece}: expected N, N@.INSTRUCTION or N@FILE:LINE, such as 160, 10@.44 or \
             10@filter.c:44"
            ),
        )
    };
    let (count, location) = match piece.split_once('@') {
        Some((count, location)) => (count, Some(location.trim())),
        None => (piece, None),
    };
    let count = count.trim().parse().map_err(|_| wrong())?;
    let location = match location {
        None => Location::Everywhere,
        Some(location) => match location.rsplit_once(':') {
            Some((file, line)) => {
                Location::Line(file.to_owned(), line.parse().map_err(|_| wrong())?)
            }
            None => Location::Instruction(
                location.trim_start_matches('.').parse().map_err(|_| wrong())?,
            ),
        },
    };
    Ok(Limit { location, count })
}

/// Returns true if the user's text `name` can mean the file with the path `file`. `name` must be
/// empty, the whole path, or the last components of the path.
fn names_file(file: &str, name: &str) -> bool {
    let rest = file.strip_suffix(name);
    rest.is_some_and(|rest| name.is_empty() || rest.is_empty() || rest.ends_with('/'))
}

/// Reads the iteration limits that the user set with the option `--unroll`; `pieces` are the values
/// of the option. Also returns those values that name a source line without code in this program,
/// because the line may belong to another program.
pub(crate) fn limits(
    pieces: &[String],
    lifted: &Lifted,
) -> Result<(UnrollLimits, Vec<String>), Error> {
    let mut limits = UnrollLimits::default();
    let mut unmatched = Vec::new();
    for piece in pieces {
        let Limit { location, count } = parse(piece)?;
        match location {
            // The published reports state the limit 0 for programs without loops.
            Location::Everywhere => limits.every = (count > 0).then_some(count),
            Location::Instruction(insn) => limits.at.push((insn, count)),
            Location::Line(file, line) => {
                let headers = at_line(lifted, &file, line, piece)?;
                if headers.is_empty() {
                    unmatched.push(piece.clone());
                }
                limits.at.extend(headers.into_iter().map(|insn| (insn, count)));
            }
        }
    }
    Ok((limits, unmatched))
}

/// Returns the loops that `--unroll N@FILE:LINE` means, each given by its first instruction of the
/// innermost loops with code of this source line. `piece` is the value of the option, for error
/// messages.
fn at_line(lifted: &Lifted, file: &str, line: u32, piece: &str) -> Result<BTreeSet<u32>, Error> {
    let program = &lifted.program;
    let on_line = |insn: u32| {
        lifted.line(insn).is_some_and(|info| info.line == line && names_file(&info.file, file))
    };
    let flow = FlowGraph::of(program)
        .map_err(|error| Error::from(slowpath_search::SearchError::Flow(error)))?;
    // Blocks inside a helper's loop are steps of the call and have no instructions of their own.
    let in_block =
        |block: &Block| on_line(block.first.0) || block.insns.iter().any(|insn| on_line(insn.0));
    let with_code =
        |inside: &Loop| inside.blocks.iter().any(|&block| in_block(program.block(block)));
    let with_code: Vec<bool> = flow.loops.iter().map(with_code).collect();
    let mut innermost = with_code.clone();
    for (index, inside) in flow.loops.iter().enumerate() {
        let mut parent = inside.parent.filter(|_| with_code[index]);
        while let Some(outer) = parent {
            innermost[outer.index()] = false;
            parent = flow.loops[outer.index()].parent;
        }
    }
    let headers: BTreeSet<u32> = flow
        .loops
        .iter()
        .zip(&innermost)
        .filter(|(_, chosen)| **chosen)
        .map(|(inside, _)| program.block(inside.header).first.0)
        .collect();
    let has_code = program.blocks.iter().flat_map(|block| &block.insns).any(|i| on_line(i.0));
    if headers.is_empty() && has_code {
        return Err(Error::Option(
            codes::NO_LOOP_THERE,
            format!("--unroll {piece}: no loop begins at this line{}", hint(lifted)),
        ));
    }
    Ok(headers)
}

/// Returns the source line of a loop, whose first instruction is `header`. The line is that of the
/// last jump back to the first instruction, because compilers put the condition of `for` and
/// `while` there. Returns `None` if the line is not known.
pub(crate) fn line(lifted: &Lifted, header: u32) -> Option<&LineInfo> {
    let program = &lifted.program;
    let flow = FlowGraph::of(program).ok()?;
    let inside = flow.loops.iter().find(|inside| program.block(inside.header).first.0 == header)?;
    let jumps_back = |block: &BlockId| {
        let mut edges = program.block(*block).terminator.edges();
        edges.any(|edge| edge.target == Destination::Block(inside.header))
    };
    let last = inside.blocks.iter().rev().find(|block| jumps_back(block))?;
    // Blocks of a helper's loop have only the call as instruction.
    let jump = program.block(*last).insns.last().and_then(|jump| lifted.line(jump.0));
    jump.or_else(|| lifted.line(header))
}

/// Returns the name of a loop for users: its source line if it is known, otherwise its first
/// instruction, which is `header`.
pub(crate) fn name(lifted: &Lifted, header: u32) -> String {
    match line(lifted, header) {
        Some(line) => {
            let file = line.file.rsplit('/').next().unwrap_or(&line.file);
            format!("{file}:{}", line.line)
        }
        None => format!(".{header}"),
    }
}

/// Adds the source line of a loop to a sentence that begins with `the loop at .N`, where N is the
/// loop's first instruction. Other sentences stay as they are.
pub(crate) fn with_lines(lifted: &Lifted, sentence: &str) -> String {
    const START: &str = "the loop at .";
    let rest = sentence.strip_prefix(START).and_then(|rest| rest.split_once(' '));
    match rest.and_then(|(header, rest)| Some((header.parse::<u32>().ok()?, rest))) {
        Some((header, rest)) if line(lifted, header).is_some() => {
            format!("the loop at {} (.{header}) {rest}", name(lifted, header))
        }
        _ => sentence.to_owned(),
    }
}

/// Lists the loops of the program in parentheses, for the end of an error message.
pub(crate) fn hint(lifted: &Lifted) -> String {
    let Ok(flow) = FlowGraph::of(&lifted.program) else { return String::new() };
    let mut names: Vec<String> = Vec::new();
    for inside in &flow.loops {
        let header = lifted.program.block(inside.header).first.0;
        let mut text = name(lifted, header);
        if line(lifted, header).is_some() {
            text += &format!(" (.{header})");
        }
        if !names.contains(&text) {
            names.push(text);
        }
    }
    match names.is_empty() {
        true => " (the program has no loops)".into(),
        false => format!(" (the program has loops at {})", names.join(", ")),
    }
}

#[cfg(test)]
mod tests;
