//! The calls that a run makes, in order, with what they are given: for comparing two programs.
//!
//! A call of a helper whose effect is not all in the packet and in maps leaves its number and its
//! arguments in a region of their own ([`crate::lift::Layout::calls`]), and of memory that it reads
//! the content. Nothing is left of calls whose effect shows elsewhere, and of those that only ask
//! for the time, a random number, or where the program runs. A call of which not all is known that
//! it reads makes the run rely on it ([`slowpath_ir::Op::Rely`]), with a sentence that says so.
//!
//! Atomic operations on memory that others see leave what they do, too: a load and a store are
//! something else.

use slowpath_ir::{Emit, Operand};

use crate::insn::{Insn, encode, helper};
use crate::lift::error::Cause;
use crate::lift::ir::emit::word;
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;
use crate::lift::linked_code;
use crate::lift::state::value::AbstractValue;

/// Most bytes behind a pointer that are recorded.
const MOST: u32 = 512;

/// An argument, by the number of its register.
#[derive(Clone, Copy)]
enum Argument {
    /// The low 32 bits.
    Low(u8),
    /// All 64 bits: numbers, maps, addresses in maps and of objects of the kernel.
    Whole(u8),
    /// So many bytes behind an address.
    Bytes(u8, u32),
    /// As many bytes behind an address as another register says.
    Sized(u8, u8),
}

use Argument::{Bytes, Low, Sized, Whole};

/// What is left of a call.
enum Recorded {
    /// Nothing.
    Not,
    /// Its number and these arguments.
    With(&'static [Argument]),
    /// Its effect is not known.
    Unknown,
}

/// Helpers that are recorded, with what they are given, by name; `struct bpf_func_proto` of each
/// (Linux 6.18).
#[rustfmt::skip]
const RECORDED: &[(i32, &[Argument])] = &[
    (helper::TAIL_CALL, &[Whole(2), Low(3)]),
    (helper::REDIRECT, &[Low(1), Whole(2)]),
    (helper::PERF_EVENT_OUTPUT, &[Whole(2), Whole(3), Sized(4, 5)]),
    (helper::REDIRECT_MAP, &[Whole(1), Low(2), Whole(3)]),
    (helper::number("bpf_fib_lookup"), &[Sized(2, 3), Low(3), Low(4)]),
    (helper::number("bpf_sk_lookup_tcp"), &[Sized(2, 3), Low(3), Whole(4), Whole(5)]),
    (helper::number("bpf_sk_lookup_udp"), &[Sized(2, 3), Low(3), Whole(4), Whole(5)]),
    (helper::number("bpf_sk_release"), &[Whole(1)]),
    (helper::number("bpf_spin_lock"), &[Whole(1)]),
    (helper::number("bpf_spin_unlock"), &[Whole(1)]),
    (helper::number("bpf_sk_fullsock"), &[Whole(1)]),
    (helper::number("bpf_tcp_sock"), &[Whole(1)]),
    (helper::number("bpf_get_listener_sock"), &[Whole(1)]),
    (helper::number("bpf_skc_lookup_tcp"), &[Sized(2, 3), Low(3), Whole(4), Whole(5)]),
    (helper::number("bpf_tcp_check_syncookie"), &[Whole(1), Sized(2, 3), Low(3), Sized(4, 5), Low(5)]),
    (helper::number("bpf_tcp_gen_syncookie"), &[Whole(1), Sized(2, 3), Low(3), Sized(4, 5), Low(5)]),
    (helper::number("bpf_ringbuf_output"), &[Whole(1), Sized(2, 3), Whole(3), Whole(4)]),
    (helper::RINGBUF_RESERVE, &[Whole(1), Whole(2), Whole(3)]),
    (helper::RINGBUF_SUBMIT, &[Whole(1), Whole(2)]),
    (helper::number("bpf_ringbuf_discard"), &[Whole(1), Whole(2)]),
    (helper::number("bpf_ringbuf_query"), &[Whole(1), Whole(2)]),
    (helper::number("bpf_check_mtu"), &[Low(2), Bytes(3, 4), Low(4), Whole(5)]),
    (helper::number("bpf_tcp_raw_gen_syncookie_ipv4"), &[Bytes(1, 20), Sized(2, 3), Low(3)]),
    (helper::number("bpf_tcp_raw_gen_syncookie_ipv6"), &[Bytes(1, 40), Sized(2, 3), Low(3)]),
    (helper::number("bpf_tcp_raw_check_syncookie_ipv4"), &[Bytes(1, 20), Bytes(2, 20)]),
    (helper::number("bpf_tcp_raw_check_syncookie_ipv6"), &[Bytes(1, 40), Bytes(2, 20)]),
];

/// What `bpf_trace_printk` is given, with as many arguments as its format asks for.
const PRINTED: [Argument; 5] = [Sized(1, 2), Low(2), Whole(3), Whole(4), Whole(5)];

/// Helpers whose effect is all in the packet and in maps, and those without effect whose result
/// depends on nothing that they are given.
const UNRECORDED: &[i32] = &[
    helper::KTIME_GET_NS,
    helper::GET_PRANDOM_U32,
    helper::number("bpf_get_smp_processor_id"),
    helper::CSUM_DIFF,
    helper::number("bpf_get_numa_node_id"),
    helper::XDP_ADJUST_HEAD,
    helper::XDP_ADJUST_META,
    helper::XDP_ADJUST_TAIL,
    helper::MAP_PUSH_ELEM,
    helper::MAP_POP_ELEM,
    helper::MAP_PEEK_ELEM,
    helper::number("bpf_jiffies64"),
    helper::number("bpf_ktime_get_boot_ns"),
    helper::number("bpf_ktime_get_coarse_ns"),
    helper::number("bpf_ktime_get_tai_ns"),
    helper::FOR_EACH_MAP_ELEM,
    helper::LOOP,
    helper::XDP_GET_BUFF_LEN,
    helper::XDP_LOAD_BYTES,
    helper::XDP_STORE_BYTES,
];

fn recorded(number: i32) -> Recorded {
    if UNRECORDED.contains(&number) {
        return Recorded::Not;
    }
    let found = RECORDED.iter().find(|(known, _)| *known == number);
    found.map_or(Recorded::Unknown, |(_, arguments)| Recorded::With(arguments))
}

impl Lifter<'_> {
    /// Records a call of a helper that is about to be lifted, if calls are recorded.
    pub(super) fn record_call(&mut self, number: i32) -> Result<(), Cause> {
        if !self.options.records_calls {
            return Ok(());
        }
        if let helper::MAP_LOOKUP_ELEM | helper::MAP_UPDATE_ELEM | helper::MAP_DELETE_ELEM = number
        {
            // Maps that evict note which elements were used last.
            let map = self.map_in(1)?;
            if map.evicts() {
                let key = map.def.key_size;
                self.record(number, &[Whole(1), Bytes(2, key)]);
            }
            return Ok(());
        }
        match recorded(number) {
            Recorded::Not => {}
            Recorded::With(arguments) => {
                self.record(number, arguments);
                if number == helper::PERF_EVENT_OUTPUT {
                    self.rely_on_no_packet();
                }
            }
            Recorded::Unknown if number == helper::number("bpf_trace_printk") => {
                match self.printed_arguments() {
                    Some(count) => self.record(number, &PRINTED[..2 + count]),
                    None => self.rely_on_equal(&linked_code::name(number)),
                }
            }
            Recorded::Unknown => {
                let name = linked_code::name(number);
                self.rely_on_equal(&name);
            }
        }
        Ok(())
    }

