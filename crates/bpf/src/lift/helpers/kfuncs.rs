//! Lifts calls of kernel functions, which programs call by name. A table lists the supported
//! functions.

use super::{conntrack, environment, socket};
use crate::ProgramKind;
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::lifter::{Lifter, Next};
use crate::lift::state::value::AbstractValue;
use slowpath_codes as codes;

/// A supported kernel function: its name, the function that lifts its calls, and a note for the
/// documentation.
pub(in crate::lift) struct Kfunc {
    pub name: &'static str,
    lift: fn(&mut Lifter<'_>, ProgramPoint) -> Result<(), Cause>,
    pub note: &'static str,
}

const fn kfunc(
    name: &'static str,
    lift: fn(&mut Lifter<'_>, ProgramPoint) -> Result<(), Cause>,
    note: &'static str,
) -> Kfunc {
    Kfunc { name, lift, note }
}

/// All supported kernel functions, sorted by name.
#[rustfmt::skip]
pub(in crate::lift) const KFUNCS: &[Kfunc] = &[
    kfunc("bpf_ct_change_status", conntrack::status, "Returns 0 or -EBUSY. Afterwards the connection has any content."),
    kfunc("bpf_ct_change_timeout", conntrack::change_timeout, "Returns 0, -EPERM or -ETIME. Afterwards the connection has any content."),
    kfunc("bpf_ct_insert_entry", socket::object, "Returns null or a connection with any content."),
    kfunc("bpf_ct_release", environment::nothing, "Has no effect that the program can notice."),
    kfunc("bpf_ct_set_nat_info", conntrack::nat, "Returns 0, -EINVAL or -ENOMEM. Afterwards the connection has any content."),
    kfunc("bpf_ct_set_status", conntrack::status, "Returns 0 or -EBUSY. Afterwards the connection has any content."),
    kfunc("bpf_ct_set_timeout", conntrack::set_timeout, "Afterwards the connection has any content."),
    kfunc("bpf_xdp_ct_alloc", conntrack::allocate, "Returns a connection with any content, or null and writes any error to the options."),
    kfunc("bpf_xdp_ct_lookup", conntrack::look_up, "Returns a connection with any content and writes its direction, or returns null and writes any error to the options."),
    kfunc("bpf_xdp_flow_lookup", conntrack::flow, "Returns a flow with any content, or null and writes any error to the options."),
    kfunc("bpf_xdp_metadata_rx_hash", receive_hash, "Returns 0 or any error. The bytes that it can write get any values."),
    kfunc("bpf_xdp_metadata_rx_timestamp", receive_time, "Returns 0 or any error. The bytes that it can write get any values."),
    kfunc("bpf_xdp_metadata_rx_vlan_tag", receive_vlan, "Returns 0 or any error. The bytes that it can write get any values."),
];

fn find(name: &str) -> Option<&'static Kfunc> {
    let index = KFUNCS.binary_search_by_key(&name, |kfunc| kfunc.name).ok()?;
    Some(&KFUNCS[index])
}

impl Lifter<'_> {
    /// Lifts the call of a kernel function. Fails if the function is neither in the table nor
    /// declared harmless by the user.
    pub(in crate::lift) fn kfunc(&mut self, at: ProgramPoint) -> Result<Next, Cause> {
        let name = self.code.called(self.unit(at), at.slot);
        self.note_arguments();
        // Number 0 stands for an unlisted function, which may read all memory behind its arguments.
        self.note_stack_arguments(0);
        self.rely_on_equal(&name);
        // The functions with this prefix take the context of an XDP program. The others are those
        // of connections, for XDP programs and classifiers (`register_nf_conntrack_bpf`).
        let kind = self.program_type.kind;
        let wrong =
            !kind.is_xdp() && (kind != ProgramKind::SchedCls || name.starts_with("bpf_xdp_"));
        match (find(&name).filter(|_| !wrong), self.options.assumed(&name)) {
            (Some(kfunc), _) => (kfunc.lift)(self, at)?,
            (None, Some(reason)) => {
                self.assume_harmless(&name, reason)?;
                environment::any(self, at)?;
            }
            (None, None) => {
                let text = format!("the kernel function {name} is not supported");
                return Err(Cause::new(
                    codes::UNKNOWN_KERNEL_FUNCTION,
                    text,
                    self.assume_hint(&name),
                ));
            }
        }
        self.state.regs[1..6].fill(AbstractValue::NotStack);
        Ok(Next::On)
    }

    /// Assigns unknown values to the `bytes` bytes to which an argument register points, because
    /// the call writes them. Reports call them `what`.
    fn written(&mut self, register: u8, bytes: u32, what: &str) {
        let (address, known) = (self.ir.value(register), self.state.regs[usize::from(register)]);
        self.havoc(address, bytes, what);
        self.state.clobber(known);
    }
}

/// Lifts `bpf_xdp_metadata_rx_timestamp(ctx, timestamp)`.
fn receive_time(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.written(2, 8, "timestamp");
    environment::zero_or_error(lifter, at)
}

/// Lifts `bpf_xdp_metadata_rx_hash(ctx, hash, type)`.
fn receive_hash(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.written(2, 4, "hash");
    lifter.written(3, 4, "type");
    environment::zero_or_error(lifter, at)
}

/// Lifts `bpf_xdp_metadata_rx_vlan_tag(ctx, protocol, tag)`.
fn receive_vlan(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.written(2, 2, "protocol");
    lifter.written(3, 2, "tag");
    environment::zero_or_error(lifter, at)
}
