//! What a proof knows of all paths together, while it goes through them one by one.

use slowpath_stop::Stop;

/// What has come of the comparison of all paths together.
pub(super) enum Together {
    /// There was none yet.
    NotTried,
    /// It shows nothing.
    Open,
    /// Both programs do the same. What paths there are is looked at for packets only, until it is time
    /// to stop.
    Proved(Stop),
}
