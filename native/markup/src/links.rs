//! Anchors as they are written -> links, each address once.
//!
//! Law: the first link to an address speaks for it; a later one lends its text and rel where the first has no
//! text, and its rel where only the first says nofollow. Only hrefs that no rule of URLs would change are joined here, by writing them side by side; all others
//! are left as written, for a full URL parser to join.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::HashMap;

use crate::lines::Phrase;

const TEXT_CHARACTERS_MAX: usize = 512;
const PLAIN_BYTES_MAX: usize = 512;
const FOLDER_BYTES_MAX: usize = 1_024;
const SCHEMES: [&str; 2] = ["http://", "https://"];

pub struct Link {
    pub url: String, // as written and without fragment where `is_joined` is false
    pub text: String,
    pub rel: String,
    pub is_joined: bool,
}

impl Link {
    /// Another link to the same address.
    fn join(&mut self, text: String, rel: String) {
        if self.text.is_empty() {
            self.text = text;
        }
        if forbids(&self.rel) && !forbids(&rel) {
            self.rel = rel;
        }
    }
}

/// Whether a rel asks not to follow the link.
fn forbids(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("nofollow"))
}

struct Written<'a> {
    href: Cow<'a, str>,
    text: String,
    rel: String,
}

/// What leads on without being an anchor: an area of a picture, a frame.
struct Other<'a> {
    href: Cow<'a, str>,
    text: Phrase,
    rel: Cow<'a, str>,
}

#[derive(Default)]
pub struct Links<'a> {
    written: Vec<Written<'a>>,
    positions: HashMap<Cow<'a, str>, usize>,
    others: Vec<Other<'a>>,
}

impl<'a> Links<'a> {
    /// The place of an href, and whether its text is still wanted. None: it leads nowhere else.
    pub fn place(&mut self, href: Cow<'a, str>, rel: &str) -> Option<(usize, bool)> {
        let href = without_fragment(href);
        if href.is_empty() {
            return None;
        }
        if let Some(&position) = self.positions.get(&href) {
            let place = &mut self.written[position];
            if forbids(&place.rel) && !forbids(rel) {
                place.rel = rel.to_lowercase();
            }
            return Some((position, place.text.is_empty()));
        }
        let position = self.written.len();
        self.positions.insert(href.clone(), position);
        self.written.push(Written { href, text: String::new(), rel: rel.to_lowercase() });
        Some((position, true))
    }

    /// What an anchor said, if nothing was said at that place before.
    pub fn say(&mut self, position: usize, text: Phrase, alternative: Phrase) {
        let place = &mut self.written[position];
        if place.text.is_empty() {
            let phrase = if text.is_empty() { alternative } else { text };
            place.text = phrase.into_text(TEXT_CHARACTERS_MAX);
        }
    }

    /// Told after all anchors.
    pub fn add_other(&mut self, href: Cow<'a, str>, text: &str, rel: Cow<'a, str>) {
        let mut phrase = Phrase::default();
        phrase.add(text);
        self.others.push(Other { href, text: phrase, rel });
    }

    /// `folder` is what relative hrefs are joined to; empty where that is not known yet. What is no address of a
    /// web page is left out.
    pub fn joined(mut self, folder: &str) -> Vec<Link> {
        for Other { href, text, rel } in std::mem::take(&mut self.others) {
            if let Some((position, _)) = self.place(href, &rel) {
                self.say(position, text, Phrase::default());
            }
        }
        let folder = Folder::of(folder);
        let mut links: Vec<Link> = Vec::with_capacity(self.written.len());
        let mut positions: HashMap<String, usize> = HashMap::with_capacity(self.written.len());
        for Written { href, text, rel } in self.written {
            if is_of_another_scheme(&href) {
                continue;
            }
            let joined = plain_address(&href).or_else(|| folder.as_ref()?.joined(&href));
            let is_joined = joined.is_some();
            let url = joined.unwrap_or_else(|| href.into_owned());
            match positions.get(&url) {
                Some(&position) => links[position].join(text, rel),
                None => {
                    positions.insert(url.clone(), links.len());
                    links.push(Link { url, text, rel, is_joined });
                }
            }
        }
        links
    }
}

