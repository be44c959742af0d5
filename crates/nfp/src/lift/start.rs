//! Sets up the state in which the BPF offload starts a program: the memory regions, pointers to
//! them, and the packet's length. All other registers can have any value.
//!
//! `*l$index0` and `gprA_22` point to the stack. `*l$index1` points to the packet vector, here the
//! region `context`. Its word 0 holds the packet's length in the low 14 bits, its word 2 the
//! packet's address. `gprB_23` is the address of the map in units of 256 bytes.

use slowpath_ir::{
    BinaryOp, BlockId, Input, InputId, InputKind, InsnIdx, Liveness, Op, Operand as Value,
    OriginOp, Program, Reg, RegInfo, Region, RegionId, RegionKind,
};

use super::core_state::{ArchReg, CoreState};
use super::known_bits::mask;
use super::options::LiftOptions;
use crate::Operand;
use crate::abi::{self, FRAME_BASE, PACKET_VECTOR_BASE};
use crate::firmware::{PACKET_ADDRESS_OFFSET, PACKET_LENGTH_BITS as LENGTH_BITS};

/// Index, among the inputs of the program, of the packet's length.
pub(super) const PACKET_LENGTH: InputId = InputId(0);
/// Number of inputs (packet length, addresses, unknown bits) that every lifted program has.
pub(super) const FIXED_INPUTS: usize = 6;

/// Index, among the inputs of the program, of the bits 14 to 31 in word 0 of the packet vector.
/// These bits above the packet's length are unknown.
const CONTEXT_REST: InputId = InputId(5);

const PACKET: usize = 0;
const STACK: usize = 1;
const CONTEXT: usize = 2;
const DRAM: usize = 3;

/// The memory regions and inputs that every lifted program has.
pub(super) struct Start {
    pub regions: Vec<Region>,
    pub inputs: Vec<Input>,
    /// Registers that contain the addresses of the regions.
    pub base_regs: [Reg; 4],
}

impl Start {
    pub fn new(core: &mut CoreState, options: &LiftOptions) -> Self {
        let bases = ["packet", "stack", "context", "dram"]
            .map(|name| core.emit.named(format!("address of {name}"), 32));
        let dram_base = core.emit.named("address of dram, 40 bits".into(), 40);
        let region =
            |name: &str, kind, base| Region { name: name.into(), kind, base, content: None };
        let address = |name: &str, region: usize, min, max| Input {
            name: format!("address of {name}"),
            width: 32,
            min,
            max,
            kind: InputKind::BaseAddress(RegionId::from(region)),
        };
        let regions = vec![
            region("packet", RegionKind::Packet, bases[PACKET]),
            region("stack", RegionKind::Stack, bases[STACK]),
            region("context", RegionKind::Context, bases[CONTEXT]),
            region("dram", RegionKind::Map, dram_base),
        ];
        let inputs = vec![
            Input {
                name: "packet length".into(),
                width: LENGTH_BITS,
                min: options.min_packet.into(),
                max: options.max_packet.into(),
                kind: InputKind::PacketLength,
            },
            // The ranges leave room for any offset in a program, so that no address wraps around.
            address("packet", PACKET, 0x1_0000, 0x3fff_0000),
            address("stack", STACK, 0x1_0000, 0x2000_0000),
            address("context", CONTEXT, 0x1_0000, 0x2000_0000),
            // In units of 256 bytes.
            address("dram", DRAM, 1, 0x7fff_ffff),
            unknown("context word 0, bits 14 to 31", 32 - LENGTH_BITS),
        ];
        Start { regions, inputs, base_regs: bases }
    }
}

fn unknown(name: &str, width: u8) -> Input {
    Input { name: name.into(), width, min: 0, max: mask(width), kind: InputKind::Unknown }
}

