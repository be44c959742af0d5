//! Records the calls that a run makes, in order and with their arguments, so that two programs can
//! be compared.
//!
//! A helper may have effects outside the packet and the maps. The lifted program stores each call
//! of such a helper in a separate region ([`crate::lift::Layout::calls`]). A record of a call
//! contains the helper's number, the arguments, and the memory that the helper reads. Calls of
//! helpers without such effects are not recorded, nor are queries of the time, of a random number,
//! or of the CPU. If a call may read memory that is not recorded, the run relies on equal calls in
//! both programs ([`slowpath_ir::Op::Rely`]). A sentence in the result states this.
//!
//! Atomic operations on shared memory are recorded as well: a separate load and store would not be
//! equivalent.

use slowpath_ir::{Emit, Operand};

use crate::insn::{Insn, encode, helper};
use crate::lift::error::Cause;
use crate::lift::helpers::printk_format::{PrintedArgument, RuntimeFormat, printed_arguments};
use crate::lift::ir::emit::word;
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;
use crate::lift::linked_code;
use crate::lift::state::value::AbstractValue;

/// Maximum number of bytes that are recorded for one pointer argument of a call.
const MOST: u32 = 512;

/// An argument of a helper call that is recorded. The first field of each variant is the number of
/// the argument register.
#[derive(Clone, Copy)]
enum Argument {
    /// The low 32 bits of the register.
    Low(u8),
    /// All 64 bits of the register: a number, a map, or the address of a map value or kernel
    /// object.
    Whole(u8),
    /// The memory at the address in the register. The second field is its number of bytes.
    Bytes(u8, u32),
    /// The memory at the address in the first register. The second register contains its number of
    /// bytes.
    Sized(u8, u8),
}

use Argument::{Bytes, Low, Sized, Whole};

/// The data that the record of a call contains.
enum Recorded {
    /// Nothing, because the call needs no record.
    Not,
    /// The helper's number and these arguments.
    With(&'static [Argument]),
    /// Unknown, because the effect of the call is not modelled.
    Unknown,
}

/// Helpers whose calls are recorded, with the recorded arguments, sorted by number (`struct
/// bpf_func_proto` of each helper, Linux 6.18).
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

/// Arguments from which the format string of `bpf_trace_printk` and `bpf_trace_vprintk` is
/// recorded: its bytes and its size.
const FORMAT: [Argument; 2] = [Sized(1, 2), Low(2)];
/// Argument register of `bpf_trace_printk` for the first value that the format prints.
const FIRST_PRINTED: u8 = 3;
/// Maximum number of values that a call of `bpf_trace_printk` prints.
const PRINTED: usize = 3;

/// Helpers that need no record. All their effects are in the packet and in maps, or they have no
/// effects and a result that does not depend on the arguments.
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
    helper::number("bpf_strncmp"),
    helper::XDP_GET_BUFF_LEN,
    helper::XDP_LOAD_BYTES,
    helper::XDP_STORE_BYTES,
];

fn not_compared(name: &str) -> String {
    format!("effects and results of {name} are not compared")
}

fn recorded(number: i32) -> Recorded {
    if UNRECORDED.contains(&number) {
        return Recorded::Not;
    }
    let found = RECORDED.iter().find(|(known, _)| *known == number);
    found.map_or(Recorded::Unknown, |(_, arguments)| Recorded::With(arguments))
}

