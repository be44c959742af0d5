//! Creates the parts of the lifted program besides blocks: registers, stack frames, memory regions
//! and inputs. The builder creates each part on first use.

use slowpath_ir::{
    BinaryOp, Emit, Input, InputId, InputKind, Op, Operand, OriginOp, Reg, Region, RegionId,
    RegionKind,
};
use std::collections::BTreeMap;

use crate::lift::frame::STACK_BYTES;
use crate::lift::ir::emit::{Emitter, word};

/// Smallest address of a memory region, above null and small integers.
const BASE_MIN: u64 = 1 << 24;
/// Largest address of a memory region. It fits in the 32 bits that `struct xdp_md` has for packet
/// addresses.
const BASE_MAX: u64 = (1 << 31) - 1;

/// Value of a register of the lifted program at the start of a run.
#[derive(Clone, Copy, Debug)]
pub(in crate::lift) enum StartValue {
    Zero,
    Constant(u64),
    Unknown(InputId),
    /// The address of the packet's first byte.
    Packet,
    /// The constant `of` minus the value of the input `without`; for example, the capacity of a map
    /// minus its number of free elements.
    Rest {
        of: u64,
        without: InputId,
    },
}

/// Builder for the registers, regions and inputs of a lifted program.
#[derive(Debug)]
pub(in crate::lift) struct IrBuilder {
    pub emit: Emitter,
    /// Registers of the lifted program for `r0` to `r5`, which all stack frames share.
    scratch: [Reg; 6],
    /// Registers of the lifted program for `r6` to `r9` and for the address of the stack frame, for
    /// each call depth.
    frames: Vec<[Reg; 5]>,
    /// Call depth of the active frame.
    depth: usize,
    pub regions: Vec<Region>,
    /// Memory regions by name. The flag is true for regions of maps, because the object chooses the
    /// names of maps.
    by_name: BTreeMap<(bool, String), RegionId>,
    pub inputs: Vec<Input>,
    by_input: BTreeMap<String, InputId>,
    /// Registers of the lifted program that do not stand for a BPF register, by name.
    extra: BTreeMap<String, Reg>,
    /// Registers that are set before the first instruction, with their initial values.
    pub started: BTreeMap<Reg, StartValue>,
    pub packet: RegionId,
    pub context: RegionId,
    /// Memory region for the return code of the program.
    pub result: RegionId,
    /// Memory region for the record of calls; `None` if calls are not recorded.
    pub calls: Option<RegionId>,
}

impl IrBuilder {
    pub fn new() -> Self {
        let mut emit = Emitter::default();
        let scratch = std::array::from_fn(|n| emit.named(format!("r{n}"), 64));
        let mut ir = IrBuilder {
            emit,
            scratch,
            frames: Vec::new(),
            depth: 0,
            regions: Vec::new(),
            by_name: BTreeMap::new(),
            inputs: Vec::new(),
            by_input: BTreeMap::new(),
            extra: BTreeMap::new(),
            started: BTreeMap::new(),
            packet: RegionId(0),
            context: RegionId(1),
            result: RegionId(2),
            calls: None,
        };
        ir.packet = ir.region("packet", RegionKind::Packet);
        ir.context = ir.region("context", RegionKind::Context);
        ir.result = ir.region("result", RegionKind::Context);
        ir.enter(0);
        ir
    }

    /// Creates the memory region for the record of calls.
    pub fn record_calls(&mut self) {
        let calls = self.region("calls", RegionKind::Stack);
        self.regions[calls.index()].content = Some(Vec::new());
        self.calls = Some(calls);
    }

    /// Sets the call depth for the following instructions, which determines the registers of the
    /// lifted program for `r6` to `r9`.
    pub fn enter(&mut self, depth: u8) {
        self.depth = depth.into();
        // Frames of the same depth share registers and memory: only one of them is active.
        while self.frames.len() <= self.depth {
            let depth = self.frames.len();
            let suffix = if depth == 0 { String::new() } else { format!(".{depth}") };
            let stack = self.region(&format!("stack{suffix}"), RegionKind::Stack);
            let mut regs: [Reg; 5] = std::array::from_fn(|n| {
                let number = n + 6;
                self.emit.named(format!("r{number}{suffix}"), 64)
            });
            regs[4] = self.regions[stack.index()].base;
            self.frames.push(regs);
        }
    }