/// Adds operations that run before the first block. They define the addresses of memory regions and
/// all registers that are live at the program's start.
pub(super) fn prologue(program: &mut Program, core: CoreState, bases: &[Reg; 4]) {
    let live: Vec<Reg> = Liveness::of(program).live_in(BlockId(0)).collect();
    let mut start = Prologue { program };
    for (region, &base) in bases.iter().enumerate() {
        start.push(Op::Input { dst: base, input: InputId::from(1 + region) });
    }
    let dram = start.program.regions[DRAM].base;
    let zeros = Value::constant(8, 0);
    start.binary(BinaryOp::Concat, dram, Value::Reg(bases[DRAM]), zeros);
    start.context(bases[CONTEXT], bases[PACKET]);
    for (&arch, &reg) in core.regs.iter().filter(|(_, reg)| live.contains(reg)) {
        match arch {
            ArchReg::LocalBase(FRAME_BASE) => start.copy(reg, bases[STACK]),
            ArchReg::LocalBase(PACKET_VECTOR_BASE) => start.copy(reg, bases[CONTEXT]),
            ArchReg::Gpr(bank, number) if Operand::Gpr(bank, number) == abi::STACK => {
                start.copy(reg, bases[STACK]);
            }
            ArchReg::Gpr(bank, number) if Operand::Gpr(bank, number) == abi::ARRAY_MAP => {
                start.copy(reg, bases[DRAM]);
            }
            // Must be consistent with N and V.
            ArchReg::Less => {
                let [negative, overflow] = [ArchReg::Negative, ArchReg::Overflow].map(|flag| {
                    let known = core.regs.get(&flag).copied().filter(|reg| live.contains(reg));
                    Value::Reg(known.unwrap_or_else(|| start.new_unknown(flag)))
                });
                start.binary(BinaryOp::Xor, reg, negative, overflow);
            }
            _ => start.define_unknown(reg, &arch.name(), arch.width()),
        }
    }
}

struct Prologue<'a> {
    program: &'a mut Program,
}

impl Prologue<'_> {
    fn push(&mut self, op: Op) {
        self.program.prologue.push(OriginOp { op, insn: InsnIdx(0) });
    }

    fn copy(&mut self, dst: Reg, src: Reg) {
        self.push(Op::Copy { dst, src: Value::Reg(src) });
    }

    fn binary(&mut self, op: BinaryOp, dst: Reg, a: Value, b: Value) {
        self.push(Op::Binary { op, dst, a, b });
    }

    fn temporary(&mut self, name: String, width: u8) -> Reg {
        self.program.regs.push(RegInfo { name, width });
        Reg::from(self.program.regs.len() - 1)
    }

    /// Emits a definition of a register by a new program input, which can have any value.
    fn define_unknown(&mut self, dst: Reg, name: &str, width: u8) {
        let input = InputId::from(self.program.inputs.len());
        self.program.inputs.push(unknown(name, width));
        self.push(Op::Input { dst, input });
    }

    /// Returns a new register that can have any value.
    fn new_unknown(&mut self, arch: ArchReg) -> Reg {
        let reg = self.temporary(format!("{} at start", arch.name()), arch.width());
        self.define_unknown(reg, &arch.name(), arch.width());
        reg
    }

    /// Stores the words of the packet vector that the firmware provides: packet length and address.
    fn context(&mut self, context: Reg, packet: Reg) {
        let length = self.temporary("packet length".into(), LENGTH_BITS);
        self.push(Op::Input { dst: length, input: PACKET_LENGTH });
        let rest = self.temporary("context word 0, bits 14 to 31".into(), 32 - LENGTH_BITS);
        self.push(Op::Input { dst: rest, input: CONTEXT_REST });
        let word = self.temporary("context word 0".into(), 32);
        self.binary(BinaryOp::Concat, word, Value::Reg(rest), Value::Reg(length));
        self.push(Op::Store { addr: Value::Reg(context), value: Value::Reg(word) });
        let addr = self.temporary("address of context word 2".into(), 32);
        let offset = Value::constant(32, PACKET_ADDRESS_OFFSET);
        self.binary(BinaryOp::Add, addr, Value::Reg(context), offset);
        self.push(Op::Store { addr: Value::Reg(addr), value: Value::Reg(packet) });
    }
}
