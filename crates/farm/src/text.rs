//! The texts that clients and workers may choose, and those that come from others.

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

/// The text with an escape in place of each character that a terminal would obey, that nobody would
/// see, or that would change the direction of the text around it. Whatever comes from a file or
/// from the network passes through here before a person sees it.
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { visible.extend(c.escape_unicode()) } else { visible.push(c) }
    }
    visible
}

/// Whether Unicode counts the character as control, format or line separator (Cc, Cf, Zl, Zp).
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn no_character_that_a_terminal_obeys_is_left() {
        for plain in ["", "N = 8: Zoë's ledger", "日本/queens.db", "e\u{301}"] {
            assert_eq!(visible(plain), plain);
        }
        assert_eq!(visible("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\u{a}b");
        assert_eq!(visible("\u{9b}1m\u{202e}\u{ad}"), "\\u{9b}1m\\u{202e}\\u{ad}");
    }
}
