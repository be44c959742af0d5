//! Byte addresses and names of the control registers of a core that the compiler uses.
//!
//! Sources: the public driver (`nfp_asm.h`) for the choice of registers; the BFD disassembler for
//! their names.

/// Byte address of the control register that returns a new pseudo-random number at every read.
pub(crate) const PSEUDO_RANDOM: u16 = 0x148;

/// Byte addresses of the base registers of local memory.
const LOCAL_BASES: [u16; 4] = [0x64, 0x6c, 0x94, 0x9c];

const NAMES: [(u16, &str); 5] = [
    (LOCAL_BASES[0], "ActLMAddr0"),
    (LOCAL_BASES[1], "ActLMAddr1"),
    (LOCAL_BASES[2], "ActLMAddr2"),
    (LOCAL_BASES[3], "ActLMAddr3"),
    (PSEUDO_RANDOM, "PseudoRndNum"),
];

/// Returns the name of the control register at a byte address.
pub(crate) fn name(csr: u16) -> Option<&'static str> {
    NAMES.iter().find(|&&(address, _)| address == csr).map(|&(_, name)| name)
}

/// Returns the byte address of the control register with this name.
pub(crate) fn address(name: &str) -> Option<u16> {
    NAMES.iter().find(|&&(_, known)| known == name).map(|&(address, _)| address)
}

/// Returns the byte address of a base register of local memory; indices are 0 to 3.
pub(crate) fn local_base(index: u8) -> Option<u16> {
    LOCAL_BASES.get(usize::from(index)).copied()
}

/// Returns the names of all known control registers.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|&(_, name)| name)
}
