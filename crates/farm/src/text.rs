//! The texts that clients and workers may choose.

/// The longest name of a worker, of its build or of its backend, in bytes.
pub const MAX_TEXT: usize = 128;

/// The longest reason for a change of trust, in bytes.
const MAX_REASON: usize = 1_024;

/// Whether `text` may be the name of a worker, its build or its backend. It has at most
/// [`MAX_TEXT`] visible ASCII characters and no spaces, and may be empty. Such a text is safe in
/// logs, terminals and tables.
pub fn is_text(text: &str) -> bool {
    text.len() <= MAX_TEXT && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether `text` may be the name of a job, an owner or a machine: a text ([`is_text`]) that is not
/// empty.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && is_text(text)
}

/// The rule of [`is_name`], as a sentence without its end.
pub fn rule_of_names() -> String {
    format!("a name has 1 to {MAX_TEXT} visible ASCII characters and no space")
}

/// The reason for a change of trust.
///
/// # Errors
///
/// The rule, if the text is blank, too long or more than a line.
pub fn reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.len() > MAX_REASON || text.chars().any(char::is_control) {
        return Err(format!("a reason is one line of at most {MAX_REASON} bytes, and not blank"));
    }
    Ok(text.into())
}
