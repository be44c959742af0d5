//! Faults that tests inject into the passes that rewrite programs. `tests/mutants` of
//! `slowpath-chain` checks that proofs find these faults. The code exists only with the feature
//! `faults`.

/// A fault that tests inject into a rewriting pass, into the analysis, or into a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "those of guards are put in then"))]
pub enum Fault {
    /// Constants that replace computations are one too large.
    ConstantTooGreat,
    /// The result of a computation is replaced by a register that holds a value of the same kind,
    /// but not the same value.
    CopyOfAnother,
    /// A branch with a known outcome becomes a jump to the wrong target.
    OtherWay,
    /// The analysis decides that a bounds check succeeds although packets may be one byte too
    /// short.
    LengthTooLong,
    /// Comparisons with a known outcome are removed even if the kernel's verifier learns bounds
    /// from them.
    NothingTaught,
    /// A register is treated as a copy of another register, even after the other register was
    /// overwritten.
    StaleCopy,
    /// A constant that does not fit into a 32-bit immediate is cut off.
    ShortImmediate,
    /// A memory access gets another base register, but its offset is not adjusted.
    OffsetKept,
    /// A copied pointer is replaced by another pointer, without adding the distance between the
    /// two.
    DistanceForgotten,
    /// Stores to the packet are removed, as if nothing read the packet afterwards.
    PacketStoreDead,
    /// Liveness analysis treats helpers as if they did not read the stack frame.
    HelpersReadNothing,
    /// Liveness analysis treats the last byte of each read from the stack frame as not read.
    ReadTooShort,
    /// Liveness analysis treats the end of a block as if it read no registers.
    EndReadsNothing,
    /// A block with two predecessors is merged with one of them, as if the other did not exist.
    MergedWithOne,
    /// Jumps bypass a block that contains one instruction, as if it were empty.
    InstructionSkipped,
    /// Jump threading leads to the wrong target of a branch.
    WrongTarget,
    /// Jump threading bypasses a block but does not copy its instructions.
    CopyForgotten,
    /// Unrolled loops are left after one iteration, as if no other iteration followed.
    RoundsForgotten,
    /// A merged bounds check requires one byte more than the largest check that it replaces.
    CheckTooLong,
    /// A bounds check is treated as if it proved one byte more than it does.
    CheckedTooMuch,
    /// Known packet content is kept after a store to the packet.
    StoreForgotten,
    /// Known content of the stack frame is kept after a helper has written to the stack frame.
    WrittenForgotten,
    /// Known packet content is kept after a helper has moved the packet's start.
    MoveForgotten,
    /// The free buffer space in front of the packet (headroom) is treated as one byte larger than
    /// it is.
    RoomTooGreat,
    /// At a merge of paths, the state of only one path is used.
    OneWayOnly,
    /// The greatest of the possible values of a packet field is left out.
    ValueForgotten,
    /// At a merge of paths, only the possible values from one path are kept.
    ValuesOfOneWay,
    /// After a comparison, those possible values are kept for which the comparison would have the
    /// other outcome.
    OtherValuesLeft,
    /// After a comparison of a byte-swapped field with a constant, the field without the swap is
    /// treated as equal to the constant.
    SwapForgotten,
    /// The last comparison of a guard is left out.
    ComparisonDropped,
    /// A comparison of a guard ignores the lowest bit.
    MaskTooSmall,
    /// A comparison of a guard expects the wrong number.
    OtherValue,
    /// A guard accepts packets that are one byte too short.
    GuardTooShort,
    /// The last comparison of a guard is inverted.
    ComparisonInverted,
    /// The facts that a guard checks are already assumed to hold while the checks themselves are
    /// rewritten.
    GuardTrusted,
    /// The copy of the original program, which runs if a guard fails, lacks its first instruction.
    OriginalCut,
    /// Failed checks of a guard jump to the second instruction of the original program instead of
    /// the first.
    OriginalMissed,
    /// The first map entry that a look-up can find is treated as the only possible one.
    OneEntryOnly,
    /// Key comparisons that replace a look-up never find the last entry of the map.
    EntryForgotten,
    /// Key comparisons that replace a look-up do not compare the last part of the key.
    KeyTooShort,
    /// A guard does not check that the content of frozen maps is still valid (their generation).
    GenerationIgnored,
    /// A guard checks only the lowest bit of the generation of the frozen maps.
    GenerationCut,
}

#[cfg(feature = "faults")]
mod injected {
    use super::Fault;
    use std::cell::Cell;

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// Calls `run`, and injects a fault into the passes on the current thread during the call.
    pub fn with<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
        /// A guard object that restores the previously injected fault when it is dropped, even
        /// after a panic.
        struct Back(Option<Fault>);
        impl Drop for Back {
            fn drop(&mut self) {
                FAULT.set(self.0);
            }
        }
        let _back = Back(FAULT.replace(Some(fault)));
        run()
    }

    /// Returns true if this fault is injected on the current thread.
    pub(crate) fn has(fault: Fault) -> bool {
        FAULT.get() == Some(fault)
    }
}

#[cfg(feature = "faults")]
pub(crate) use injected::has;
#[cfg(feature = "faults")]
pub use injected::with;

/// Returns false, because no faults can be injected without the feature `faults`.
#[cfg(not(feature = "faults"))]
pub(crate) const fn has(_: Fault) -> bool {
    false
}