    /// Returns the register of the lifted program that holds BPF register `r0` to `r9` of the
    /// active stack frame.
    pub fn reg(&self, number: u8) -> Reg {
        match number {
            0..=5 => self.scratch[usize::from(number)],
            _ => self.frames[self.depth][usize::from(number).min(10) - 6],
        }
    }

    /// Returns the value of BPF register `r0` to `r10` in the active stack frame.
    pub fn value(&mut self, number: u8) -> Operand {
        match number {
            10 => {
                let base = self.frames[self.depth][4];
                self.emit.add(base, word(STACK_BYTES))
            }
            _ => self.reg(number).into(),
        }
    }

    /// Returns the address of the first byte of the active stack frame.
    pub fn stack(&self) -> Operand {
        self.frames[self.depth][4].into()
    }

    /// Returns the memory region with this name and kind, creating it if necessary. The region's
    /// base register holds the address of its first byte.
    pub fn region(&mut self, name: &str, kind: RegionKind) -> RegionId {
        let key = (kind == RegionKind::Map, name.to_owned());
        if let Some(&region) = self.by_name.get(&key) {
            return region;
        }
        let base = self.emit.named(format!("{name}.base"), 64);
        let id = RegionId::from(self.regions.len());
        self.regions.push(Region { name: name.to_owned(), kind, base, content: None });
        self.by_name.insert(key, id);
        id
    }

    /// Returns the address of the first byte of a memory region.
    pub fn base(&self, region: RegionId) -> Operand {
        self.regions[region.index()].base.into()
    }

    /// Returns the address of an element in a memory region that is an array. `number` is the
    /// element's index, and an element has `1 << bits` bytes.
    pub fn item(&mut self, region: RegionId, number: impl Into<Operand>, bits: u64) -> Operand {
        let base = self.base(region);
        let number = self.emit.zero_extend(number, 64);
        let offset = self.emit.binary(BinaryOp::Shl, number, word(bits));
        self.emit.add(base, offset)
    }

    /// Returns the input with this name, creating it if necessary: a value from `min` to `max` that
    /// is unknown but constant during a run.
    pub fn input(&mut self, name: &str, width: u8, min: u64, max: u64, kind: InputKind) -> InputId {
        if let Some(&input) = self.by_input.get(name) {
            return input;
        }
        let id = InputId::from(self.inputs.len());
        self.inputs.push(Input { name: name.to_owned(), width, min, max, kind });
        self.by_input.insert(name.to_owned(), id);
        id
    }

    /// Returns the register with this name, creating it if necessary. The register keeps its value
    /// across blocks.
    pub fn extra(&mut self, name: &str, width: u8) -> Reg {
        if let Some(&reg) = self.extra.get(name) {
            return reg;
        }
        let reg = self.emit.named(name, width);
        self.extra.insert(name.to_owned(), reg);
        reg
    }

    /// Returns a 1-bit register that holds a branch condition. A constant condition is copied to a
    /// register.
    pub fn condition(&mut self, cond: Operand) -> Reg {
        match cond {
            Operand::Reg(reg) => reg,
            Operand::Const { .. } => {
                let dst = self.extra("constant condition", 1);
                self.emit.copy(dst, cond);
                dst
            }
        }
    }

    /// Returns the operations that set the base register of every region to the address of the
    /// region.
    pub fn bases(&mut self) -> Vec<OriginOp> {
        self.emit.begin_block();
        self.emit.begin_insn(0, String::new());
        for index in 0..self.regions.len() {
            let Region { ref name, base, .. } = self.regions[index];
            let kind = InputKind::BaseAddress(RegionId::from(index));
            let input = InputId::from(self.inputs.len());
            let name = format!("address of {name}");
            self.inputs.push(Input { name, width: 64, min: BASE_MIN, max: BASE_MAX, kind });
            self.emit.push(Op::Input { dst: base, input });
        }
        self.emit.take_ops()
    }
}
