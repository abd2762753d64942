//! HTML -> its head, its links, its headings and its visible text, in one pass.
//!
//! There is no tree: the elements that are open say what text is shown, where lines end, and which link or
//! heading a word belongs to.
//!
//! What is worth indexing, in one place: all text that a visitor sees, except what the markup itself declares
//! to be something else: navigation, a page's own footer (one that belongs to no article, section or main),
//! controls, embedded things, and what an attribute hides. Links in those parts are links all the same.
//!
//! Law: time and memory are linear in the length of the page. Nothing here fails, whatever the page is.

#![forbid(unsafe_code)]

use crate::elements::{Element, Elements};
use crate::head::Head;
use crate::lines::{Lines, Phrase};
use crate::links::{Link, Links};
use crate::tags::{Tag, BARRIER, BLOCK, FORMATTING, HEADING, RAW, UNSHOWN, VERBATIM, VOID};
use crate::tokens::{resolved, Name, Token, Tokens};

const HEADING_CHARACTERS_MAX: usize = 512;
const HEADINGS_MAX: usize = 1_000;
const LEVELS: usize = 6;

pub struct Reading {
    pub head: Head,
    pub links: Vec<Link>,
    pub headings: Vec<String>,
    pub text: String,
}

/// `folder` is where relative links are joined, unless the page has a base of its own.
pub fn read(html: &str, folder: &str) -> Reading {
    let mut reader = Reader::of(html);
    reader.read();
    reader.finished(folder)
}

/// An anchor that is being read.
struct Anchor {
    position: usize,
    depth: usize,
    text: Phrase,
    alternative: Phrase, // of the first picture in it
}

impl Anchor {
    fn is_silent(&self) -> bool {
        self.text.is_empty() && self.alternative.is_empty()
    }
}

struct Heading {
    level: usize,
    depth: usize,
    text: Phrase,
}

struct Reader<'a> {
    tokens: Tokens<'a>,
    elements: Elements,
    head: Head,
    lines: Lines,
    links: Links<'a>,
    anchor: Option<Anchor>,
    heading: Option<Heading>,
    headings: [Vec<String>; LEVELS],
}

impl<'a> Reader<'a> {
    fn of(html: &'a str) -> Self {
        Reader {
            tokens: Tokens::of(html),
            elements: Elements::none(),
            head: Head::default(),
            lines: Lines::with_capacity(html.len() / 3),
            links: Links::default(),
            anchor: None,
            heading: None,
            headings: Default::default(),
        }
    }

    fn read(&mut self) {
        while let Some(token) = self.tokens.next(self.elements.is_open(Tag::Svg)) {
            match token {
                Token::Text(text) => self.take_text(text),
                Token::Start { name, closes_itself } => self.start(name, closes_itself),
                Token::End(name) => self.end(name),
            }
        }
        self.close_to(0);
        self.end_anchor();
    }

    fn finished(self, folder: &str) -> Reading {
        let folder = if self.head.base.is_some() { "" } else { folder };
        let headings = self.headings.into_iter().flatten().take(HEADINGS_MAX).collect();
        let (links, text) = (self.links.joined(folder), self.lines.into_text());
        Reading { head: self.head, links, headings, text }
    }

    // --- text ---------------------------------------------------------------------------------------------

    fn take_text(&mut self, written: &'a str) {
        let text = resolved(written);
        if let Some(anchor) = &mut self.anchor {
            anchor.text.add(&text);
        }
        if !self.elements.are_shown() {
            return;
        }
        if let Some(heading) = &mut self.heading {
            heading.text.add(&text);
        }
        if self.elements.is_open(Tag::Pre) || self.elements.is_open(Tag::Listing) {
            self.lines.add_verbatim(&text);
        } else {
            self.lines.add_words(&text);
        }
    }

    fn end_line(&mut self) {
        if self.elements.are_shown() {
            self.lines.end_line();
        }
    }

    // --- start tags ---------------------------------------------------------------------------------------

    fn start(&mut self, name: Name, closes_itself: bool) {
        let tag = name.tag;
        self.close_to(self.elements.kept_by_start(tag));
        let in_drawing = self.elements.is_open(Tag::Svg);
        if tag.is(RAW) && !(in_drawing && tag == Tag::Title) {
            return self.read_raw(tag);
        }
        self.head.note(tag, &self.tokens);
        let is_shown = self.is_shown(tag);
        if is_shown && begins_line(tag) {
            self.end_line();
        }
        let is_empty = tag.is(VOID) || closes_itself && (in_drawing || tag == Tag::Svg);
        if is_empty {
            self.take_empty(tag);
        } else if !matches!(tag, Tag::Html | Tag::Head | Tag::Body) {
            self.begin(Element { name, is_shown });
        }
    }

    fn is_shown(&self, tag: Tag) -> bool {
        if tag.is(UNSHOWN) {
            return false;
        }
        let parts = [Tag::Article, Tag::Section, Tag::Main, Tag::Blockquote];
        if tag == Tag::Footer && !parts.into_iter().any(|part| self.elements.is_open(part)) {
            return false;
        }
        !self.tokens.attributes.iter().any(|attribute| match attribute.name.len() {
            4 => attribute.value == "navigation" && attribute.name.eq_ignore_ascii_case("role"),
            6 => attribute.name.eq_ignore_ascii_case("hidden"),
            11 => attribute.value == "true" && attribute.name.eq_ignore_ascii_case("aria-hidden"),
            _ => false,
        })
    }

