//! Stores the abstract states at the start of basic blocks, reduced to values that the block or a
//! later block reads.

use std::collections::HashMap;

use slowpath_ir::{Program, Reg};

use crate::state::{AbstractState, Cell};
use crate::value_number::{Arg, Def, NumberedValue, ValueNumber};

/// Maximum nesting of the definitions that a state keeps for the values of registers and memory.
/// The limit keeps states small in programs with long chains of computations.
const DEPTH: usize = 6;

/// Abstract state at the start of a block: the values of registers and of tracked memory cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Registers with their value numbers, in ascending order of registers.
    pub regs: Vec<(Reg, ValueNumber)>,
    pub cells: Vec<Cell>,
    pub values: Vec<NumberedValue>,
}

impl Entry {
    /// Reduces a state to the values that a block needs. `live` are the registers that the block
    /// and its successors read. `values` replaces the state's table of values; a branch condition
    /// may have restricted its values.
    pub fn of(state: &AbstractState, values: &[NumberedValue], live: &[Reg]) -> Self {
        let regs = live.iter().filter_map(|&reg| Some((reg, state.regs[reg.index()]?)));
        let mut regs: Vec<(Reg, ValueNumber)> = regs.collect();
        let mut cells = state.cells.clone();
        // Breadth-first search from the values of registers and cells; only values within `DEPTH`
        // steps are kept.
        let mut depth = vec![usize::MAX; values.len()];
        let mut front: Vec<ValueNumber> = regs.iter().map(|&(_, number)| number).collect();
        front.extend(cells.iter().map(|cell| cell.number));
        for level in 0..=DEPTH {
            let mut next = Vec::new();
            for number in front {
                if depth[number as usize] != usize::MAX {
                    continue;
                }
                depth[number as usize] = level;
                let operands = values[number as usize].def.args();
                next.extend(operands.filter_map(|arg| match arg {
                    Arg::Number(operand) => Some(operand),
                    Arg::Const(..) => None,
                }));
            }
            front = next;
        }
        // In ascending order, operands get their new numbers before their users.
        let mut renamed = vec![ValueNumber::MAX; values.len()];
        let mut kept = Vec::new();
        for (id, numbered) in values.iter().enumerate() {
            if depth[id] == usize::MAX {
                continue;
            }
            renamed[id] = kept.len() as ValueNumber;
            let def = numbered.def.map(|arg| match arg {
                Arg::Number(operand) if renamed[operand as usize] == ValueNumber::MAX => None,
                Arg::Number(operand) => Some(Arg::Number(renamed[operand as usize])),
                Arg::Const(..) => Some(arg),
            });
            // Dropping a definition is sound: only the relation to other values is lost.
            kept.push(NumberedValue { value: numbered.value, def: def.unwrap_or(Def::Unknown) });
        }
        regs.iter_mut().for_each(|(_, number)| *number = renamed[*number as usize]);
        cells.iter_mut().for_each(|cell| cell.number = renamed[cell.number as usize]);
        Entry { regs, cells, values: kept }
    }

    /// Returns the full abstract state that this reduced state stands for.
    pub fn state(&self, program: &Program) -> AbstractState {
        let mut state = AbstractState::unknown(program);
        state.values = self.values.clone();
        state.cells = self.cells.clone();
        for &(reg, number) in &self.regs {
            state.regs[reg.index()] = Some(number);
        }
        state
    }

    /// Restricts the registers that `filter` selects to the values that they also have in the state
    /// `other`. This state must hold at the same point of the program.
    pub fn restrict(&mut self, other: &Entry, filter: impl Fn(Reg) -> bool) {
        let mut rest = other.regs.iter().peekable();
        for &(reg, number) in &self.regs {
            while rest.next_if(|(next, _)| *next < reg).is_some() {}
            if let Some(&&(next, other_number)) = rest.peek()
                && next == reg
                && filter(reg)
            {
                let value = &mut self.values[number as usize].value;
                // Both states hold, so the values overlap on every run. If they do not, no run
                // reaches this point and any value is correct.
                *value = value.meet(&other.values[other_number as usize].value).unwrap_or(*value);
            }
        }
    }

    /// Returns a state that holds wherever one of the two states holds. Registers and memory cells
    /// share a value number if they share one in both states. If `thresholds` are given, widens the
    /// values of `self` and drops all definitions.
    pub fn join(&self, other: &Entry, thresholds: Option<&[u64]>) -> Entry {
        let mut join = Join {
            a: &self.values,
            b: &other.values,
            thresholds,
            of: HashMap::new(),
            values: Vec::new(),
        };
        let mut regs = Vec::with_capacity(self.regs.len());
        let mut others = other.regs.iter().peekable();
        for &(reg, a) in &self.regs {
            while others.next_if(|(next, _)| *next < reg).is_some() {}
            if let Some(&&(next, b)) = others.peek()
                && next == reg
            {
                regs.push((reg, join.number(a, b, DEPTH)));
            }
        }
        let mut cells = Vec::new();
        let mut others = other.cells.iter().peekable();
        for cell in &self.cells {
            while others.next_if(|next| next.location() < cell.location()).is_some() {}
            if let Some(&&next) = others.peek()
                && next.location() == cell.location()
            {
                cells.push(Cell { number: join.number(cell.number, next.number, DEPTH), ..*cell });
            }
        }
        Entry { regs, cells, values: join.values }
    }
}

struct Join<'a> {
    a: &'a [NumberedValue],
    b: &'a [NumberedValue],
    thresholds: Option<&'a [u64]>,
    of: HashMap<(ValueNumber, ValueNumber), ValueNumber>,
    values: Vec<NumberedValue>,
}

impl Join<'_> {
    fn number(&mut self, a: ValueNumber, b: ValueNumber, depth: usize) -> ValueNumber {
        if let Some(&known) = self.of.get(&(a, b)) {
            return known;
        }
        let (first, second) = (self.a[a as usize], self.b[b as usize]);
        // Operands come first, because a value's number must be larger than those of its operands.
        let def = match self.thresholds {
            None if depth > 0 => self.def(first.def, second.def, depth - 1),
            _ => None,
        };
        let value = match self.thresholds {
            Some(thresholds) => first.value.widen(&second.value, thresholds),
            None => first.value.join(&second.value),
        };
        self.values.push(NumberedValue { value, def: def.unwrap_or(Def::Unknown) });
        let number = (self.values.len() - 1) as ValueNumber;
        self.of.insert((a, b), number);
        number
    }

    /// Returns a definition that is correct in both states, given the definitions `a` and `b` that
    /// one value has in them; `None` if there is no such definition.
    fn def(&mut self, a: Def, b: Def, depth: usize) -> Option<Def> {
        let mut others = b.args();
        let shape = |def: Def| def.map(|_| Some(Arg::Const(0, 1)));
        if a == Def::Unknown || shape(a) != shape(b) {
            return None;
        }
        a.map(|arg| match (arg, others.next()?) {
            (Arg::Number(x), Arg::Number(y)) => {
                // Definitions such as extractions do not state the width of their operand.
                let width = |values: &[NumberedValue], id| values[id as usize].value.domain.width();
                let same = width(self.a, x) == width(self.b, y);
                same.then(|| Arg::Number(self.number(x, y, depth)))
            }
            (x, y) => (x == y).then_some(x),
        })
    }
}
