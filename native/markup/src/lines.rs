//! Pieces of text as they stand in the markup -> lines without superfluous white space.

#![forbid(unsafe_code)]

use crate::tokens::is_space;

/// What Python's `str.strip` takes off.
pub fn is_blank(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// The visible text: a line a block, none of them empty.
#[derive(Default)]
pub struct Lines {
    text: String,
    line_at: usize,
    space_is_due: bool,
}

impl Lines {
    pub fn with_capacity(bytes: usize) -> Self {
        Lines { text: String::with_capacity(bytes), ..Lines::default() }
    }

    /// Running text: white space of any length is one space.
    pub fn add_words(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if is_space(bytes[at]) {
                self.space_is_due = true;
                at += 1;
                continue;
            }
            let start = at;
            at = end_of_clean_run(bytes, at);
            if self.space_is_due && self.text.len() > self.line_at {
                self.text.push(' ');
            }
            self.space_is_due = false;
            self.text.push_str(&text[start..at]);
        }
    }

    /// Text that keeps its lines and the white space within them.
    pub fn add_verbatim(&mut self, text: &str) {
        self.space_is_due = false;
        let mut lines = text.split(['\n', '\r']);
        self.text.push_str(lines.next().unwrap_or(""));
        for line in lines {
            self.end_line();
            self.text.push_str(line);
        }
    }

    pub fn add_space(&mut self) {
        self.space_is_due = true;
    }

    pub fn end_line(&mut self) {
        self.space_is_due = false;
        let line = &self.text[self.line_at..];
        let trimmed_end = line.trim_end_matches(is_blank).len();
        self.text.truncate(self.line_at + trimmed_end);
        let blank = trimmed_end - self.text[self.line_at..].trim_start_matches(is_blank).len();
        if blank > 0 {
            self.text.drain(self.line_at..self.line_at + blank);
        }
        if self.text.len() > self.line_at {
            self.text.push('\n');
            self.line_at = self.text.len();
        }
    }

    pub fn into_text(mut self) -> String {
        self.end_line();
        self.text.pop();
        self.text
    }
}

/// Words with single spaces between them: they can be taken over as they are.
fn end_of_clean_run(bytes: &[u8], mut at: usize) -> usize {
    loop {
        while at < bytes.len() && !is_space(bytes[at]) {
            at += 1;
        }
        let goes_on = bytes.get(at) == Some(&b' ') && bytes.get(at + 1).is_some_and(|&next| !is_space(next));
        if !goes_on {
            return at;
        }
        at += 1;
    }
}

/// A title, a heading, the text of a link: one line of bounded length.
#[derive(Default, Clone)]
pub struct Phrase {
    text: String,
    space_is_due: bool,
}

const PHRASE_BYTES_MAX: usize = 8 << 10; // more than any of them may have in characters

impl Phrase {
    pub fn add(&mut self, text: &str) {
        for character in text.chars() {
            if self.text.len() >= PHRASE_BYTES_MAX {
                return;
            }
            if is_blank(character) {
                self.space_is_due = true;
                continue;
            }
            if self.space_is_due && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.space_is_due = false;
            self.text.push(character);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn into_text(mut self, characters_max: usize) -> String {
        if let Some((end, _)) = self.text.char_indices().nth(characters_max) {
            self.text.truncate(end);
        }
        self.text
    }
}