    fn take_empty(&mut self, tag: Tag) {
        match tag {
            Tag::Area => self.add_other("href", "alt"),
            Tag::Frame => self.add_other("src", "title"),
            Tag::Img => {
                if let (Some(anchor), Some(alternative)) = (&mut self.anchor, self.tokens.value("alt")) {
                    if anchor.alternative.is_empty() {
                        anchor.alternative.add(&alternative);
                    }
                }
            }
            _ => {}
        }
    }

    fn add_other(&mut self, href: &str, text: &str) {
        if let Some(href) = self.tokens.value(href) {
            let [text, rel] = [text, "rel"].map(|name| self.tokens.value(name).unwrap_or_default());
            self.links.add_other(href, &text, rel);
        }
    }

    fn begin(&mut self, element: Element) {
        let tag = element.name.tag;
        if tag == Tag::A {
            self.end_formatting(Tag::A);
            self.end_anchor();
        }
        self.elements.push(element);
        if tag == Tag::A {
            self.begin_anchor();
        } else if tag.is(HEADING) && self.elements.are_shown() {
            self.end_heading();
            let level = tag as usize - Tag::H1 as usize;
            self.heading = Some(Heading { level, depth: self.elements.depth(), text: Phrase::default() });
        }
    }

    /// An element whose content is no markup, with its content and its end tag.
    fn read_raw(&mut self, tag: Tag) {
        let text = match tag {
            Tag::Plaintext => self.tokens.all_the_rest(),
            _ => self.tokens.raw_text(tag.name()),
        };
        match tag {
            Tag::Title => self.head.note_title(text),
            Tag::Script => self.head.note_script(text),
            _ if tag.is(VERBATIM) && self.elements.are_shown() => {
                self.lines.end_line();
                self.lines.add_verbatim(text);
                self.lines.end_line();
            }
            _ => {}
        }
    }

    // --- end tags -----------------------------------------------------------------------------------------

    fn end(&mut self, name: Name) {
        let tag = name.tag;
        if tag.is(FORMATTING) {
            self.end_formatting(tag);
            if tag == Tag::A {
                self.end_anchor();
            }
        } else if tag == Tag::Br || tag == Tag::P && !self.elements.is_open(Tag::P) {
            self.end_line();
        } else {
            self.close_to(self.elements.kept_by_end(name));
        }
    }

    /// Formatting ends where its end tag is, though parts that were opened in it go on.
    fn end_formatting(&mut self, tag: Tag) {
        match self.elements.formatting(tag) {
            Some((at, true)) => self.elements.remove(at),
            Some((at, false)) => self.close_to(at),
            None => {}
        }
    }

    fn close_to(&mut self, depth: usize) {
        while self.elements.depth() > depth {
            let was_shown = self.elements.are_shown();
            let Some(tag) = self.elements.pop() else { return };
            if was_shown && begins_line(tag) {
                self.lines.end_line();
            } else if was_shown && matches!(tag, Tag::Td | Tag::Th) {
                self.lines.add_space();
            }
            let depth = self.elements.depth();
            if self.heading.as_ref().is_some_and(|heading| heading.depth > depth) {
                self.end_heading();
            }
            if self.anchor.as_ref().is_some_and(|anchor| anchor.depth > depth) {
                self.interrupt_anchor(tag);
            }
        }
    }

    // --- anchors and headings -----------------------------------------------------------------------------

    fn begin_anchor(&mut self) {
        let Some(href) = self.tokens.value("href") else { return };
        let rel = self.tokens.value("rel").unwrap_or_default();
        let Some((position, is_silent)) = self.links.place(href, &rel) else { return };
        if is_silent {
            self.anchor = Some(Anchor {
                position,
                depth: self.elements.depth(),
                text: Phrase::default(),
                alternative: Phrase::default(),
            });
        }
    }

    fn end_anchor(&mut self) {
        if let Some(Anchor { position, text, alternative, .. }) = self.anchor.take() {
            self.links.say(position, text, alternative);
        }
    }

    /// An anchor whose parent is closed goes on behind it, as long as it said nothing; not out of a cell.
    fn interrupt_anchor(&mut self, closed: Tag) {
        match &mut self.anchor {
            Some(anchor) if anchor.is_silent() && !closed.is(BARRIER) => anchor.depth = self.elements.depth(),
            _ => self.end_anchor(),
        }
    }

    fn end_heading(&mut self) {
        if let Some(Heading { level, text, .. }) = self.heading.take() {
            if !text.is_empty() && self.headings[level].len() < HEADINGS_MAX {
                self.headings[level].push(text.into_text(HEADING_CHARACTERS_MAX));
            }
        }
    }
}

/// Whether what stands before it, and what comes after it, is on another line.
fn begins_line(tag: Tag) -> bool {
    tag.is(BLOCK) || matches!(tag, Tag::Br | Tag::Tr | Tag::Caption)
}
