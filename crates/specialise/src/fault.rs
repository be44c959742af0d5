//! Faults that tests inject into the passes on purpose. The test `tests/mutants` of
//! `slowpath-chain` checks that proofs find them. Without the feature `faults`, none of this code
//! is compiled in.

/// An injected error of a pass, of its analysis, or of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "those of guards are put in then"))]
pub enum Fault {
    /// A constant is one too large.
    ConstantTooGreat,
    /// A register replaces a result merely because both have the same kind.
    CopyOfAnother,
    /// A branch with a known outcome goes the other way.
    OtherWay,
    /// A packet that is one byte shorter than the minimum length passes a bounds check.
    LengthTooLong,
    /// Comparisons are removed although the kernel's verifier needs them.
    NothingTaught,
    /// A copied register still replaces its source after the source was overwritten.
    StaleCopy,
    /// An immediate is truncated.
    ShortImmediate,
    /// A memory access gets another base register but keeps its old offset.
    OffsetKept,
    /// A pointer is replaced by a copy of another one without correcting the distance between them.
    DistanceForgotten,
    /// Stores to the packet count as dead.
    PacketStoreDead,
    /// Helpers count as reading nothing from the stack frame.
    HelpersReadNothing,
    /// The last byte of a read from the stack frame does not count as read.
    ReadTooShort,
    /// The instruction at the end of a block counts as reading nothing.
    EndReadsNothing,
    /// A block with two predecessors is appended to one of them.
    MergedWithOne,
    /// A block with one instruction counts as empty.
    InstructionSkipped,
    /// A jump is threaded to the wrong target.
    WrongTarget,
    /// A jump is threaded past a block without a copy of its instructions.
    CopyForgotten,
    /// A loop ends after its first iteration.
    RoundsForgotten,
    /// A merged bounds check requires one byte more than any check that it replaces.
    CheckTooLong,
    /// A bounds check is assumed to prove one byte more than it does.
    CheckedTooMuch,
    /// A store to the packet does not invalidate known packet content.
    StoreForgotten,
    /// A helper that writes to the stack frame does not invalidate its known content.
    WrittenForgotten,
    /// A helper that moves the packet's start does not invalidate known packet content.
    MoveForgotten,
    /// The analysis assumes one byte more in front of the packet than is there.
    RoomTooGreat,
    /// A merge of paths keeps the knowledge of one path only.
    OneWayOnly,
    /// The greatest of a field's possible values is dropped.
    ValueForgotten,
    /// At a merge of paths, a number keeps only the possible values of one path.
    ValuesOfOneWay,
    /// After a comparison, a number keeps the values for which the comparison has the other
    /// outcome.
    OtherValuesLeft,
    /// A byte-swapped field counts as equal to the constant that its swapped value was compared
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
    /// The copy of the original behind a guard lacks its first instruction.
    OriginalCut,
    /// The jump to the original lands behind its first instruction.
    OriginalMissed,
    /// The content of the first map entry that a look-up can find is assumed for all of them.
    OneEntryOnly,
    /// Inlined comparisons never find the last entry of a map.
    EntryForgotten,
    /// Inlined look-ups do not compare the last part of a key.
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

    /// Calls `run` on this thread with a fault injected.
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

    /// Returns true if this fault is injected.
    pub(crate) fn has(fault: Fault) -> bool {
        FAULT.get() == Some(fault)
    }
}

#[cfg(feature = "faults")]
pub(crate) use injected::has;
#[cfg(feature = "faults")]
pub use injected::with;

/// Returns true if this fault is injected.
#[cfg(not(feature = "faults"))]
pub(crate) const fn has(_: Fault) -> bool {
    false
}
