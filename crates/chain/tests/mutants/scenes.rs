//! Small programs, each with facts about packets for which one of the passes can change the
//! program.

use slowpath_ir::{Field, KnownBits, PacketFacts};
use slowpath_specialise::Mode;
use std::collections::BTreeSet;

/// A small program for a test, and the facts about packets that it is rewritten for.
pub struct Scene {
    pub text: String,
    pub facts: PacketFacts,
    pub mode: Mode,
}

impl Scene {
    pub fn guarded(self) -> Scene {
        Scene { mode: Mode::Guard, ..self }
    }
}

/// Returns a program that drops packets shorter than `bytes` bytes, and otherwise executes `text`.
/// There, `r2` and `r3` are the packet's start and end, and `r4` points to the end of the checked
/// bytes.
fn checked(bytes: u16, text: &str) -> String {
    format!(
        "r2 = *(u32 *)(r1 +0)
        r3 = *(u32 *)(r1 +4)
        r4 = r2
        r4 += {bytes}
        if r4 > r3 goto drop
        {text}
        drop:
        r0 = 1
        exit"
    )
}

/// Returns a program with facts about packets: they have at least `min_length` bytes, and `bytes`
/// lists known bytes by offset.
fn scene(text: String, min_length: u16, bytes: &[(u16, u8)]) -> Scene {
    let mut facts = PacketFacts::lengths(min_length, 100);
    facts.bits.extend(bytes.iter().map(|&(offset, byte)| (offset, KnownBits::all(byte))));
    Scene { text, facts, mode: Mode::Trust }
}

/// Returns a program whose result is a known byte.
pub fn constant() -> Scene {
    scene(checked(14, "r0 = *(u8 *)(r2 +12)\nexit"), 14, &[(12, 0x86)])
}

