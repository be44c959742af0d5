//! Lifts the helpers of programs with a `struct __sk_buff` that leave the packet's bytes alone: they
//! query or set fields, redirect packets, and look up routes (`net/core/filter.c` of Linux 6.18).

use slowpath_ir::{BinaryOp, Emit, Operand, ValueFormat};

use super::environment::returns;
use super::routing;
use crate::context::Content;
use crate::errno::{
    EACCES, EINVAL, ENETUNREACH, ENODEV, ENOENT, ENOMEM, ENOTSUPP, EOPNOTSUPP, EPROTO,
    ESOCKTNOSUPPORT,
};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::call_results::{NUMBER, RETURNED};
use crate::lift::ir::emit::{errno, word};
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

type Lifted = Result<(), Cause>;

/// `TC_ACT_SHOT`: the return value of helpers that redirect packets, for wrong arguments.
const SHOT: u64 = 2;
/// `TC_ACT_REDIRECT`: the return value of helpers that redirect packets, on success.
const REDIRECT: u64 = 7;
/// `BPF_F_INGRESS`: flag with which a packet is redirected to the receive path of the device.
const INGRESS: u64 = 1;
/// Largest type of packets that programs can set (`skb_pkt_type_ok`).
const OTHERHOST: u64 = 3;

impl Lifter<'_> {
    /// Returns the address of a context field, and the range of numbers that it can contain.
    ///
    /// # Panics
    /// If the context lacks the field, which is an error in the tables.
    pub(super) fn context_field(&mut self, name: &str) -> (Operand, (u64, u64)) {
        let field = self.program_type.field(name).expect("a field of the context");
        let range = match field.content {
            Content::Number(least, most) => (least, most),
            _ => (0, u64::MAX >> (64 - 8 * u32::from(field.bytes))),
        };
        (self.context_address(field.offset), range)
    }

    /// Loads the number in a 4-byte field of the context.
    pub(super) fn load_field(&mut self, name: &str) -> Operand {
        let (address, _) = self.context_field(name);
        self.ir.emit.load(address, 4)
    }

    /// Sets a 4-byte field of the context to a 32-bit number, if `cond` is set.
    pub(super) fn store_field_if(&mut self, cond: Operand, name: &str, value: Operand) {
        let (address, _) = self.context_field(name);
        self.ir.emit.store_if(cond, address, value);
    }

    /// Sets a field of the context to an unknown number in the field's range, if `cond` is set.
    pub(super) fn forget_field_if(&mut self, cond: Operand, name: &str) {
        let (address, range) = self.context_field(name);
        let bytes = self.program_type.field(name).map_or(4, |field| field.bytes);
        let any = self.ir.emit.draw_between(name, ValueFormat::Number, 8 * bytes, range);
        self.ir.emit.store_if(cond, address, any);
    }

    /// Returns the low 32 bits of an argument register.
    pub(super) fn low32(&mut self, register: u8) -> Operand {
        let value = self.ir.value(register);
        self.ir.emit.extract(value, 0, 32)
    }

    /// Returns the low 32 bits of an argument register, zero-extended to 64 bits.
    pub(super) fn unsigned32(&mut self, register: u8) -> Operand {
        let low = self.low32(register);
        self.ir.emit.zero_extend(low, 64)
    }
}

const ALWAYS: Operand = Operand::Const { width: 1, value: 1 };

