//! Manages the network namespace of live runs, test runs whose packets really go where the program
//! sends them. Pairs of virtual Ethernet devices are created and removed as needed, and programs
//! are prepared for many runs.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::error::LiveError;
use super::programs;
use crate::generated::Entry;
use crate::sys::Cpus;
use crate::{Device, Link, LoadedProgram, Mode, Namespace};

/// A network namespace in which pairs of virtual Ethernet devices are created.
#[derive(Debug)]
pub struct Netns {
    namespace: Namespace,
    pair_count: AtomicU32,
    closing: AtomicBool,
}

/// A pair of connected virtual Ethernet devices. Dropping it removes both devices.
#[derive(Debug)]
pub struct Pair {
    netns: Arc<Netns>,
    pub near: Device,
    pub far: Device,
}

/// A program that is prepared so that many runs of it are cheap. For this, it is attached to a
/// device that receives no packets (see [`crate::Link`]).
#[derive(Debug)]
pub struct PreparedProgram {
    fd: OwnedFd,
    // Tail-calls the program; its slot is emptied on drop.
    _rewriter: Option<Entry>,
    // Declared before `_pair`: the program is detached before its device is removed.
    _link: Link,
    _pair: Pair,
}

impl Netns {
    pub fn new() -> Result<Arc<Netns>, LiveError> {
        let namespace = Namespace::new()?;
        Ok(Arc::new(Netns {
            namespace,
            pair_count: AtomicU32::new(0),
            closing: AtomicBool::new(false),
        }))
    }

    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Marks the namespace as closing. From then on, dropping a [`Pair`] keeps its devices, which
    /// are removed together with the namespace.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    pub fn pair(self: &Arc<Netns>) -> Result<Pair, LiveError> {
        let number = self.pair_count.fetch_add(1, Ordering::Relaxed);
        let names = [format!("near{number}"), format!("far{number}")];
        let names = [names[0].as_str(), names[1].as_str()];
        let [near, far] = self.namespace.create_pair(names)?;
        Ok(Pair { netns: Arc::clone(self), near, far })
    }

    /// Prepares a program for many runs. Before each run, a generated program writes the whole
    /// packet anew. To measure the cost of this rewriting, prepare a program that does nothing in
    /// the same way.
    pub fn prepare_rewritten(
        self: &Arc<Netns>,
        program: &LoadedProgram,
        packet: &[u8],
        cpus: Cpus,
    ) -> Result<PreparedProgram, LiveError> {
        let write = |code: &mut _| programs::write(code, packet);
        let rewriter = Entry::new("rewriter", program.variant(), cpus, write)?;
        rewriter.select(program.fd())?;
        let prepared = self.prepare(rewriter.program())?;
        Ok(PreparedProgram { _rewriter: Some(rewriter), ..prepared })
    }

    pub fn prepare(
        self: &Arc<Netns>,
        program: &LoadedProgram,
    ) -> Result<PreparedProgram, LiveError> {
        let fd = program.fd().try_clone_to_owned().map_err(|cause| LiveError::Held { cause })?;
        let pair = self.pair()?;
        let link = program.attach(&self.namespace, pair.near, Mode::Generic)?;
        Ok(PreparedProgram { fd, _rewriter: None, _link: link, _pair: pair })
    }
}

impl Pair {
    pub fn namespace(&self) -> &Namespace {
        self.netns.namespace()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if !self.netns.closing.load(Ordering::Relaxed) {
            // If the removal fails, the devices are removed with the namespace.
            let _ = self.netns.namespace.remove(self.near);
        }
    }
}

impl PreparedProgram {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
