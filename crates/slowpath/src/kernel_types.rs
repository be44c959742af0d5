//! Types of the kernel that programs are for, read once for any number of analyses.

use crate::Error;
use slowpath_bpf::Btf;
use std::sync::Arc;

/// Types (BTF) of the kernel that programs are for.
#[derive(Clone, Debug)]
pub struct KernelTypes(Arc<Btf>);

impl KernelTypes {
    /// Reads them, as `/sys/kernel/btf/vmlinux` has them.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn parse(data: &[u8]) -> Result<KernelTypes, Error> {
        Ok(KernelTypes(Arc::new(Btf::parse(data)?)))
    }

    pub(crate) fn btf(&self) -> &Btf {
        &self.0
    }

    /// The types themselves.
    pub fn shared(&self) -> Arc<Btf> {
        Arc::clone(&self.0)
    }
}
