//! HTML as text -> its tags with their attributes, and the runs of text between them.
//!
//! The tokenizer of the WHATWG as far as a reader notices: comments, doctypes and processing instructions are
//! passed over, what looks like a tag and is none is text. Law: every byte is looked at a bounded number of
//! times, whatever they are.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use memchr::{memchr, memmem};

use crate::tags::Tag;

const ATTRIBUTES_MAX: usize = 128; // of a tag; further ones are passed over
const NAME_BYTES_MAX: usize = 16; // longer names mean nothing to us

pub struct Attribute<'a> {
    pub name: &'a str,
    pub value: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    pub tag: Tag,
    hash: u32, // tells names that are in no table apart
}

pub enum Token<'a> {
    Text(&'a str),
    /// Its attributes are in `Tokens::attributes`.
    Start {
        name: Name,
        closes_itself: bool,
    },
    End(Name),
}

pub struct Tokens<'a> {
    html: &'a str,
    at: usize,
    pub attributes: Vec<Attribute<'a>>,
}

impl<'a> Tokens<'a> {
    pub fn of(html: &'a str) -> Self {
        Tokens { html, at: 0, attributes: Vec::with_capacity(16) }
    }

    /// `in_drawing`: where CDATA sections hold text.
    pub fn next(&mut self, in_drawing: bool) -> Option<Token<'a>> {
        loop {
            let rest = &self.html.as_bytes()[self.at..];
            if rest.is_empty() {
                return None;
            }
            if rest[0] != b'<' || !begins_markup(rest) {
                return Some(Token::Text(self.text_run()));
            }
            match rest[1] {
                b'!' if rest.starts_with(b"<!--") => self.pass_comment(),
                b'!' if in_drawing && rest.starts_with(b"<![CDATA[") => return Some(self.cdata()),
                b'!' | b'?' => self.pass_to_angle(2),
                b'/' if !rest.get(2).is_some_and(u8::is_ascii_alphabetic) => self.pass_to_angle(2),
                b'/' => {
                    self.at += 2;
                    let name = self.name();
                    self.read_attributes()?;
                    return Some(Token::End(name));
                }
                _ => {
                    self.at += 1;
                    let name = self.name();
                    let closes_itself = self.read_attributes()?;
                    return Some(Token::Start { name, closes_itself });
                }
            }
        }
    }

    /// The value of an attribute of the last start tag, as written.
    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|one| one.name.eq_ignore_ascii_case(name)).map(|one| one.value)
    }

    /// The same, character references resolved.
    pub fn value(&self, name: &str) -> Option<Cow<'a, str>> {
        self.attribute(name).map(|written| match memchr(b'&', written.as_bytes()) {
            Some(_) => htmlize::unescape_attribute(written),
            None => Cow::Borrowed(written),
        })
    }

    /// What stands between a start tag that was just read and its end tag, which is passed over.
    pub fn raw_text(&mut self, name: &[u8]) -> &'a str {
        let start = self.at;
        let found = if name == b"script" { self.end_of_script() } else { self.end_tag(start, name) };
        let Some(end) = found else {
            self.at = self.html.len();
            return &self.html[start..];
        };
        self.at = end + 2 + name.len();
        let closed = self.read_attributes();
        self.at = if closed.is_none() { self.html.len() } else { self.at };
        &self.html[start..end]
    }

    pub fn all_the_rest(&mut self) -> &'a str {
        let start = std::mem::replace(&mut self.at, self.html.len());
        &self.html[start..]
    }

    // --- text and what is passed over ---------------------------------------------------------------------

    fn text_run(&mut self) -> &'a str {
        let start = self.at;
        let bytes = self.html.as_bytes();
        let mut from = start + 1;
        loop {
            match memchr(b'<', &bytes[from..]) {
                None => from = bytes.len(),
                Some(steps) if begins_markup(&bytes[from + steps..]) => from += steps,
                Some(steps) => {
                    from += steps + 1;
                    continue;
                }
            }
            // The first character may be longer than a byte; "from" is at the end or at a "<".
            self.at = from;
            return &self.html[start..from];
        }
    }

    fn pass_comment(&mut self) {
        let start = self.at + 4;
        let rest = &self.html.as_bytes()[start..];
        if rest.starts_with(b">") || rest.starts_with(b"->") {
            return self.pass_to_angle(4);
        }
        let mut from = 0;
        while let Some(steps) = memmem::find(&rest[from..], b"--") {
            let after = &rest[from + steps + 2..];
            let length = if after.starts_with(b">") {
                1
            } else if after.starts_with(b"!>") {
                2
            } else {
                0
            };
            if length > 0 {
                self.at = start + from + steps + 2 + length;
                return;
            }
            from += steps + 1;
        }
        self.at = self.html.len();
    }

    fn cdata(&mut self) -> Token<'a> {
        let start = self.at + 9;
        let length = memmem::find(&self.html.as_bytes()[start..], b"]]>");
        let end = length.map_or(self.html.len(), |length| start + length);
        self.at = (end + 3).min(self.html.len());
        Token::Text(&self.html[start..end])
    }

    fn pass_to_angle(&mut self, from: usize) {
        let start = self.at + from;
        let found = memchr(b'>', &self.html.as_bytes()[start..]);
        self.at = found.map_or(self.html.len(), |steps| start + steps + 1);
    }

    // --- the ends of raw text -----------------------------------------------------------------------------

    fn end_tag(&self, from: usize, name: &[u8]) -> Option<usize> {
        let bytes = self.html.as_bytes();
        memmem::find_iter(&bytes[from..], b"</")
            .map(|steps| from + steps)
            .find(|&at| is_named(&bytes[at + 2..], name))
    }

    /// Old pages hide scripts in comments, and some of those write scripts: `<!--<script></script>-->`.
    fn end_of_script(&self) -> Option<usize> {
        let bytes = self.html.as_bytes();
        let simple = self.end_tag(self.at, b"script")?;
        if memmem::find(&bytes[self.at..simple], b"<!--").is_none() {
            return Some(simple);
        }
        let (mut in_comment, mut in_script) = (false, false);
        let mut at = self.at;
        while let Some(steps) = memchr::memchr2(b'<', b'-', &bytes[at..]) {
            at += steps;
            let rest = &bytes[at..];
            if rest.starts_with(b"-->") {
                (in_comment, in_script) = (false, false);
            } else if rest.starts_with(b"<!--") {
                in_comment = true;
                at += 1;
            } else if rest.starts_with(b"</") && is_named(&rest[2..], b"script") {
                if !in_script {
                    return Some(at);
                }
                in_script = false;
            } else if rest[0] == b'<' && in_comment && is_named(&rest[1..], b"script") {
                in_script = true;
            }
            at += 1;
        }
        Some(simple) // never closed as it should be: as if nothing had been hidden
    }

    // --- inside a tag -------------------------------------------------------------------------------------

    fn name(&mut self) -> Name {
        let bytes = &self.html.as_bytes()[self.at..];
        let length = bytes.iter().position(|&byte| ends_name(byte)).unwrap_or(bytes.len());
        self.at += length;
        let mut lower = [0; NAME_BYTES_MAX];
        let mut hash = 0x811c_9dc5_u32;
        for (at, byte) in bytes[..length.min(NAME_BYTES_MAX)].iter().enumerate() {
            lower[at] = byte.to_ascii_lowercase();
            hash = (hash ^ u32::from(lower[at])).wrapping_mul(0x0100_0193);
        }
        let tag = if length <= NAME_BYTES_MAX { Tag::named(&lower[..length]) } else { Tag::Other };
        Name { tag, hash: if tag == Tag::Other { hash } else { 0 } }
    }

    /// To behind the closing angle: whether a slash stood before it. None where the tag never ends.
    fn read_attributes(&mut self) -> Option<bool> {
        self.attributes.clear();
        let bytes = self.html.as_bytes();
        let mut slash = false;
        loop {
            match *bytes.get(self.at)? {
                b'>' => {
                    self.at += 1;
                    return Some(slash);
                }
                b'/' => {
                    slash = true;
                    self.at += 1;
                }
                byte if is_space(byte) => self.at += 1,
                _ => {
                    slash = false;
                    self.read_attribute()?;
                }
            }
        }
    }

    fn read_attribute(&mut self) -> Option<()> {
        let bytes = self.html.as_bytes();
        let start = self.at;
        let length = bytes[start + 1..].iter().position(|&byte| byte == b'=' || ends_name(byte))?;
        let end = start + 1 + length;
        self.at = end;
        self.pass_spaces();
        let mut value = "";
        if bytes.get(self.at) == Some(&b'=') {
            self.at += 1;
            self.pass_spaces();
            value = self.attribute_value()?;
        }
        if self.attributes.len() < ATTRIBUTES_MAX {
            self.attributes.push(Attribute { name: &self.html[start..end], value });
        }
        Some(())
    }

    fn attribute_value(&mut self) -> Option<&'a str> {
        let bytes = self.html.as_bytes();
        let first = *bytes.get(self.at)?;
        if first == b'"' || first == b'\'' {
            let start = self.at + 1;
            let end = start + memchr(first, &bytes[start..])?;
            self.at = end + 1;
            return Some(&self.html[start..end]);
        }
        let start = self.at;
        let length = bytes[start..].iter().position(|&byte| byte == b'>' || is_space(byte))?;
        self.at = start + length;
        Some(&self.html[start..self.at])
    }

    fn pass_spaces(&mut self) {
        let rest = &self.html.as_bytes()[self.at..];
        self.at += rest.iter().position(|&byte| !is_space(byte)).unwrap_or(rest.len());
    }
}

/// A run of text, character references resolved.
pub fn resolved(written: &str) -> Cow<'_, str> {
    match memchr(b'&', written.as_bytes()) {
        Some(_) => htmlize::unescape(written),
        None => Cow::Borrowed(written),
    }
}

#[inline]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | 0x0c)
}

#[inline]
fn ends_name(byte: u8) -> bool {
    is_space(byte) || byte == b'/' || byte == b'>'
}

/// Whether what starts with "<" is a tag, a comment or the like; else it is text.
fn begins_markup(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'!' | b'?') => true,
        Some(b'/') => rest.len() > 2,
        Some(byte) => byte.is_ascii_alphabetic(),
        None => false,
    }
}

fn is_named(rest: &[u8], name: &[u8]) -> bool {
    rest.len() > name.len() && rest[..name.len()].eq_ignore_ascii_case(name) && ends_name(rest[name.len()])
}
