//! Handles unsupported helpers and kernel functions that the user declares harmless (`--assume`).

use crate::btf::Kind;
use crate::lift::error::Cause;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;
use slowpath_codes as codes;

/// Functions that run a callback before they return, although the types of their parameters do not
/// show it.
const CALL_BACK: &[&str] = &["bpf_find_vma", "bpf_rbtree_add_impl", "bpf_user_ringbuf_drain"];

/// Functions that register a callback, which runs after the program has processed the packet.
const LATER: &[&str] = &[
    "bpf_task_work_schedule_resume_impl",
    "bpf_task_work_schedule_signal_impl",
    "bpf_timer_set_callback",
    "bpf_wq_set_callback_impl",
];

/// Kernel function that throws an exception. The program then ends through an exception callback,
/// or as if all its functions returned.
const THROW: &str = "bpf_throw";

impl Lifter<'_> {
    /// Records the user's assumption that a function is harmless; `reason` is the reason that the
    /// user gives.
    ///
    /// # Errors
    /// Fails if the function runs a callback, whose work would not be counted.
    pub(super) fn assume_harmless(&mut self, name: &str, reason: &str) -> Result<(), Cause> {
        if let Some(objection) = self.never_harmless(name) {
            let text = format!("--assume cannot treat {name} as harmless: {objection}");
            return Err(Cause::new(
                codes::HARMFUL_ASSUMPTION,
                text,
                "remove it from the file; docs/reference/support.md lists supported helpers",
            ));
        }
        let sentence = format!(
            "{name} returns any value and changes nothing that the program sees: {reason} (--assume)"
        );
        self.assume(sentence);
        Ok(())
    }

    /// Returns the hint for the error about an unsupported function: the option with which the user
    /// can declare it harmless, or the reason why this is not possible.
    pub(super) fn assume_hint(&self, name: &str) -> String {
        match self.never_harmless(name) {
            Some(objection) => {
                format!("{objection}; docs/reference/support.md lists supported helpers")
            }
            None => format!(
                "docs/reference/support.md lists supported helpers; a table [helper.{name}] in a \
                 file of --assume treats it as harmless"
            ),
        }
    }

    /// Returns the reason why users cannot declare the current call harmless; `None` if they can.
    fn never_harmless(&self, name: &str) -> Option<&'static str> {
        if name == THROW {
            return Some(
                "the helper does not return, and may run a function of the program at the \
                 end",
            );
        }
        let passes_function = || {
            self.state.regs[1..6].iter().any(|known| matches!(known, AbstractValue::Function(_)))
        };
        let runs = CALL_BACK.contains(&name) || self.takes_function(name) || passes_function();
        (runs && !LATER.contains(&name))
            .then_some("the helper runs a function of the program, whose instructions count")
    }

    /// Returns true if the object declares a parameter of a kernel function as a function pointer.
    fn takes_function(&self, name: &str) -> bool {
        let takes = || {
            let btf = self.object.btf.as_ref()?;
            let function = btf.find(name, |kind| matches!(kind, Kind::Func { .. }))?;
            let Kind::Func { proto, .. } = *btf.kind(function) else { return None };
            let Kind::FuncProto { params, .. } = btf.kind(proto) else { return None };
            let is_function = |ty| match *btf.kind(btf.resolve(ty)) {
                Kind::Ptr(to) => matches!(btf.kind(btf.resolve(to)), Kind::FuncProto { .. }),
                _ => false,
            };
            Some(params.iter().any(|param| is_function(param.ty)))
        };
        takes().unwrap_or(false)
    }
}
