//! States as they are kept between blocks: without what nothing reads any more.

use std::collections::HashMap;

use slowpath_ir::{Program, Reg};

use crate::class::{Arg, Class, ClassId, Def};
use crate::state::{Cell, State};

/// How far definitions are remembered behind the values of registers and memory. Bounds the size of
/// states in programs that compute one value from the other for a long time.
const DEPTH: usize = 6;

/// A state at the start of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Ascending.
    pub regs: Vec<(Reg, ClassId)>,
    pub cells: Vec<Cell>,
    pub classes: Vec<Class>,
}

impl Entry {
    /// What remains of a state for a block that reads these registers; `classes` are the state's,
    /// perhaps refined.
    pub fn of(state: &State, classes: &[Class], live: &[Reg]) -> Self {
        let regs = live.iter().filter_map(|&reg| Some((reg, state.regs[reg.index()]?)));
        let mut regs: Vec<(Reg, ClassId)> = regs.collect();
        let mut cells = state.cells.clone();
        let mut depth = vec![usize::MAX; classes.len()];
        let mut front: Vec<ClassId> = regs.iter().map(|&(_, class)| class).collect();
        front.extend(cells.iter().map(|cell| cell.class));
        for level in 0..=DEPTH {
            let mut next = Vec::new();
            for class in front {
                if depth[class as usize] != usize::MAX {
                    continue;
                }
                depth[class as usize] = level;
                let operands = classes[class as usize].def.args();
                next.extend(operands.filter_map(|arg| match arg {
                    Arg::Class(operand) => Some(operand),
                    Arg::Const(..) => None,
                }));
            }
            front = next;
        }
        let mut renamed = vec![ClassId::MAX; classes.len()];
        let mut kept = Vec::new();
        for (id, class) in classes.iter().enumerate() {
            if depth[id] == usize::MAX {
                continue;
            }
            renamed[id] = kept.len() as ClassId;
            let def = class.def.map(|arg| match arg {
                Arg::Class(operand) if renamed[operand as usize] == ClassId::MAX => None,
                Arg::Class(operand) => Some(Arg::Class(renamed[operand as usize])),
                Arg::Const(..) => Some(arg),
            });
            kept.push(Class { value: class.value, def: def.unwrap_or(Def::Unknown) });
        }
        regs.iter_mut().for_each(|(_, class)| *class = renamed[*class as usize]);
        cells.iter_mut().for_each(|cell| cell.class = renamed[cell.class as usize]);
        Entry { regs, cells, classes: kept }
    }

    /// The state.
    pub fn state(&self, program: &Program) -> State {
        let mut state = State::unknown(program);
        state.classes = self.classes.clone();
        state.cells = self.cells.clone();
        for &(reg, class) in &self.regs {
            state.regs[reg.index()] = Some(class);
        }
        state
    }

    /// Restricts registers to what they are in another state, which holds for them as well.
    pub fn restrict(&mut self, other: &Entry, which: impl Fn(Reg) -> bool) {
        let mut rest = other.regs.iter().peekable();
        for &(reg, class) in &self.regs {
            while rest.next_if(|(next, _)| *next < reg).is_some() {}
            if let Some(&&(next, there)) = rest.peek()
                && next == reg
                && which(reg)
            {
                let value = &mut self.classes[class as usize].value;
                *value = value.meet(&other.classes[there as usize].value).unwrap_or(*value);
            }
        }
    }

    /// A state that holds wherever one of the two holds. Places share a class where they do in
    /// both. With `thresholds`, values of the first are widened, and definitions are forgotten.
    pub fn join(&self, other: &Entry, thresholds: Option<&[u64]>) -> Entry {
        let mut join = Join {
            a: &self.classes,
            b: &other.classes,
            thresholds,
            of: HashMap::new(),
            classes: Vec::new(),
        };
        let mut regs = Vec::with_capacity(self.regs.len());
        let mut rest = other.regs.iter().peekable();
        for &(reg, a) in &self.regs {
            while rest.next_if(|(next, _)| *next < reg).is_some() {}
            if let Some(&&(next, b)) = rest.peek()
                && next == reg
            {
                regs.push((reg, join.class(a, b, DEPTH)));
            }
        }
        let mut cells = Vec::new();
        let mut rest = other.cells.iter().peekable();
        for cell in &self.cells {
            while rest.next_if(|next| next.place() < cell.place()).is_some() {}
            if let Some(&&next) = rest.peek()
                && next.place() == cell.place()
            {
                cells.push(Cell { class: join.class(cell.class, next.class, DEPTH), ..*cell });
            }
        }
        Entry { regs, cells, classes: join.classes }
    }
}

struct Join<'a> {
    a: &'a [Class],
    b: &'a [Class],
    thresholds: Option<&'a [u64]>,
    of: HashMap<(ClassId, ClassId), ClassId>,
    classes: Vec<Class>,
}

impl Join<'_> {
    fn class(&mut self, a: ClassId, b: ClassId, depth: usize) -> ClassId {
        if let Some(&known) = self.of.get(&(a, b)) {
            return known;
        }
        let (first, second) = (self.a[a as usize], self.b[b as usize]);
        let def = match self.thresholds {
            None if depth > 0 => self.def(first.def, second.def, depth - 1),
            _ => None,
        };
        let value = match self.thresholds {
            Some(thresholds) => first.value.widen(&second.value, thresholds),
            None => first.value.join(&second.value),
        };
        self.classes.push(Class { value, def: def.unwrap_or(Def::Unknown) });
        let class = (self.classes.len() - 1) as ClassId;
        self.of.insert((a, b), class);
        class
    }

    /// A definition that both have.
    fn def(&mut self, a: Def, b: Def, depth: usize) -> Option<Def> {
        let mut others = b.args();
        let shape = |def: Def| def.map(|_| Some(Arg::Const(0, 1)));
        if a == Def::Unknown || shape(a) != shape(b) {
            return None;
        }
        a.map(|arg| match (arg, others.next()?) {
            (Arg::Class(x), Arg::Class(y)) => {
                let width = |classes: &[Class], id| classes[id as usize].value.domain.width();
                let same = width(self.a, x) == width(self.b, y);
                same.then(|| Arg::Class(self.class(x, y, depth)))
            }
            (x, y) => (x == y).then_some(x),
        })
    }
}