    /// How many arguments `bpf_trace_printk` takes behind its format, if that is constant and they
    /// are all numbers.
    fn printed_arguments(&self) -> Option<usize> {
        let AbstractValue::Data { map, offset } = self.state.regs[1] else { return None };
        let def = self.object.maps.get(map as usize).filter(|def| def.read_only)?;
        let start = usize::try_from(offset).ok()?;
        let size = usize::try_from(self.constant_size(2).ok()?).ok()?;
        let text = def.initial.as_ref()?.get(start..start.checked_add(size)?)?;
        let mut bytes = text.iter();
        let mut count = 0;
        while let Some(byte) = bytes.next() {
            if *byte != b'%' {
                continue;
            }
            let kind = bytes.find(|byte| !b"0123456789-+ .lh".contains(byte))?;
            match kind {
                b'%' => {}
                b'd' | b'i' | b'u' | b'x' | b'X' | b'c' => count += 1,
                // Behind the others there may be memory.
                _ => return None,
            }
        }
        (count <= PRINTED.len() - 2).then_some(count)
    }

    /// Records an atomic operation on memory of which this is known.
    pub(in crate::lift) fn record_atomic(
        &mut self,
        insn: Insn,
        address: Operand,
        place: AbstractValue,
    ) {
        /// No helper has this number.
        const ATOMIC: u64 = 1 << 32;
        if !self.options.records_calls || matches!(place, AbstractValue::Frame { .. }) {
            return;
        }
        // The operation, without registers.
        let bytes = encode(&[insn]);
        let [opcode, _, _, _, rest @ ..] = bytes.as_slice() else { return };
        let operation =
            rest.iter().fold(u64::from(*opcode), |word, &byte| word << 8 | u64::from(byte));
        self.leave_words(&[word(ATOMIC), word(operation), address]);
    }

