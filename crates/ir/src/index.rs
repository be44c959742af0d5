//! Defines the index types for the tables of a [`Program`](crate::Program), one type for each
//! table.

/// Declares a 32-bit index type for one table, which cannot be used for other tables. All crates of
/// the workspace use this macro.
#[macro_export]
macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the index as a `usize`, for table look-ups.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            /// # Panics
            /// Panics if the index does not fit in 32 bits.
            fn from(value: usize) -> Self {
                $name(u32::try_from(value).expect("table index fits in 32 bits"))
            }
        }
    };
}

index_type!(
    /// An instruction of the original program, by its number in the listing or object.
    InsnIdx
);
index_type!(
    /// A virtual register.
    Reg
);
index_type!(
    /// A basic block.
    BlockId
);
index_type!(
    /// An unknown value of the environment, such as the packet length, a base address or an
    /// uninitialised register.
    InputId
);
index_type!(
    /// The description of a drawn value for reports.
    DrawId
);
index_type!(
    /// An assumption that a run relies on although it is not certain.
    RelianceId
);
index_type!(
    /// A memory region.
    RegionId
);
index_type!(
    /// A cost class, priced by the target.
    CostClassId
);
index_type!(
    /// A loop of the control-flow graph.
    LoopId
);
