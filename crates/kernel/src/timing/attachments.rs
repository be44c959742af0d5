//! Programs that stay attached while they are timed, so that calls are cheap.

use std::sync::{Arc, Mutex, PoisonError};

use super::error::TimingError;
use super::expedited::Expedited;
use crate::{Device, Link, Loaded, Mode, Namespace};

/// Loopback devices of private network namespaces, for programs that are timed.
///
/// A device that becomes free keeps its program until the next one replaces it. Putting one in and
/// taking it out waits for all CPUs twice (`bpf_dispatcher_update` of `kernel/bpf/dispatcher.c`);
/// replacing waits once. Meanwhile the kernel is asked to hurry.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    free: Arc<Mutex<Vec<Attachment>>>,
}

#[derive(Debug)]
struct Attachment {
    link: Link,
    // A device has room for one program, and each namespace has a loopback device.
    _namespace: Namespace,
}

/// A program is attached as long as this is there.
#[derive(Debug)]
pub struct Attached {
    attachment: Option<Attachment>,
    attachments: Attachments,
}

impl Attachments {
    /// Attaches a program to a device of its own.
    ///
    /// # Errors
    /// If there is no namespace, or the kernel does not take the program there.
    pub fn attach(&self, program: &Loaded) -> Result<Attached, TimingError> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let _soon = Expedited::begin();
        let attachment = match free {
            Some(attachment) => {
                attachment.link.replace(program)?;
                attachment
            }
            None => {
                let namespace = Namespace::new()?;
                let link = program.attach(&namespace, Device::LOOPBACK, Mode::Generic)?;
                Attachment { link, _namespace: namespace }
            }
        };
        Ok(Attached { attachment: Some(attachment), attachments: self.clone() })
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut free = self.attachments.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.attachment.take());
    }
}
