//! Faults that tests inject into the passes. `tests/mutants` of `slowpath-chain` checks that proofs
//! find these faults. The code exists only with the feature `faults`.

/// An injected fault in a pass, in the analysis, or in a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "those of guards are put in then"))]
pub enum Fault {
    /// A constant is one too large.
    ConstantTooGreat,
    /// A register replaces a result only because both have the same kind of value.
    CopyOfAnother,
    /// A branch with a known outcome takes the other edge.
    OtherWay,
    /// A bounds check lets packets pass that are one byte shorter than the minimum length.
    LengthTooLong,
    /// Comparisons are removed even if the kernel's verifier needs them.
    NothingTaught,
    /// A register still counts as a copy after its source was overwritten.
    StaleCopy,
    /// A large constant is truncated to an immediate.
    ShortImmediate,
    /// A memory access gets another base register, but keeps its offset.
    OffsetKept,
    /// A copied pointer is replaced by another one, without correction of the distance.
    DistanceForgotten,
    /// Stores to the packet count as dead stores.
    PacketStoreDead,
    /// Helpers count as not reading the stack frame.
    HelpersReadNothing,
    /// The last byte of a read from the stack frame does not count as read.
    ReadTooShort,
    /// The instruction at the end of a block counts as reading no registers.
    EndReadsNothing,
    /// A block with two predecessors is merged with one of them.
    MergedWithOne,
    /// A block with one instruction counts as empty, so jumps bypass it.
    InstructionSkipped,
    /// Jump threading chooses the wrong target.
    WrongTarget,
    /// Jump threading bypasses a block without copying its instructions.
    CopyForgotten,
    /// A loop is unrolled as if it ended after one iteration.
    RoundsForgotten,
    /// A merged bounds check requires one byte more than the largest check that it replaces.
    CheckTooLong,
    /// A bounds check counts as proving one byte more than it does.
    CheckedTooMuch,
    /// Known packet content is kept after a store to the packet.
    StoreForgotten,
    /// Known content of the stack frame is kept after a helper has written to it.
    WrittenForgotten,
    /// Known packet content is kept after a helper has moved the packet's start.
    MoveForgotten,
    /// The headroom counts as one byte larger than it is.
    RoomTooGreat,
    /// After a merge of paths, only the state of one path is used.
    OneWayOnly,
    /// The greatest possible value of a field is left out.
    ValueForgotten,
    /// After a merge of paths, only the possible values from one path are kept.
    ValuesOfOneWay,
    /// After a comparison, the possible values are those for which it has the other outcome.
    OtherValuesLeft,
    /// A byte-swapped field counts as equal to the constant that the swapped value was compared
    /// with.
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
    /// The facts that a guard checks are assumed even while its own comparisons are rewritten.
    GuardTrusted,
    /// The copy of the original after a guard lacks its first instruction.
    OriginalCut,
    /// The jump to the original leads to its second instruction.
    OriginalMissed,
    /// The first entry that a look-up can find counts as the only one.
    OneEntryOnly,
    /// Key comparisons in place of a look-up never find the map's last entry.
    EntryForgotten,
    /// Key comparisons in place of a look-up leave out the last part of the key.
    KeyTooShort,
    /// The guard does not check the generation of the maps.
    GenerationIgnored,
    /// The guard checks only the lowest bit of the maps' generation.
    GenerationCut,
}

#[cfg(feature = "faults")]
mod injected {
    use super::Fault;
    use std::cell::Cell;

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// Calls `run` with a fault injected on the current thread.
    pub fn with<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
        /// Restores the previous fault when dropped, even after a panic.
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

/// Returns false: no faults can be injected.
#[cfg(not(feature = "faults"))]
pub(crate) const fn has(_: Fault) -> bool {
    false
}
