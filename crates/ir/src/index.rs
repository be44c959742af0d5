//! Indices into the tables of a [`Program`](crate::Program), one type each.

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The index as a `usize`, for table look-ups.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            /// # Panics
            /// When the table has more than 2^32 entries.
            fn from(value: usize) -> Self {
                $name(u32::try_from(value).expect("table index fits in 32 bits"))
            }
        }
    };
}

index!(
    /// An instruction of the original program (its number in the listing or object).
    InsnIdx
);
index!(
    /// A virtual register.
    Reg
);
index!(
    /// A basic block.
    BlockId
);
index!(
    /// An unknown of the environment: packet length, base addresses, uninitialised registers.
    InputId
);
index!(
    /// What a value that the program draws is called in reports.
    DrawId
);
index!(
    /// Something that a run can rely on without it being certain.
    RelianceId
);
index!(
    /// A memory region.
    RegionId
);
index!(
    /// A cost class, priced by the target.
    CostClassId
);
index!(
    /// A loop of the control-flow graph.
    LoopId
);
