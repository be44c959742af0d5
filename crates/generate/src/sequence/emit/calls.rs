//! Emits calls of map helpers in a sequence.

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::helper::{
    MAP_DELETE_ELEM, MAP_LOOKUP_ELEM, MAP_PEEK_ELEM, MAP_POP_ELEM, MAP_PUSH_ELEM, MAP_UPDATE_ELEM,
    REDIRECT_MAP,
};
use slowpath_bpf::insn::{AluOp, Condition, Imm64, Insn, Register, Size, Source};

use super::{AT_BUFFER, AT_KEY, AT_VALUE, Emitter, Kept, pick, pointer_at, reg};
use crate::sequence::layout::key_size;
use crate::sequence::statement::{InnerCall, Number, Shape, Value};
use crate::statement::Pick;

/// Returns true for types of maps whose elements programs can look up and change.
fn keeps_elements(kind: MapKind) -> bool {
    matches!(
        kind,
        MapKind::HASH
            | MapKind::PERCPU_HASH
            | MapKind::LRU_HASH
            | MapKind::LRU_PERCPU_HASH
            | MapKind::ARRAY
            | MapKind::PERCPU_ARRAY
    )
}

impl Emitter<'_> {
    /// Chooses a map of a type that `fits` accepts. Returns its number, from 1, and its shape;
    /// `None` if no map fits.
    fn map(&self, choice: Pick, fits: impl Fn(MapKind) -> bool) -> Option<(usize, Shape)> {
        let fitting: Vec<(usize, Shape)> = self
            .maps
            .iter()
            .enumerate()
            .filter(|(_, s)| fits(s.kind))
            .map(|(n, s)| (n + 1, *s))
            .collect();
        pick(&fitting, choice)
    }

    /// Emits a store of the key of a map element on the stack.
    fn key(&mut self, shape: &Shape, kind: MapKind, key: Number) {
        self.number(reg(1), key);
        if kind == MapKind::LPM_TRIE {
            if shape.wide {
                self.mov(reg(2), Source::Reg(reg(1)));
                self.alu(AluOp::Lsh, reg(2), Source::Imm(3));
            } else {
                self.mov(reg(2), Source::Imm(32));
            }
            self.store(Size::W, Register::FRAME, AT_KEY, Source::Reg(reg(2)));
            // The key is the address 10.0.0.`key`.
            self.alu(AluOp::Lsh, reg(1), Source::Imm(24));
            self.alu(AluOp::Or, reg(1), Source::Imm(10));
            self.store(Size::W, Register::FRAME, AT_KEY + 4, Source::Reg(reg(1)));
            return;
        }
        let size = if key_size(kind, shape.wide) == 8 { Size::DW } else { Size::W };
        self.store(size, Register::FRAME, AT_KEY, Source::Reg(reg(1)));
    }

    fn load_map(&mut self, dst: Register, map: usize) {
        self.code.push(Insn::LoadImm64 { dst, value: Imm64::MapFd(map as i32) });
        self.code.push(Insn::SecondSlot);
    }

    /// Emits code that stores the pointer in `r0` on the stack, and a branch that depends on
    /// whether the pointer is null.
    fn store_pointer(&mut self, pointer_slot: u8, map: usize, words: u8) {
        let number = usize::from(pointer_slot) % self.pointers.len();
        self.store(Size::DW, Register::FRAME, pointer_at(number), Source::Reg(Register::R0));
        let end = self.branch(Condition::Eq, Register::R0, Source::Imm(0));
        self.land(end);
        self.pointers[number] = Some(Kept { map, bytes: 8 * words, stale: false });
    }

    /// Marks all pointers to elements of this map that the program keeps on the stack as stale,
    /// because a call may have replaced the elements.
    fn outdate(&mut self, map: usize) {
        for pointer in self.pointers.iter_mut().flatten().filter(|pointer| pointer.map == map) {
            pointer.stale = true;
        }
    }

    pub(super) fn lookup(&mut self, map: Pick, key: Number, pointer_slot: u8) -> Option<()> {
        let (map, shape) =
            self.map(map, |kind| keeps_elements(kind) || kind == MapKind::LPM_TRIE)?;
        self.key(&shape, shape.kind, key);
        self.call_with(map, MAP_LOOKUP_ELEM);
        self.store_pointer(pointer_slot, map, shape.words);
        Some(())
    }

    pub(super) fn update(
        &mut self,
        map: Pick,
        key: Number,
        value: Value,
        flags: Number,
    ) -> Option<()> {
        let (map, shape) = self.map(map, keeps_elements)?;
        let pointer = match value {
            Value::Pointer(choice) => self.pointer(choice, 8 * shape.words),
            Value::Number(_) => None,
        };
        self.key(&shape, shape.kind, key);
        let end = match (pointer, value) {
            (Some((number, _)), _) => {
                self.load(Size::DW, reg(3), Register::FRAME, pointer_at(number));
                Some(self.branch(Condition::Eq, reg(3), Source::Imm(0)))
            }
            (None, Value::Number(number)) => {
                self.value(number);
                None
            }
            (None, Value::Pointer(_)) => {
                self.value(Number::Constant(9));
                None
            }
        };
        self.number(reg(4), flags);
        self.call_with(map, MAP_UPDATE_ELEM);
        self.result(Register::R0);
        if let Some(end) = end {
            self.land(end);
        }
        self.outdate(map);
        Some(())
    }

    /// Emits code that stores the new value of a map element on the stack and puts its address in
    /// `r3`.
    fn value(&mut self, number: Number) {
        self.number(reg(1), number);
        self.store(Size::DW, Register::FRAME, AT_VALUE, Source::Reg(reg(1)));
        self.store(Size::DW, Register::FRAME, AT_VALUE + 8, Source::Imm(self.results as i32 + 1));
        self.stack(reg(3), AT_VALUE);
    }

    pub(super) fn delete(&mut self, map: Pick, key: Number) -> Option<()> {
        let (map, shape) = self.map(map, keeps_elements)?;
        self.key(&shape, shape.kind, key);
        self.call_with(map, MAP_DELETE_ELEM);
        self.result(Register::R0);
        self.outdate(map);
        Some(())
    }

    pub(super) fn inner(&mut self, map: Pick, key: Number, call: InnerCall) -> Option<()> {
        let (map, shape) = self.map(map, MapKind::holds_maps)?;
        self.key(&shape, shape.kind, key);
        self.call_with(map, MAP_LOOKUP_ELEM);
        let end = self.branch(Condition::Eq, Register::R0, Source::Imm(0));
        self.mov(reg(7), Source::Reg(Register::R0));
        match call {
            InnerCall::Lookup { key, pointer_slot } => {
                self.key(&shape, shape.inner, key);
                self.call_inner(MAP_LOOKUP_ELEM);
                self.store_pointer(pointer_slot, map, shape.words);
            }
            InnerCall::Update { key, value, flags } => {
                self.key(&shape, shape.inner, key);
                self.value(value);
                self.number(reg(4), flags);
                self.call_inner(MAP_UPDATE_ELEM);
                self.result(Register::R0);
                self.outdate(map);
            }
            InnerCall::Delete { key } => {
                self.key(&shape, shape.inner, key);
                self.call_inner(MAP_DELETE_ELEM);
                self.result(Register::R0);
                self.outdate(map);
            }
        }
        self.land(end);
        Some(())
    }

    fn call_inner(&mut self, helper: i32) {
        self.mov(reg(1), Source::Reg(reg(7)));
        self.stack(reg(2), AT_KEY);
        self.helper(helper);
    }

    pub(super) fn push(&mut self, map: Pick, value: Number, flags: Number) -> Option<()> {
        let (map, _) = self.map(map, |kind| matches!(kind, MapKind::QUEUE | MapKind::STACK))?;
        self.value(value);
        self.mov(reg(2), Source::Reg(reg(3)));
        self.number(reg(3), flags);
        self.load_map(reg(1), map);
        self.helper(MAP_PUSH_ELEM);
        self.result(Register::R0);
        Some(())
    }

    pub(super) fn pop(&mut self, map: Pick, stays: bool) -> Option<()> {
        let (map, _) = self.map(map, |kind| matches!(kind, MapKind::QUEUE | MapKind::STACK))?;
        self.stack(reg(2), AT_BUFFER);
        self.load_map(reg(1), map);
        self.helper(if stays { MAP_PEEK_ELEM } else { MAP_POP_ELEM });
        self.result(Register::R0);
        self.load(Size::DW, reg(1), Register::FRAME, AT_BUFFER);
        self.result(reg(1));
        Some(())
    }

    pub(super) fn redirect_map(&mut self, map: Pick, key: Number, flags: Number) -> Option<()> {
        let is_devmap = |kind| matches!(kind, MapKind::DEVMAP | MapKind::DEVMAP_HASH);
        let (map, _) = self.map(map, is_devmap)?;
        self.number(reg(2), key);
        self.number(reg(3), flags);
        self.load_map(reg(1), map);
        self.helper(REDIRECT_MAP);
        self.result(Register::R0);
        Some(())
    }

    /// Chooses a pointer on the stack to a map value of at least `bytes` bytes. Returns the pointer
    /// with its index among the pointers on the stack, or `None` if no pointer is suitable.
    pub(super) fn pointer(&self, choice: Pick, bytes: u8) -> Option<(usize, Kept)> {
        let usable =
            |kept: &Kept| kept.bytes >= bytes && (self.abilities.stale_pointers || !kept.stale);
        let pointers = self.pointers.iter().enumerate();
        let usable: Vec<(usize, Kept)> =
            pointers.filter_map(|(n, kept)| Some((n, kept.filter(usable)?))).collect();
        pick(&usable, choice)
    }
}
