//! The helpers: one table. What a helper does is a function that lifts its call.
//!
//! A new helper is one entry here and, where none fits, one function in a module below.

mod checksum;
mod conntrack;
mod cookies;
mod environment;
pub(super) mod kfuncs;
mod map;
mod outcome;
mod output;
mod packet;
mod queue;
mod ring;
mod routing;
mod socket;

use super::emit::word;
use super::error::{Cause, VERIFIER};
use super::frame::{Phase, Place};
use super::lifter::{Lifter, Next};
use super::memory::map_handle;
use super::value::{INNER, Known};
use crate::insn::helper::{self, helper_name};
use crate::maps::MapKind;

/// `enum xdp_action` of the kernel's `uapi/linux/bpf.h`.
pub(super) const XDP_ABORTED: u64 = 0;
const XDP_REDIRECT: u64 = 4;

/// How a call of a helper is lifted.
#[derive(Clone, Copy)]
pub(super) enum Lift {
    /// By a function that sets `r0` and whatever else the helper changes.
    Plain(fn(&mut Lifter<'_>, Place) -> Result<(), Cause>),
    /// As a loop around a callback.
    Loop,
    /// As a jump to another program.
    TailCall,
    /// Not at all, for this reason.
    Refused(&'static str),
}

/// A helper.
pub(super) struct Helper {
    pub number: i32,
    pub lift: Lift,
    pub note: &'static str,
}

const fn plain(
    name: &str,
    lift: fn(&mut Lifter<'_>, Place) -> Result<(), Cause>,
    note: &'static str,
) -> Helper {
    Helper { number: helper::number(name), lift: Lift::Plain(lift), note }
}

const fn refused(name: &str, why: &'static str) -> Helper {
    Helper { number: helper::number(name), lift: Lift::Refused(why), note: why }
}

/// Every helper that is known here, by number.
#[rustfmt::skip]
pub(super) const HELPERS: &[Helper] = &[
    plain("bpf_map_lookup_elem", map::lookup, "null or the element's value; the same key finds the same element"),
    plain("bpf_map_update_elem", map::update, "exact, with the flags; see the table of calls on maps"),
    plain("bpf_map_delete_elem", map::delete, "exact"),
    plain("bpf_ktime_get_ns", environment::clock, "any time, not before the one returned last"),
    plain("bpf_trace_printk", output::printed, "any length, or -EINVAL, -EBUSY, -ENOSPC"),
    plain("bpf_get_prandom_u32", environment::random, "any 32-bit value"),
    plain("bpf_get_smp_processor_id", environment::processor, "any number below 8192, the same in one run"),
    Helper { number: helper::TAIL_CALL, lift: Lift::TailCall, note: "slots that are known are followed; else the path may end there, which is listed as an assumption" },
    plain("bpf_redirect", routing::redirect, "exact"),
    plain("bpf_perf_event_output", output::perf_output, "-EINVAL for wrong flags, -EFAULT for more than the packet, -E2BIG for an index beyond the map; else 0, or an error for who listens: -ENOENT, -E2BIG, -EBUSY, -EINVAL, -ENOSPC, -EOPNOTSUPP"),
    plain("bpf_csum_diff", checksum::diff, "exact as of Linux 6.13, which folds the sum to 16 bits and takes any size; for sizes that are neither constant nor bounded by a small buffer any such sum, which a path that depends on it relies on"),
    plain("bpf_get_numa_node_id", environment::numa_node, "any number below 1024, the same in one run"),
    plain("bpf_xdp_adjust_head", packet::adjust_head, "exact, for 256 bytes of head room"),
    plain("bpf_redirect_map", map::redirect, "exact; whether there is an element is open unless known"),
    plain("bpf_xdp_adjust_meta", packet::adjust_meta, "exact, for drivers with metadata"),
    plain("bpf_xdp_adjust_tail", packet::adjust_tail, "exact, for packets in one page"),
    plain("bpf_fib_lookup", routing::fib_lookup, "-EINVAL for wrong flags and sizes, -EAFNOSUPPORT for other families; else any result code or -ENODEV; the fields that are written for the code are anything, the others stay"),
    plain("bpf_sk_lookup_tcp", socket::look_up, "null or a socket with any content; null for flags, other sizes and name spaces that do not exist"),
    plain("bpf_sk_lookup_udp", socket::look_up, "null or a socket with any content; null for flags, other sizes and name spaces that do not exist"),
    plain("bpf_sk_release", environment::nothing, "no effect that the program sees"),
    plain("bpf_map_push_elem", queue::push, "exact: E2BIG if there is no room, unless BPF_EXIST makes some; EINVAL for other flags"),
    plain("bpf_map_pop_elem", queue::pop, "exact: the oldest element of a queue, the newest of a stack; ENOENT, and the value is cleared, if there is none"),
    plain("bpf_map_peek_elem", queue::peek, "as bpf_map_pop_elem; the element stays"),
    plain("bpf_spin_lock", environment::nothing, "no effect: a run is seen alone"),
    plain("bpf_spin_unlock", environment::nothing, "no effect: a run is seen alone"),
    plain("bpf_sk_fullsock", socket::same, "null or the same socket"),
    plain("bpf_tcp_sock", socket::same, "null or the same socket"),
    plain("bpf_get_listener_sock", socket::object, "null or a socket with any content"),
    plain("bpf_skc_lookup_tcp", socket::look_up, "null or a socket with any content; null for flags, other sizes and name spaces that do not exist"),
    plain("bpf_tcp_check_syncookie", cookies::check, "0, -ENOENT, -EINVAL, -EPROTONOSUPPORT; -EOPNOTSUPP or -ENOTSUPP without cookies in the kernel"),
    plain("bpf_tcp_gen_syncookie", cookies::make, "any cookie with a segment size, or an error as of bpf_tcp_check_syncookie"),
    plain("bpf_probe_read_kernel", output::probe_read, "0 and anything, or -EFAULT, -ERANGE, -EPERM and zeros, for constant sizes"),
    plain("bpf_jiffies64", environment::jiffies, "any number, not before the one returned last"),
    plain("bpf_ktime_get_boot_ns", environment::clock, "any time, not before the one returned last"),
    plain("bpf_ringbuf_output", ring::output, "0, EAGAIN if there is no room (always for more than the ring holds), EINVAL for unknown flags"),
    plain("bpf_ringbuf_reserve", ring::reserve, "a record with any content, or null if there is no room (always for more than the ring holds) or with flags"),
    plain("bpf_ringbuf_submit", environment::nothing, "no effect that the program sees"),
    plain("bpf_ringbuf_discard", environment::nothing, "no effect that the program sees"),
    plain("bpf_ringbuf_query", ring::query, "the size of the ring; no more data than that; any positions; 0 for other flags"),
    plain("bpf_ktime_get_coarse_ns", environment::clock, "any time, not before the one returned last"),
    plain("bpf_check_mtu", routing::check_mtu, "exact for a device with any MTU and length of header, which may not exist"),
    Helper { number: helper::FOR_EACH_MAP_ELEM, lift: Lift::Loop, note: "one round for every element" },
    plain("bpf_snprintf", output::snprintf, "any text and length, which a path that depends on them relies on; or -EINVAL, -EBUSY, -ENOSPC and no text; for constant sizes"),
    refused("bpf_timer_init", "timers run outside of the packet's path"),
    refused("bpf_timer_set_callback", "timers run outside of the packet's path"),
    refused("bpf_timer_start", "timers run outside of the packet's path"),
    refused("bpf_timer_cancel", "timers run outside of the packet's path"),
    plain("bpf_trace_vprintk", output::printed, "any length, or -EINVAL, -EBUSY, -ENOSPC"),
    Helper { number: helper::LOOP, lift: Lift::Loop, note: "exact, as the instructions that the verifier puts in its place where the flags are the constant zero: of more than 8,388,608 rounds, looked at with 64 bits, the error is the number 4294967289" },
    plain("bpf_xdp_get_buff_len", packet::length, "exact, for packets in one piece"),
    plain("bpf_xdp_load_bytes", packet::load_bytes, "exact, for sizes that are constant or bounded by a buffer of at most 256 bytes"),
    plain("bpf_xdp_store_bytes", packet::store_bytes, "exact, for sizes that are constant or bounded by a buffer of at most 256 bytes"),
    plain("bpf_tcp_raw_gen_syncookie_ipv4", cookies::make, "any cookie with a segment size, or an error as of bpf_tcp_check_syncookie"),
    plain("bpf_tcp_raw_gen_syncookie_ipv6", cookies::make, "any cookie with a segment size, or an error as of bpf_tcp_check_syncookie"),
    plain("bpf_tcp_raw_check_syncookie_ipv4", cookies::check_raw, "0 or -EACCES; -EPROTONOSUPPORT or -EOPNOTSUPP without cookies in the kernel"),
    plain("bpf_tcp_raw_check_syncookie_ipv6", cookies::check_raw, "0 or -EACCES; -EPROTONOSUPPORT or -EOPNOTSUPP without cookies in the kernel"),
    plain("bpf_ktime_get_tai_ns", environment::any, "any time"),
];

/// What to do about something that is not supported.
fn assume_hint(name: &str) -> String {
    format!(
        "docs/support.md lists what is; [helper.{name}] in a file given with --assume takes it for \
         harmless"
    )
}

/// What is known about a helper.
pub(super) fn find(number: i32) -> Option<&'static Helper> {
    let index = HELPERS.binary_search_by_key(&number, |helper| helper.number).ok()?;
    Some(&HELPERS[index])
}

/// The register that holds the map that a helper works on, if it works on one.
fn map_register(number: i32) -> usize {
    const TAKE_CONTEXT_FIRST: [i32; 2] = [helper::TAIL_CALL, helper::PERF_EVENT_OUTPUT];
    if TAKE_CONTEXT_FIRST.contains(&number) { 2 } else { 1 }
}

/// A helper's name, or its number.
fn name(number: i32) -> String {
    helper_name(number).map_or_else(|| format!("helper {number}"), str::to_owned)
}

impl Lifter<'_> {
    /// Lifts the call of a helper.
    pub(super) fn helper(&mut self, at: Place, number: i32) -> Result<Next, Cause> {
        if let Known::Maps(maps) = self.state.regs[map_register(number)] {
            return Ok(Next::To(at.with(Phase::WhichMap(maps.trailing_zeros()))));
        }
        self.helper_on(at.with(Phase::Start), number)
    }

    /// A call whose map differs between paths goes on in a block for each of them.
    pub(super) fn which_map(&mut self, at: Place, number: i32, map: u32) -> Result<Next, Cause> {
        let register = map_register(number);
        let Known::Maps(maps) = self.state.regs[register] else {
            return Err(Cause::new("the maps of a call are lost", VERIFIER));
        };
        let later = maps >> map >> 1;
        let this = at.with(Phase::OnMap(map));
        if later == 0 {
            return Ok(Next::To(this));
        }
        if map >= INNER {
            let what = "the map that the call uses comes out of different maps of maps";
            return Err(Cause::new(what, "call the helper in each branch"));
        }
        let handle = self.machine.value(register as u8);
        let same = self.machine.emit.eq(handle, word(map_handle(map)));
        let next = map + 1 + later.trailing_zeros();
        Ok(Next::Either(same, this, at.with(Phase::WhichMap(next))))
    }

    /// The call, on one of its maps.
    pub(super) fn on_map(&mut self, at: Place, number: i32, map: u32) -> Result<Next, Cause> {
        self.state.regs[map_register(number)] = Known::of_bit(map);
        self.helper_on(at.with(Phase::Start), number)
    }

    fn helper_on(&mut self, at: Place, number: i32) -> Result<Next, Cause> {
        self.note_arguments();
        self.note_stack_arguments(number);
        let name = name(number);
        let lift = match (find(number).map(|helper| helper.lift), self.options.assumed(&name)) {
            (Some(Lift::Refused(why)), None) => {
                let what = format!("{name} is not supported: {why}");
                return Err(Cause::new(what, assume_hint(&name)));
            }
            (None, None) => {
                let what = if helper_name(number).is_some() {
                    format!("{name} is not supported")
                } else {
                    format!("there is no helper with number {number}")
                };
                return Err(Cause::new(what, assume_hint(&name)));
            }
            (Some(Lift::Refused(_)) | None, Some(reason)) => {
                self.assume_harmless(&name, reason.to_owned());
                Lift::Plain(environment::any)
            }
            (Some(lift), _) => lift,
        };
        match lift {
            Lift::Plain(lift) => {
                lift(self, at)?;
                self.state.regs[1..6].fill(Known::NoStack);
                Ok(Next::On)
            }
            Lift::Loop => self.loop_start(at, number),
            Lift::TailCall => self.tail_call_start(at),
            Lift::Refused(why) => Err(Cause::new(why, VERIFIER)),
        }
    }

    /// Notes what a call may read or write through its arguments.
    fn note_arguments(&mut self) {
        for number in 1..6 {
            self.note_pointer(self.state.regs[number]);
        }
    }

    /// Lists that something is taken for harmless.
    fn assume_harmless(&mut self, name: &str, reason: String) {
        let sentence = format!(
            "{name} returns any value and changes nothing that the program sees: {reason} (--assume)"
        );
        self.assumptions.insert(sentence);
    }

    /// Counts a call: the class names the helper and the type of the map that it works on. Returns
    /// the helper's name.
    pub(super) fn call_cost(&mut self, at: Place, map: Option<MapKind>) -> String {
        let name = self.called(at);
        let short = name.strip_prefix("bpf_").unwrap_or(&name).to_owned();
        let class = match map {
            Some(kind) => format!("call.{short}.{kind}"),
            None => format!("call.{short}"),
        };
        self.cost(at, &class);
        name
    }

    /// The name of what the instruction calls.
    pub(super) fn called(&self, at: Place) -> String {
        let unit = &self.units[self.frames.get(at.frame).unit].program;
        match unit.insns.get(at.slot) {
            Some(crate::insn::Insn::Call(crate::insn::Call::Helper(number))) => name(*number),
            Some(crate::insn::Insn::Call(crate::insn::Call::Kfunc { id, .. })) => {
                let id = usize::try_from(*id).ok();
                id.and_then(|id| unit.kfuncs.get(id)).cloned().unwrap_or_default()
            }
            Some(crate::insn::Insn::MayGoto { .. }) => "may_goto".to_owned(),
            Some(crate::insn::Insn::Call(crate::insn::Call::Subprogram { .. })) => {
                "call".to_owned()
            }
            _ => String::new(),
        }
    }

    /// How many bytes there are behind the address in an argument register at most, where the
    /// verifier has seen that accesses stay inside: up to the end of a stack frame or of a map's value.
    pub(super) fn room_at(&self, register: u8) -> Option<u32> {
        let value = |map: u32| self.object.maps.get(map as usize).map(|map| map.value_size);
        match self.state.regs[usize::from(register)] {
            Known::Const(0) => Some(0),
            Known::Frame { offset: Some(offset), .. } => u32::try_from(-offset).ok(),
            Known::Data { map, offset } | Known::MapValue { map, offset: Some(offset), .. } => {
                value(map)?.checked_sub(u32::try_from(offset).ok()?)
            }
            _ => None,
        }
    }

    /// A size in an argument register, which has to be a constant.
    pub(super) fn constant_size(&self, register: u8) -> Result<u32, Cause> {
        /// More than any helper takes (`MAX_BPF_STACK`, or a page).
        const LARGEST: u64 = 4096;
        match self.state.regs[usize::from(register)] {
            Known::Const(size) if size <= LARGEST => Ok(size as u32),
            Known::Const(size) => {
                Err(Cause::new(format!("a size of {size} bytes in r{register}"), VERIFIER))
            }
            _ => {
                let what = format!("the size in r{register} is not a constant");
                Err(Cause::new(what, "sizes that depend on the packet are not supported yet"))
            }
        }
    }

    /// Whether a function of the object makes metadata in front of the packet: it may run before,
    /// if only through tail calls.
    pub(super) fn uses_metadata(&self) -> bool {
        let call = crate::insn::Insn::Call(crate::insn::Call::Helper(helper::XDP_ADJUST_META));
        let mut codes = self.object.functions.iter().map(|function| &function.code);
        self.starts_with_metadata()
            || codes.any(|code| code.as_ref().is_ok_and(|code| code.contains(&call)))
    }

    /// Whether packets may have metadata when they arrive: another program has run before those
    /// that run on the way through a cpumap or devmap.
    pub(super) fn starts_with_metadata(&self) -> bool {
        let section = &self.units[0].program.section;
        ["/cpumap", "/devmap", "_cpumap", "_devmap"].iter().any(|kind| section.contains(kind))
    }
}

/// The place behind an instruction.
pub(super) fn behind(at: Place) -> Place {
    Place { slot: at.slot + 1, phase: Phase::Start, ..at }
}
