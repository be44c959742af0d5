//! Where live packets run: a namespace with pairs of devices that come and go, and programs that are
//! held ready.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::error::LiveError;
use super::programs;
use crate::generated::Entry;
use crate::sys::Cpus;
use crate::{Device, Link, Loaded, Mode, Namespace};

/// A namespace in which pairs of devices are made.
#[derive(Debug)]
pub struct Yard {
    namespace: Namespace,
    made: AtomicU32,
    closing: AtomicBool,
}

/// Two devices that lead to each other, until this goes.
#[derive(Debug)]
pub struct Pair {
    yard: Arc<Yard>,
    pub near: Device,
    pub far: Device,
}

/// A program that is ready to be run many times at little expense: it is attached to a device where
/// nothing arrives (see [`crate::Link`]).
#[derive(Debug)]
pub struct Held {
    fd: OwnedFd,
    // Calls the program as long as somebody has it.
    _rewriter: Option<Entry>,
    // Detached before its device goes.
    _link: Link,
    _pair: Pair,
}

impl Yard {
    pub fn new() -> Result<Arc<Yard>, LiveError> {
        let namespace = Namespace::new()?;
        Ok(Arc::new(Yard { namespace, made: AtomicU32::new(0), closing: AtomicBool::new(false) }))
    }

    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// From now on devices go with the namespace, all at once.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Two devices.
    pub fn pair(self: &Arc<Yard>) -> Result<Pair, LiveError> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let names = [format!("near{number}"), format!("far{number}")];
        let names = [names[0].as_str(), names[1].as_str()];
        let [near, far] = self.namespace.create_pair(names)?;
        Ok(Pair { yard: Arc::clone(self), near, far })
    }

    /// Holds a program with one in front of it that writes the whole packet anew. What that costs,
    /// the same in front of a minimal program tells.
    pub fn hold_rewritten(
        self: &Arc<Yard>,
        program: &Loaded,
        packet: &[u8],
        cpus: Cpus,
    ) -> Result<Held, LiveError> {
        let write = |code: &mut _| programs::write(code, packet);
        let rewriter = Entry::new("rewriter", program.fragments(), cpus, write)?;
        rewriter.select(program.fd())?;
        let held = self.hold(rewriter.program())?;
        Ok(Held { _rewriter: Some(rewriter), ..held })
    }

    pub fn hold(self: &Arc<Yard>, program: &Loaded) -> Result<Held, LiveError> {
        let fd = program.fd().try_clone_to_owned().map_err(|cause| LiveError::Held { cause })?;
        let pair = self.pair()?;
        let link = program.attach(&self.namespace, pair.near, Mode::Generic)?;
        Ok(Held { fd, _rewriter: None, _link: link, _pair: pair })
    }
}

impl Pair {
    pub fn namespace(&self) -> &Namespace {
        self.yard.namespace()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if !self.yard.closing.load(Ordering::Relaxed) {
            // What does not go now goes with the namespace.
            let _ = self.yard.namespace.remove(self.near);
        }
    }
}

impl Held {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
