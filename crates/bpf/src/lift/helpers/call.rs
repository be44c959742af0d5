//! Lifts helper calls. A call that may use several maps is lifted once for each of them.

use crate::insn::helper::{self, helper_name};
use crate::lift::error::{Cause, INTERNAL};
use crate::lift::frame::{Phase, ProgramPoint};
use crate::lift::helpers::environment;
use crate::lift::helpers::find::{find, is_of_other_type};
use crate::lift::helpers::table::Lift;
use crate::lift::insns::memory::map_handle;
use crate::lift::ir::emit::word;
use crate::lift::lifter::{Lifter, Next};
use crate::lift::linked_code;
use crate::lift::maps::class::{MapClass, class_of};
use crate::lift::state::value::{AbstractValue, MapSet};
use slowpath_codes as codes;

impl Lifter<'_> {
    /// Lifts the call of the helper with this number. A call that may use several maps first
    /// selects the map.
    pub(in crate::lift) fn helper(&mut self, at: ProgramPoint, number: i32) -> Result<Next, Cause> {
        if let Some(maps) = self.maps_of_call(at, number) {
            return Ok(Next::To(at.with(Phase::SelectMap(maps.next(0).unwrap_or_default()))));
        }
        self.helper_on(at.with(Phase::Start), number)
    }

    /// Returns the set of maps that a call may use. Returns `None` if the call uses one known map,
    /// or if the set is not certain.
    fn maps_of_call(&self, at: ProgramPoint, number: i32) -> Option<MapSet> {
        match self.state.regs[helper::map_register(number)] {
            AbstractValue::OneOfMaps(maps) => Some(maps),
            // A compiler may use a register or stack slot for a map pointer on some paths, and for
            // a number on paths that do not use the map.
            AbstractValue::Unknown | AbstractValue::NotStack | AbstractValue::MaybeMapValue => {
                self.named_maps(at, number)
            }
            _ => None,
        }
    }

    /// Returns all maps that the program refers to and that the kernel's verifier accepts for the
    /// call. Returns `None` if the set of maps is not certain.
    fn named_maps(&self, at: ProgramPoint, number: i32) -> Option<MapSet> {
        let unit = self.frames.get(at.frame).unit;
        let mut maps = MapSet::default();
        for map in self.code.maps(unit) {
            let def = self.map_def(map).ok()?;
            let admits = |class| match number {
                helper::MAP_LOOKUP_ELEM => Some(looked_up(class)),
                helper::MAP_UPDATE_ELEM | helper::MAP_DELETE_ELEM => Some(changed(class)),
                _ => None,
            };
            let class = class_of(def).ok()?;
            if admits(class)? {
                maps = maps.with(AbstractValue::Map(map).maps()?);
            }
            if class == MapClass::Maps && admits(class_of(def.inner.as_deref()?).ok()?)? {
                maps = maps.with(AbstractValue::InnerMap(map).maps()?);
            }
        }
        (maps.next(0).is_some() && !maps.mixes_inner_maps()).then_some(maps)
    }

    /// Lifts the block that tests whether a call uses the map with the index `map`, if the call may
    /// use several maps.
    pub(in crate::lift) fn which_map(
        &mut self,
        at: ProgramPoint,
        number: i32,
        map: u32,
    ) -> Result<Next, Cause> {
        let register = helper::map_register(number);
        let Some(maps) = self.maps_of_call(at, number) else {
            return Err(Cause::new(codes::INTERNAL_ERROR, "the maps of a call are lost", INTERNAL));
        };
        let current = at.with(Phase::CallOnMap(map));
        let Some(next) = maps.next(map + 1) else { return Ok(Next::To(current)) };
        // The inner maps of different maps of maps cannot be distinguished.
        if map >= MapSet::INNER {
            let text = "the map of the call comes from different maps of maps";
            return Err(Cause::new(
                codes::MAP_DIFFERS_BETWEEN_PATHS,
                text,
                "call the helper in each branch",
            ));
        }
        let handle = self.ir.value(register as u8);
        let same = self.ir.emit.eq(handle, word(map_handle(map)));
        Ok(Next::Branch(same, current, at.with(Phase::SelectMap(next))))
    }

    /// Lifts the call of the helper `number`, for the runs in which it uses the map with the index
    /// `map`.
    pub(in crate::lift) fn on_map(
        &mut self,
        at: ProgramPoint,
        number: i32,
        map: u32,
    ) -> Result<Next, Cause> {
        self.state.regs[helper::map_register(number)] = AbstractValue::of_number(map);
        self.helper_on(at.with(Phase::Start), number)
    }

    fn helper_on(&mut self, at: ProgramPoint, number: i32) -> Result<Next, Cause> {
        self.note_arguments();
        self.note_shared_arguments(number);
        self.note_stack_arguments(number);
        let name = linked_code::name(number);
        let lift = match (
            find(number, self.program_type.kind).map(|helper| helper.lift),
            self.options.assumed(&name),
        ) {
            (None, None) => {
                let text = if helper_name(number).is_some() {
                    format!("{name} is not supported")
                } else {
                    format!("there is no helper with number {number}")
                };
                let kind = self.program_type.kind;
                let hint = match is_of_other_type(number, kind) {
                    true => format!("programs of type {kind} may not call it; others may"),
                    false => self.assume_hint(&name),
                };
                return Err(Cause::new(codes::UNKNOWN_HELPER, text, hint));
            }
            (None, Some(reason)) => {
                self.assume_harmless(&name, reason)?;
                Lift::Plain(environment::any)
            }
            (Some(lift), _) => lift,
        };
        self.record_call(number)?;
        match lift {
            Lift::Plain(lift) => {
                lift(self, at)?;
                if self.ir.emit.computed {
                    self.rely_on_equal(&name);
                }
                self.state.regs[1..6].fill(AbstractValue::NotStack);
                Ok(Next::On)
            }
            Lift::Loop => self.loop_start(at, number),
            Lift::TailCall => self.tail_call_start(at),
        }
    }
}

/// Returns true if programs can look up elements of maps of this class
/// (`check_map_func_compatibility` of `kernel/bpf/verifier.c`).
fn looked_up(class: MapClass) -> bool {
    !matches!(class, MapClass::Programs | MapClass::Stream | MapClass::Queue)
}

/// Returns true if programs can update and delete elements of maps of this class
/// (`check_map_func_compatibility`).
fn changed(class: MapClass) -> bool {
    matches!(class, MapClass::Array | MapClass::Hash | MapClass::Trie)
}