/// Lifts a helper that returns any 32-bit number.
pub(super) fn number32(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let value = lifter.ir.emit.draw(RETURNED, ValueFormat::Number, 64, u32::MAX.into());
    lifter.result(value, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_skb_set_tunnel_key(skb, key, size, flags)`.
pub(super) fn zero_or_invalid(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    returns(lifter, at, &[0, -EINVAL])
}

/// Lifts `bpf_sk_assign(skb, sk, flags)`.
pub(super) fn assign_socket(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    returns(lifter, at, &[0, -EINVAL, -ENOENT, -EOPNOTSUPP, -ENETUNREACH, -ESOCKTNOSUPPORT])
}

/// Lifts `bpf_skb_set_tunnel_opt(skb, options, size)`.
pub(super) fn set_tunnel_options(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    returns(lifter, at, &[0, -EINVAL, -ENOMEM])
}

/// Lifts `bpf_csum_level(skb, level)`.
pub(super) fn csum_level(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    returns(lifter, at, &[0, 1, 2, 3, -EACCES, -EINVAL])
}

/// Lifts `bpf_csum_update(skb, csum)`.
pub(super) fn csum_update(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let sum = lifter.ir.emit.draw(NUMBER, ValueFormat::Number, 64, u32::MAX.into());
    let result = lifter.number_or_error(sum, &[0, -ENOTSUPP]);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Writes `size` bytes at the address in `r2`: unknown values if `fine` is set, otherwise zeros.
/// Reports call the unknown values `what`.
fn write_or_clear(lifter: &mut Lifter<'_>, fine: Operand, size: u32, what: &str) {
    let (buffer, known) = (lifter.ir.value(2), lifter.state.regs[2]);
    for (offset, bytes) in chunks(size) {
        let address = lifter.ir.emit.add(buffer, word(offset));
        lifter.ir.emit.store(address, Operand::constant(8 * bytes, 0));
    }
    lifter.havoc_if(fine, buffer, size, what);
    lifter.state.clobber(known);
}

/// Lifts `bpf_skb_get_tunnel_key(skb, key, size, flags)`.
pub(super) fn tunnel_key(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let size = lifter.constant_size(3)?;
    let result = lifter.one_of(&[0, -EINVAL, -EPROTO]);
    let fine = lifter.ir.emit.eq(result, word(0));
    write_or_clear(lifter, fine, size, "key");
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_skb_get_tunnel_opt(skb, options, size)`.
pub(super) fn tunnel_options(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let size = lifter.constant_size(3)?;
    let number = lifter.ir.emit.draw(NUMBER, ValueFormat::Number, 64, size.into());
    let error = lifter.error_of(&[0, -ENOENT, -ENOMEM]);
    let fine = lifter.ir.emit.eq(error, word(0));
    let result = lifter.ir.emit.select(fine, number, error);
    write_or_clear(lifter, fine, size, "options");
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_skb_change_type(skb, type)`.
pub(super) fn change_type(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let old = lifter.load_field("pkt_type");
    let new = lifter.low32(2);
    let limit = Operand::constant(32, OTHERHOST + 1);
    let emit = &mut lifter.ir.emit;
    let (old_fits, new_fits) = (emit.ult(old, limit), emit.ult(new, limit));
    let ok = emit.and(old_fits, new_fits);
    lifter.store_field_if(ok, "pkt_type", new);
    let result = lifter.ir.emit.select(ok, word(0), errno(EINVAL));
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_get_hash_recalc(skb)`, which returns the hash and stores it in the context field
/// `hash`.
pub(super) fn recalculated_hash(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let hash = lifter.ir.emit.draw(RETURNED, ValueFormat::Number, 32, u32::MAX.into());
    lifter.store_field_if(ALWAYS, "hash", hash);
    let result = lifter.ir.emit.zero_extend(hash, 64);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_set_hash_invalid(skb)`.
pub(super) fn invalid_hash(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    lifter.store_field_if(ALWAYS, "hash", Operand::constant(32, 0));
    lifter.result(word(0), AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_set_hash(skb, hash)`.
pub(super) fn set_hash(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let hash = lifter.low32(2);
    lifter.store_field_if(ALWAYS, "hash", hash);
    lifter.result(word(0), AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_skb_set_tstamp(skb, tstamp, type)`. Afterwards, the field `tstamp` has an unknown
/// value: at ingress and depending on the type, programs do not read the value that was set.
pub(super) fn set_tstamp(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let result = lifter.one_of(&[0, -EINVAL, -EOPNOTSUPP]);
    let fine = lifter.ir.emit.eq(result, word(0));
    lifter.forget_field_if(fine, "tstamp");
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Sets `r0` to the result of a redirect: `TC_ACT_REDIRECT` if `right` is set because the arguments
/// are valid, otherwise `TC_ACT_SHOT`.
fn redirected(lifter: &mut Lifter<'_>, right: Operand) -> Lifted {
    let result = lifter.ir.emit.select(right, word(REDIRECT), word(SHOT));
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_redirect(ifindex, flags)`.
pub(super) fn redirect(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let flags = lifter.ir.value(2);
    let emit = &mut lifter.ir.emit;
    let others = emit.and(flags, word(!INGRESS));
    let right = emit.eq(others, word(0));
    redirected(lifter, right)
}

/// Lifts `bpf_redirect_peer(ifindex, flags)`.
pub(super) fn redirect_peer(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let flags = lifter.ir.value(2);
    let right = lifter.ir.emit.eq(flags, word(0));
    redirected(lifter, right)
}

/// Lifts `bpf_redirect_neigh(ifindex, params, plen, flags)`.
pub(super) fn redirect_neigh(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    /// `sizeof(struct bpf_redir_neigh)`, in bytes.
    const PARAMS: u64 = 20;
    lifter.call_cost(at, None);
    let (length, flags) = (lifter.low32(3), lifter.ir.value(4));
    let emit = &mut lifter.ir.emit;
    let none = emit.eq(length, Operand::constant(32, 0));
    // The verifier accepts no negative length.
    let short = emit.ult(length, Operand::constant(32, PARAMS));
    let enough = emit.not(short);
    let fits = emit.or(none, enough);
    let no_flags = emit.eq(flags, word(0));
    let right = emit.and(fits, no_flags);
    redirected(lifter, right)
}

/// Lifts `bpf_fib_lookup(skb, params, plen, flags)` (`bpf_skb_fib_lookup`).
pub(super) fn fib_lookup(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    routing::fib_lookup(lifter, at)
}

/// Lifts `bpf_check_mtu(skb, ifindex, mtu_len, len_diff, flags)` (`bpf_skb_check_mtu`).
pub(super) fn check_mtu(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    /// Results of the call. 1 is `BPF_MTU_CHK_RET_FRAG_NEEDED`, 2 is `BPF_MTU_CHK_RET_SEGS_TOOBIG`.
    const RESULTS: &[i64] = &[0, 1, 2, -EINVAL, -ENODEV];
    lifter.call_cost(at, None);
    let (place, known) = (lifter.ir.value(3), lifter.state.regs[3]);
    let result = lifter.one_of(RESULTS);
    let emit = &mut lifter.ir.emit;
    let failed = emit.binary(BinaryOp::Slt, result, word(0));
    let fine = emit.not(failed);
    let mtu = emit.draw("mtu_len", ValueFormat::Number, 32, i32::MAX as u64);
    emit.store_if(fine, place, mtu);
    lifter.state.clobber(known);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}