impl Lifter<'_> {
    /// Records the helper call that is about to be lifted, if calls are recorded.
    pub(super) fn record_call(&mut self, number: i32) -> Result<(), Cause> {
        if !self.options.records_calls {
            return Ok(());
        }
        if let helper::MAP_LOOKUP_ELEM | helper::MAP_UPDATE_ELEM | helper::MAP_DELETE_ELEM = number
        {
            // A lookup in an LRU map also changes the order of eviction.
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
                self.record_printed();
            }
            Recorded::Unknown if number == helper::number("bpf_trace_vprintk") => {
                self.record_printed_array();
            }
            Recorded::Unknown => {
                let name = linked_code::name(number);
                self.rely_on_equal(&name);
            }
        }
        Ok(())
    }

    /// Records a call of `bpf_trace_printk`: the format and at most three printed values.
    fn record_printed(&mut self) {
        const NUMBER: i32 = helper::number("bpf_trace_printk");
        let Some(format) = self.constant_format() else { return self.record_open_format(NUMBER) };
        let arguments = printed_arguments(format).filter(|forms| forms.len() <= PRINTED);
        let arguments: Option<Vec<Argument>> = arguments.and_then(|arguments| {
            let with_registers = (FIRST_PRINTED..).zip(arguments);
            let recorded = with_registers.map(|(register, form)| match form {
                PrintedArgument::Value => Some(Whole(register)),
                PrintedArgument::Memory(bytes) => Some(Bytes(register, bytes)),
                // At equal addresses of constant data, the text is equal.
                PrintedArgument::Text => self.constant_data(register).map(|_| Whole(register)),
            });
            recorded.collect()
        });
        match arguments {
            Some(arguments) => self.record(NUMBER, &[&FORMAT[..], &arguments].concat()),
            None => self.rely_on_equal(&linked_code::name(NUMBER)),
        }
    }

    /// Records a call of `bpf_trace_printk` whose format is not constant data, usually because it
    /// is on the stack.
    fn record_open_format(&mut self, number: i32) {
        let size = self.constant_size(2).ok().filter(|&size| size <= MOST);
        let Some(size) = size else { return self.rely_on_equal(&linked_code::name(number)) };
        let address = self.ir.value(1);
        let format: Vec<Operand> = (0..u64::from(size))
            .map(|offset| {
                let emit = &mut self.ir.emit;
                let place = emit.add(address, word(offset));
                emit.load(place, 1)
            })
            .collect();
        let RuntimeFormat { count, prints_memory } = self.parse_format(&format);
        let available = self.registers_set(FIRST_PRINTED);
        let emit = &mut self.ir.emit;
        let more = emit.ult(word(available), count);
        let incomplete = emit.or(prints_memory, more);
        self.rely(incomplete, not_compared(&linked_code::name(number)));
        let mut words = vec![word(number as u32 as u64), word(size.into()), count];
        for byte in format {
            words.push(self.ir.emit.zero_extend(byte, 64));
        }
        for (before, register) in (0..PRINTED as u64).zip(FIRST_PRINTED..) {
            if before >= available {
                words.push(word(0));
                continue;
            }
            let value = self.ir.value(register);
            let emit = &mut self.ir.emit;
            let printed = emit.ult(word(before), count);
            words.push(emit.select(printed, value, word(0)));
        }
        self.append_words(&words);
    }

    /// Records a call of `bpf_trace_vprintk`, if its array contains only numbers and addresses.
    fn record_printed_array(&mut self) {
        const NUMBER: i32 = helper::number("bpf_trace_vprintk");
        let forms = self.constant_format().and_then(printed_arguments);
        if forms.is_some_and(|forms| forms.iter().all(|form| *form == PrintedArgument::Value)) {
            let array = [Sized(3, 4), Low(4)];
            self.record(NUMBER, &[&FORMAT[..], &array].concat());
        } else {
            self.rely_on_equal(&linked_code::name(NUMBER));
        }
    }

    /// Records an atomic operation. `known` is the abstract value of the address on which it
    /// operates.
    pub(in crate::lift) fn record_atomic(
        &mut self,
        insn: Insn,
        address: Operand,
        known: AbstractValue,
    ) {
        /// Number that marks atomic operations in the record; no helper has this number.
        const ATOMIC: u64 = 1 << 32;
        if !self.options.records_calls || matches!(known, AbstractValue::Frame { .. }) {
            return;
        }
        // The encoded instruction without its register numbers.
        let bytes = encode(&[insn]);
        let [opcode, _, _, _, rest @ ..] = bytes.as_slice() else { return };
        let operation =
            rest.iter().fold(u64::from(*opcode), |word, &byte| word << 8 | u64::from(byte));
        self.append_words(&[word(ATOMIC), word(operation), address]);
    }

    /// Makes the run rely on the assumption that a call of `name`, which is not recorded, has equal
    /// effects and results in both compared programs.
    pub(in crate::lift) fn rely_on_equal(&mut self, name: &str) {
        if self.options.records_calls {
            self.rely(Operand::constant(1, 1), not_compared(name));
        }
    }

    /// Makes the run rely on the assumption that `bpf_perf_event_output` copies no packet bytes,
    /// which are not recorded.
    fn rely_on_no_packet(&mut self) {
        /// `BPF_F_CTXLEN_MASK`: the bits of the flags that hold the number of packet bytes to copy.
        const LENGTH: u64 = 0xf_ffff << 32;
        let flags = self.ir.value(3);
        let emit = &mut self.ir.emit;
        let bytes = emit.and(flags, word(LENGTH));
        let none = emit.eq(bytes, word(0));
        let some = emit.not(none);
        let sentence = "packet bytes that bpf_perf_event_output copies are not compared";
        self.rely_on_packet(some, sentence.to_owned());
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
                    Err(_) => self.record_sized(number, (register, size), &mut words),
                },
            }
        }
        self.append_words(&words);
    }

    /// Appends one call, given as words, to the record of calls.
    fn append_words(&mut self, words: &[Operand]) {
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

    /// Appends the bytes of a small buffer to `words`. The argument register `register` contains
    /// the address, and `size` is the register with the number of bytes.
    fn record_sized(&mut self, number: i32, (register, size): (u8, u8), words: &mut Vec<Operand>) {
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
    use crate::lift::helpers::table::HELPERS;

    /// Helpers whose calls are never recorded. Paths that call them cannot be proved equivalent.
    const NOT_COMPARED: [&str; 6] = [
        "bpf_probe_read_kernel",
        "bpf_snprintf",
        "bpf_timer_init",
        "bpf_timer_set_callback",
        "bpf_timer_start",
        "bpf_timer_cancel",
    ];

    #[test]
    fn every_helper_is_recorded_or_needs_no_record() {
        let elsewhere = [
            helper::MAP_LOOKUP_ELEM,
            helper::MAP_UPDATE_ELEM,
            helper::MAP_DELETE_ELEM,
            helper::number("bpf_trace_printk"),
            helper::number("bpf_trace_vprintk"),
        ];
        let mut unknown = Vec::new();
        for known in HELPERS {
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