fn without_fragment(href: Cow<'_, str>) -> Cow<'_, str> {
    match (memchr::memchr(b'#', href.as_bytes()), href) {
        (None, href) => href,
        (Some(end), Cow::Borrowed(href)) => Cow::Borrowed(&href[..end]),
        (Some(end), Cow::Owned(mut href)) => {
            href.truncate(end);
            Cow::Owned(href)
        }
    }
}

/// `mailto:`, `javascript:` and the like.
fn is_of_another_scheme(href: &str) -> bool {
    let bytes = href.as_bytes();
    let length = bytes.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte));
    let Some(length) = length.filter(|&length| bytes[length] == b':' && bytes[0].is_ascii_alphabetic()) else {
        return false;
    };
    !href[..length].eq_ignore_ascii_case("http") && !href[..length].eq_ignore_ascii_case("https")
}

/// An absolute address that no rule of URLs changes, but for the slash that a bare name lacks.
fn plain_address(href: &str) -> Option<String> {
    let scheme = SCHEMES.into_iter().find(|scheme| href.starts_with(scheme))?;
    let rest = &href[scheme.len()..];
    let name_bytes = rest.find('/').unwrap_or(rest.len());
    let (name, path) = rest.split_at(name_bytes);
    if href.len() > PLAIN_BYTES_MAX || !is_plain_name(name) {
        return None;
    }
    match path.strip_prefix('/') {
        None => Some([href, "/"].concat()),
        Some(path) => (path.is_empty() || is_plain(path)).then(|| href.to_owned()),
    }
}

/// A host's name that is no IPv4 address in disguise and needs no decoding.
fn is_plain_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.')
        && name.split('.').all(|label| !label.is_empty() && !label.starts_with("xn--"))
        && name.rsplit('.').next().is_some_and(|last| last.starts_with(|first: char| first.is_ascii_lowercase()))
}

/// `https://site.example/a/b/`, to which plain names need only be added.
struct Folder<'a> {
    text: &'a str,
    origin_bytes: usize, // up to the first slash of the path, exclusive
}

impl<'a> Folder<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let scheme = SCHEMES.into_iter().find(|scheme| text.starts_with(scheme))?;
        let slash = text[scheme.len()..].find('/')?;
        let is_plain = text.ends_with('/') && text.len() <= FOLDER_BYTES_MAX;
        is_plain.then_some(Folder { text, origin_bytes: scheme.len() + slash })
    }

    /// None where it takes a URL parser to say.
    fn joined(&self, href: &str) -> Option<String> {
        if href.len() > PLAIN_BYTES_MAX {
            return None;
        }
        let origin = &self.text[..self.origin_bytes];
        let href = match href.strip_prefix(origin) {
            Some(path) if path.starts_with('/') => path,
            _ => href,
        };
        if let Some(path) = href.strip_prefix('/') {
            return (path.is_empty() || is_plain(path)).then(|| [origin, "/", path].concat());
        }
        let (folder, path) = self.climbed(href);
        is_plain(path).then(|| [folder, path].concat())
    }

    /// The folder that the steps at the start of an href lead to, and what is left of the href.
    fn climbed<'b>(&self, mut href: &'b str) -> (&'a str, &'b str) {
        let mut folder = self.text;
        loop {
            if let Some(rest) = href.strip_prefix("./") {
                href = rest;
            } else if let Some(rest) = href.strip_prefix("../") {
                href = rest;
                let above = folder[..folder.len() - 1].rfind('/').map_or(0, |at| at + 1);
                folder = &folder[..above.max(self.origin_bytes + 1)];
            } else {
                return (folder, href);
            }
        }
    }
}

/// Names in letters, digits and what no rule of URLs changes, none of them starting with a dot, and perhaps a query.
fn is_plain(path: &str) -> bool {
    let (names, query) = path.split_once('?').unwrap_or((path, ""));
    let names = names.strip_suffix('/').unwrap_or(names);
    names.split('/').all(|name| {
        !name.is_empty() && !name.starts_with('.') && name.bytes().all(|byte| byte == b'.' || is_unreserved(byte))
    }) && query.bytes().all(|byte| is_unreserved(byte) || matches!(byte, b'.' | b'=' | b'&' | b'+' | b';' | b','))
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'-')
}
