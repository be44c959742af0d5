//! Faults of the passes on purpose, for the test that proofs find them (`tests/mutants` of
//! `slowpath-chain`). Without the feature `faults` there are none, and nothing of this is left in the
//! program.

/// What a pass, or what it relies on, gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "those of guards are put in then"))]
pub enum Fault {
    /// Constants are one too great.
    ConstantTooGreat,
    /// A register stands for a result if both are of the same kind.
    CopyOfAnother,
    /// Branches whose outcome is known go the other way.
    OtherWay,
    /// A packet of the least length that is one byte too short passes a bounds check.
    LengthTooLong,
    /// Comparisons go that teach the kernel's verifier what it has to know.
    NothingTaught,
    /// What a register was copied from stands for it after it was overwritten.
    StaleCopy,
    /// Immediates are cut off.
    ShortImmediate,
    /// Another base is taken for an access, with the offset as it was.
    OffsetKept,
    /// A pointer is copied from another one, and moved as it was.
    DistanceForgotten,
    /// Stores to the packet are dead.
    PacketStoreDead,
    /// Helpers read nothing of the stack frame.
    HelpersReadNothing,
    /// Of a read of the stack frame, the last byte is not noted.
    ReadTooShort,
    /// What the end of a block reads is not noted.
    EndReadsNothing,
    /// A block is appended to one of the two that lead to it.
    MergedWithOne,
    /// Blocks of one instruction are taken for empty ones.
    InstructionSkipped,
    /// A jump is threaded to the other target.
    WrongTarget,
    /// A jump is threaded past a block without a copy of what it does.
    CopyForgotten,
    /// After its first round, a loop ends.
    RoundsForgotten,
    /// A merged bounds check checks one byte more than any that it stands for.
    CheckTooLong,
    /// A bounds check is taken to have checked one byte more.
    CheckedTooMuch,
    /// A store to the packet leaves what is known of it.
    StoreForgotten,
    /// A helper that writes to the stack frame leaves what is known of it.
    WrittenForgotten,
    /// A helper that moves the packet's start leaves what is known of the packet.
    MoveForgotten,
    /// There is taken to be one more byte in front of the packet than there is.
    RoomTooGreat,
    /// Where ways meet, what one of them knows is taken.
    OneWayOnly,
    /// Of the values of a field, the greatest is forgotten.
    ValueForgotten,
    /// Where ways meet, a number has one of the values of one of them.
    ValuesOfOneWay,
    /// Behind a comparison, a number has one of the values for which it ends otherwise.
    OtherValuesLeft,
    /// A field that was swapped before it was compared is taken to be what it was compared with.
    SwapForgotten,
    /// The last comparison of a guard is left out.
    ComparisonDropped,
    /// A comparison of a guard ignores the lowest bit.
    MaskTooSmall,
    /// A comparison of a guard expects another number.
    OtherValue,
    /// A guard lets packets through that are one byte too short.
    GuardTooShort,
    /// A guard lets packets through of which its last comparison does not hold.
    ComparisonInverted,
    /// What a guard checks is taken for granted, by its comparisons as well.
    GuardTrusted,
    /// The original behind a guard lacks its first instruction.
    OriginalCut,
    /// The way to the original leads behind its first instruction.
    OriginalMissed,
    /// What the first of the entries holds that a look-up can find is taken for what all of them hold.
    OneEntryOnly,
    /// The last entry of a map is never found by comparisons.
    EntryForgotten,
    /// The last part of keys is not compared.
    KeyTooShort,
    /// The generation of maps is not looked at.
    GenerationIgnored,
    /// Content that is not frozen any more is told by the lowest bit of its generation.
    GenerationCut,
}

#[cfg(feature = "faults")]
mod injected {
    use super::Fault;
    use std::cell::Cell;

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// Runs something, on this thread, with a fault.
    pub fn with<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
        /// Takes it back, whatever happens.
        struct Back(Option<Fault>);
        impl Drop for Back {
            fn drop(&mut self) {
                FAULT.set(self.0);
            }
        }
        let _back = Back(FAULT.replace(Some(fault)));
        run()
    }

    /// Whether there is this fault.
    pub(crate) fn has(fault: Fault) -> bool {
        FAULT.get() == Some(fault)
    }
}

#[cfg(feature = "faults")]
pub(crate) use injected::has;
#[cfg(feature = "faults")]
pub use injected::with;

/// Whether there is this fault.
#[cfg(not(feature = "faults"))]
pub(crate) const fn has(_: Fault) -> bool {
    false
}
