//! What systemd is told of a service of `Type=notify`.

use sd_notify::NotifyState;

/// Tells systemd where the service stands; nothing where nobody wants to know (`NOTIFY_SOCKET`).
pub(super) fn tell(state: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "systemd cannot be told where this service stands");
    }
}