/// Returns a program that loads one byte twice, and another byte once.
pub fn loads() -> Scene {
    let text = "
        r5 = *(u8 *)(r2 +20)
        r6 = *(u8 *)(r2 +20)
        r0 = *(u8 *)(r2 +21)
        r0 ^= r6
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program that lets only TCP over IPv6 pass.
pub fn parser() -> Scene {
    let text = "
        r5 = *(u16 *)(r2 +12)
        r5 = be16 r5
        if r5 != 0x86dd goto drop
        r5 = *(u8 *)(r2 +20)
        if r5 != 6 goto drop
        r0 = *(u8 *)(r2 +30)
        r0 &= 1
        r0 += r9
        exit";
    scene(format!("r9 = 2\n{}", checked(34, text)), 34, &[(12, 0x86), (13, 0xdd), (20, 6)])
}

/// Returns a program that distinguishes two protocols; all packets have one of them.
pub fn protocols() -> Scene {
    let text = "
        r5 = *(u8 *)(r2 +20)
        if r5 == 6 goto six
        if r5 == 17 goto seventeen
        r0 = 1
        exit
        six:
        r0 = 2
        exit
        seventeen:
        r0 = 3
        exit";
    let mut scene = scene(checked(34, text), 34, &[]);
    scene.facts.values.insert(Field { offset: 20, bytes: 1 }, BTreeSet::from([6, 17]));
    scene
}

/// Returns a program that compares a field with numbers: first with its bytes swapped, then
/// unchanged.
pub fn swapped() -> Scene {
    let text = "
        r5 = *(u16 *)(r2 +20)
        r6 = r5
        r6 = be16 r6
        if r6 != 0x100 goto drop
        r0 = 2
        if r5 == 1 goto done
        r0 = 3
        done:
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program with a bounds check that the shortest packets fail by one byte.
pub fn short() -> Scene {
    scene(checked(34, "r0 = *(u8 *)(r2 +20)\nexit"), 33, &[])
}

/// Returns a program with a bounds check that all packets pass; the shortest packets have exactly
/// the required length.
pub fn long() -> Scene {
    scene(checked(34, "r0 = *(u8 *)(r2 +20)\nexit"), 34, &[])
}

/// Returns a program that changes a register after it was copied.
pub fn copy() -> Scene {
    let text = "
        r5 = *(u8 *)(r2 +20)
        r6 = r5
        r5 += 1
        *(u8 *)(r2 +0) = r5
        r0 = r6
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program that adds a number of more than 32 bits.
pub fn wide() -> Scene {
    let text = "
        r5 = 0x500000007 ll
        r6 = *(u8 *)(r2 +20)
        r6 <<= 32
        r6 += r5
        r6 >>= 32
        r0 = r6
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program that reads through a pointer to a byte after the packet's start.
pub fn header() -> Scene {
    scene(checked(34, "r5 = r2\nr5 += 14\nr0 = *(u8 *)(r5 +6)\nexit"), 14, &[])
}

/// Returns a program that checks a second header after the first one.
pub fn headers() -> Scene {
    let text = "
        r5 = r4
        r5 += 8
        if r5 > r3 goto drop
        r0 = *(u8 *)(r2 +41)
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program that writes to the packet.
pub fn writer() -> Scene {
    scene(checked(14, "*(u8 *)(r2 +0) = 1\nr0 = 2\nexit"), 14, &[])
}

/// Returns a program that passes a value on the stack to a helper (`bpf_csum_diff`).
pub fn argument() -> Scene {
    let text = "
        r5 = *(u8 *)(r2 +20)
        *(u32 *)(r10 -4) = r5
        r1 = 0
        r2 = 0
        r3 = r10
        r3 += -4
        r4 = 4
        r5 = 0
        call 28
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program that writes a value to the stack, overwrites one of its bytes, and then reads
/// this byte together with another one.
pub fn spill() -> Scene {
    let text = "
        r5 = *(u64 *)(r2 +20)
        r6 = *(u8 *)(r2 +30)
        *(u64 *)(r10 -8) = r5
        *(u8 *)(r10 -7) = r6
        r0 = *(u16 *)(r10 -8)
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program in which two paths set a register to different numbers and then merge, so that
/// the register has few possible values.
pub fn meeting() -> Scene {
    let text = "
        r5 = *(u8 *)(r2 +20)
        r6 = 3
        if r5 > 7 goto meet
        r6 = 5
        meet:
        r0 = *(u8 *)(r2 +21)
        r0 += r6
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program in which two paths merge before a branch whose outcome each of the paths
/// determines.
pub fn diamond() -> Scene {
    let text = "
        r5 = *(u8 *)(r2 +20)
        r6 = 1
        if r5 > 7 goto meet
        r6 = 2
        meet:
        r5 += 1
        if r6 == 1 goto one
        r0 = r5
        exit
        one:
        r0 = 300
        r0 += r5
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program that jumps to a block with one instruction.
pub fn steps() -> Scene {
    let text = "
        *(u8 *)(r2 +0) = 7
        r0 = *(u8 *)(r2 +20)
        if r0 > 7 goto more
        r0 += 1
        goto last
        more:
        r0 += 2
        last:
        r0 ^= 1
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program with a loop that adds 2; a known byte is the number of iterations.
pub fn rounds() -> Scene {
    let text = "
        r7 = *(u8 *)(r2 +20)
        r6 = 0
        r0 = 0
        again:
        if r6 >= r7 goto out
        r0 += 2
        r6 += 1
        goto again
        out:
        r5 = *(u8 *)(r2 +21)
        r0 += r5
        exit";
    scene(checked(34, text), 34, &[(20, 3)])
}

/// Returns a program with two bounds checks. All packets pass both; the shortest packets have the
/// exact length that the second check requires.
pub fn checks() -> Scene {
    let text = "
        r0 = *(u8 *)(r2 +13)
        r5 = r2
        r5 += 34
        if r5 > r3 goto drop
        r0 = *(u8 *)(r2 +33)
        exit";
    scene(checked(14, text), 34, &[])
}

/// Returns a program with two bounds checks, the second of which requires one more byte. All
/// packets pass both.
pub fn further() -> Scene {
    let text = "
        r5 = r2
        r5 += 35
        if r5 > r3 goto drop
        r0 = *(u8 *)(r2 +34)
        exit";
    scene(checked(34, text), 35, &[])
}

/// Returns a program that reads a byte before and after it overwrites the byte.
pub fn overwritten() -> Scene {
    let text = "
        r5 = *(u8 *)(r2 +20)
        r6 = *(u8 *)(r2 +21)
        *(u8 *)(r2 +20) = r6
        r0 = *(u8 *)(r2 +20)
        r0 -= r5
        exit";
    scene(checked(34, text), 14, &[])
}

/// Returns a program in which a helper (`bpf_xdp_load_bytes`) writes to the stack.
pub fn received() -> Scene {
    let text = "
        *(u64 *)(r10 -8) = 0
        r2 = 10
        r3 = r10
        r3 += -8
        r4 = 4
        call 189
        r0 = *(u8 *)(r10 -8)
        exit";
    scene(text.to_owned(), 14, &[])
}

/// Returns a program in which a helper (`bpf_xdp_adjust_head`) removes the first bytes of the
/// packet.
pub fn moved() -> Scene {
    let text = checked(14, "r0 = *(u8 *)(r2 +12)\nexit");
    let text = format!("r6 = r1\nr2 = 20\ncall 44\n{}", text.replace("(r1 ", "(r6 "));
    scene(text, 54, &[(12, 0x86)])
}

/// Returns a program in which a helper (`bpf_xdp_adjust_head`) extends the packet at its start by
/// one byte more than the headroom.
pub fn outwards() -> Scene {
    let text = "
        r2 = -217
        call 44
        if r0 != 0 goto fails
        r0 = 2
        exit
        fails:
        r0 = 1
        exit";
    scene(text.to_owned(), 54, &[])
}