    /// Notes that what a call does is not recorded.
    pub(in crate::lift) fn rely_on_equal(&mut self, name: &str) {
        if self.options.records_calls {
            let sentence = format!("what {name} does, or returns, is not compared");
            self.rely(Operand::constant(1, 1), sentence);
        }
    }

    /// What `bpf_perf_event_output` copies of the packet is not recorded.
    fn rely_on_no_packet(&mut self) {
        /// `BPF_F_CTXLEN_MASK`.
        const LENGTH: u64 = 0xf_ffff << 32;
        let flags = self.ir.value(3);
        let emit = &mut self.ir.emit;
        let bytes = emit.and(flags, word(LENGTH));
        let none = emit.eq(bytes, word(0));
        let some = emit.not(none);
        let sentence = "what bpf_perf_event_output copies of the packet is not compared";
        self.rely(some, sentence.to_owned());
    }

    fn record(&mut self, number: i32, arguments: &[Argument]) {
        let mut words = vec![word(number as u32 as u64)];
        for &argument in arguments {
            match argument {
                Whole(register) => words.push(self.ir.value(register)),
                Low(register) => {
                    let value = self.ir.value(register);
                    let emit = &mut self.ir.emit;
                    let low = emit.extract(value, 0, 32);
                    words.push(emit.zero_extend(low, 64));
                }
                Bytes(register, bytes) => self.record_bytes(number, register, bytes, &mut words),
                Sized(register, size) => match self.constant_size(size) {
                    Ok(bytes) => self.record_bytes(number, register, bytes, &mut words),
                    Err(_) => self.record_some(number, (register, size), &mut words),
                },
            }
        }
        self.leave_words(&words);
    }

    /// Leaves words behind those of the calls before.
    fn leave_words(&mut self, words: &[Operand]) {
        let Some(region) = self.ir.calls else { return };
        let base = self.ir.base(region);
        let next = self.ir.start_zero("bytes of calls", 64);
        let emit = &mut self.ir.emit;
        let start = emit.add(base, next);
        for (place, &value) in (1..).zip(words) {
            let address = emit.add(start, word(8 * place));
            emit.store(address, value);
        }
        let end = emit.add(next, word(8 * words.len() as u64));
        emit.copy(next, end);
        emit.store(base, next);
    }

    fn record_bytes(&mut self, number: i32, register: u8, bytes: u32, words: &mut Vec<Operand>) {
        if bytes > MOST {
            self.rely_on_equal(&linked_code::name(number));
            return;
        }
        let address = self.ir.value(register);
        for (offset, size) in chunks(bytes) {
            let emit = &mut self.ir.emit;
            let place = emit.add(address, word(offset));
            let value = emit.load(place, size);
            words.push(emit.zero_extend(value, 64));
        }
    }

    /// As many bytes as another register says, if they are in a small buffer.
    fn record_some(&mut self, number: i32, (register, size): (u8, u8), words: &mut Vec<Operand>) {
        let Some(most) = self.room_at(register).filter(|&most| most <= MOST) else {
            self.rely_on_equal(&linked_code::name(number));
            return;
        };
        let (address, size) = (self.ir.value(register), self.ir.value(size));
        let emit = &mut self.ir.emit;
        let size = emit.extract(size, 0, 32);
        words.push(emit.zero_extend(size, 64));
        for offset in 0..u64::from(most) {
            let place = emit.add(address, word(offset));
            let byte = emit.load(place, 1);
            let inside = emit.ult(Operand::constant(32, offset), size);
            let byte = emit.select(inside, byte, Operand::constant(8, 0));
            words.push(emit.zero_extend(byte, 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lift::helpers::table::{HELPERS, Lift};

    /// Helpers whose calls cannot be compared, so that a path with one is not proved.
    const NOT_COMPARED: [&str; 3] = ["bpf_probe_read_kernel", "bpf_snprintf", "bpf_trace_vprintk"];

    #[test]
    fn every_helper_is_recorded_or_needs_not_be() {
        let elsewhere = [
            helper::MAP_LOOKUP_ELEM,
            helper::MAP_UPDATE_ELEM,
            helper::MAP_DELETE_ELEM,
            helper::number("bpf_trace_printk"),
        ];
        let mut unknown = Vec::new();
        for known in HELPERS.iter().filter(|known| !matches!(known.lift, Lift::Refused(_))) {
            let in_both = UNRECORDED.contains(&known.number)
                && RECORDED.iter().any(|(number, _)| *number == known.number);
            assert!(!in_both, "{}", linked_code::name(known.number));
            if matches!(recorded(known.number), Recorded::Unknown)
                && !elsewhere.contains(&known.number)
            {
                unknown.push(linked_code::name(known.number));
            }
        }
        assert_eq!(unknown, NOT_COMPARED);
    }
}
