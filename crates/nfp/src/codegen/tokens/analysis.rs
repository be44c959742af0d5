//! Analyses a program: finds the abstract values before each instruction, and derives facts from
//! them.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::UnlinkedProgram;
use slowpath_bpf::insn::Register;
use slowpath_bpf::insn::helper::{
    MAP_DELETE_ELEM, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, memory_registers,
};
use slowpath_bpf::lift::RegisterValue;
use slowpath_stop::Stop;

use super::calls;
use super::code::Code;
use super::transfer::State;
use super::value::{Kind, Origin, Value};
use crate::codegen::analysis::zero_extension;
use crate::codegen::annotated::{AnnotatedInsn, target};
use crate::codegen::facts::Facts;
use crate::codegen::{helpers, optimize};

pub(super) struct Analysis<'a> {
    pub code: Code<'a>,
    pub states: Vec<Option<State>>,
}

impl<'a> Analysis<'a> {
    /// Analyses a program. `results` describes the results of functions that are not part of the
    /// program.
    pub fn new(
        program: &'a UnlinkedProgram,
        arguments: &[Value; 5],
        results: &BTreeMap<String, Value>,
    ) -> Self {
        let code = Code { program: &program.code, variables: &program.variables };
        Analysis { code, states: calls::analyze_all(&code, arguments, results) }
    }

    /// Returns the instructions with their annotations: zero extensions, copies and shared reads of
    /// the packet.
    pub fn annotated(&self) -> Vec<AnnotatedInsn> {
        let insns = self.code.program.insns.iter().enumerate();
        let targets: BTreeSet<usize> =
            insns.clone().filter_map(|(slot, insn)| target(slot, insn)).collect();
        // The default stop condition never stops the analysis, so there is always a result.
        let needed = zero_extension::analyze(self.code.program, self, &Stop::default())
            .map(|found| found.needed)
            .unwrap_or_default();
        let annotated = insns.map(|(slot, &insn)| AnnotatedInsn {
            is_target: targets.contains(&slot),
            zero_extends: needed.contains(&slot),
            ..AnnotatedInsn::new(insn)
        });
        let mut annotated: Vec<AnnotatedInsn> = annotated.collect();
        optimize::gather_and_share(&mut annotated, self);
        annotated
    }
}

impl Facts for Analysis<'_> {
    fn is_live(&self, slot: usize) -> bool {
        self.states[slot].is_some()
    }

    fn value(&self, slot: usize, register: Register) -> RegisterValue {
        let state = self.states[slot].as_ref();
        state.map_or(RegisterValue::Other, |state| state.register(register).as_register())
    }

    fn packet_distance(&self, first: (usize, Register), second: (usize, Register)) -> Option<i64> {
        let value = |(slot, register): (usize, Register)| {
            Some(self.states[slot].as_ref()?.register(register))
        };
        let (one, other) = (value(first)?, value(second)?);
        let packet = (one.kind, other.kind) == (Kind::Packet, Kind::Packet);
        let together = packet && one.origin == other.origin;
        Some(other.offset?.wrapping_sub(one.offset?)).filter(|_| together)
    }

    /// Returns the number of argument registers that a helper call reads. Returns 0 if the SmartNIC
    /// does not support the helper.
    fn arguments(&self, slot: usize, number: i32) -> u8 {
        let state = self.states[slot].as_ref();
        let variable =
            |&register: &usize| state.is_some_and(|state| state.registers[register].is_variable());
        let is_map = || state.is_some_and(|state| state.registers[1].one_map().is_some());
        let accepts = match number {
            MAP_LOOKUP_ELEM | MAP_UPDATE_ELEM | MAP_DELETE_ELEM => {
                is_map() && memory_registers(number).iter().all(variable)
            }
            _ => helpers::is_on_card(number),
        };
        if accepts { helpers::arguments(number) } else { 0 }
    }

    /// Returns true if a store reads all 64 bits of its source register. This includes stores that
    /// the SmartNIC does not support, because their replacement code reads the whole register.
    fn stores_whole(&self, slot: usize, base: Register, src: Register) -> bool {
        let Some(state) = &self.states[slot] else { return false };
        let accepted = matches!(state.register(base).kind, Kind::Packet | Kind::Stack);
        !accepted || !state.register(src).kind.is_numeric()
    }
}

impl Value {
    /// Returns true if the SmartNIC does not support a load at `offset` bytes from this pointer.
    pub fn refuses_loads(&self, offset: i16) -> bool {
        match (self.kind, &self.origin) {
            (Kind::Stack, _) => self.varies,
            (_, &Origin::Context { data, end }) => {
                let at = self.offset.unwrap_or(0).wrapping_add(offset.into());
                at != data && at != end
            }
            _ => !matches!(self.card_pointee(), Kind::Packet | Kind::Element | Kind::Context),
        }
    }
}
