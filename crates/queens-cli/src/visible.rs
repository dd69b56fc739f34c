//! Texts from elsewhere, as they may be shown.

/// A text of which parts may come from a file or from the network, with escapes in place of what a terminal
/// would obey or what would change the direction of the text around it.
pub(crate) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        let is_hidden = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if is_hidden { visible.extend(c.escape_unicode()) } else { visible.push(c) }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        for plain in ["", "N = 8: Zoë's ledger", "日本/queens.db", "e\u{301}"] {
            assert_eq!(visible(plain), plain);
        }
        assert_eq!(visible("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\u{a}b");
        assert_eq!(visible("\u{9b}1m\u{202e}"), "\\u{9b}1m\\u{202e}");
    }
}
