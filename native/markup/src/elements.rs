//! The elements that are open, and which of them a tag closes.
//!
//! End tags that were left out are supplied as the WHATWG says where that moves text or links: paragraphs, items,
//! rows and cells, wrongly nested formatting, unclosed drawings. Law: decisions are functions of what is open;
//! who closes elements asks how many stay open, and closes the others one by one.

#![forbid(unsafe_code)]

use crate::tags::{Tag, Traits, BARRIER, ENDS_DRAWING, ENDS_PARAGRAPH, FORMATTING, HEADING, SPECIAL, TAGS};
use crate::tokens::Name;

const DEPTH_MAX: usize = 512; // as browsers have it: what is nested deeper is taken to stand beside

#[derive(Clone, Copy)]
pub struct Element {
    pub name: Name,
    pub is_shown: bool, // false: what is in it is no text of the page
}

pub struct Elements {
    open: Vec<Element>,
    open_of: [u16; TAGS], // how many of each are open
    unshown: usize,
}

impl Elements {
    pub fn none() -> Self {
        Elements { open: Vec::with_capacity(64), open_of: [0; TAGS], unshown: 0 }
    }

    #[inline]
    pub fn is_open(&self, tag: Tag) -> bool {
        self.open_of[tag as usize] > 0
    }

    /// Whether text that stands here is text of the page.
    #[inline]
    pub fn are_shown(&self) -> bool {
        self.unshown == 0
    }

    pub fn depth(&self) -> usize {
        self.open.len()
    }

    pub fn push(&mut self, element: Element) {
        if self.open.len() < DEPTH_MAX {
            self.open.push(element);
            self.open_of[element.name.tag as usize] += 1;
            self.unshown += usize::from(!element.is_shown);
        }
    }

    pub fn pop(&mut self) -> Option<Tag> {
        let element = self.open.pop()?;
        self.count_out(element);
        Some(element.name.tag)
    }

    /// One goes, what was opened in it stays.
    pub fn remove(&mut self, at: usize) {
        let element = self.open.remove(at);
        self.count_out(element);
    }

    fn count_out(&mut self, element: Element) {
        self.open_of[element.name.tag as usize] -= 1;
        self.unshown -= usize::from(!element.is_shown);
    }

    // --- how many stay open -------------------------------------------------------------------------------

    /// When a start tag comes.
    pub fn kept_by_start(&self, tag: Tag) -> usize {
        let mut kept = self.depth();
        if tag.is(ENDS_DRAWING) && self.is_open(Tag::Svg) && !self.is_open(Tag::ForeignObject) {
            kept = self.before_nearest(kept, Tag::Svg, 0);
        }
        kept = match tag {
            Tag::Li => self.before_item(kept, &[Tag::Li]),
            Tag::Dd | Tag::Dt => self.before_item(kept, &[Tag::Dd, Tag::Dt]),
            Tag::Td | Tag::Th => self.before_outermost(kept, &[Tag::Td, Tag::Th], &[Tag::Tr, Tag::Table]),
            Tag::Tr => self.before_outermost(kept, &ROW_PARTS, &[Tag::Table]),
            Tag::Tbody | Tag::Thead | Tag::Tfoot => self.before_outermost(kept, &TABLE_PARTS, &[Tag::Table]),
            Tag::Option_ => self.without_last(kept, Tag::Option_),
            Tag::Optgroup => self.without_last(self.without_last(kept, Tag::Option_), Tag::Optgroup),
            Tag::Button => self.before_nearest(kept, Tag::Button, BARRIER),
            _ => kept,
        };
        if tag.is(ENDS_PARAGRAPH) {
            kept = self.before_nearest(kept, Tag::P, BARRIER);
        }
        let follows_heading = kept > 0 && self.open[kept - 1].name.tag.is(HEADING);
        kept - usize::from(tag.is(HEADING) && follows_heading)
    }

    /// When an end tag comes that is not one of formatting.
    pub fn kept_by_end(&self, name: Name) -> usize {
        let (tag, depth) = (name.tag, self.depth());
        match tag {
            Tag::Html | Tag::Body | Tag::Head => depth,
            Tag::Td | Tag::Th | Tag::Tr | Tag::Tbody | Tag::Thead | Tag::Tfoot | Tag::Table | Tag::Caption => {
                self.before_outermost(depth, &[tag], &[Tag::Table])
            }
            Tag::Svg | Tag::Template => self.before_nearest(depth, tag, 0),
            Tag::Other => self.before_first(depth, |element| element.name == name, SPECIAL),
            _ if tag.is(HEADING) => self.before_first(depth, |element| element.name.tag.is(HEADING), BARRIER),
            _ if tag.is(SPECIAL) => self.before_nearest(depth, tag, BARRIER),
            _ => self.before_nearest(depth, tag, SPECIAL),
        }
    }

    /// Where the formatting stands that an end tag closes, and whether parts of the page were opened in it.
    pub fn formatting(&self, tag: Tag) -> Option<(usize, bool)> {
        debug_assert!(tag.is(FORMATTING));
        if !self.is_open(tag) {
            return None;
        }
        let mut holds_parts = false;
        for at in (0..self.depth()).rev() {
            let open = self.open[at].name.tag;
            if open == tag {
                return Some((at, holds_parts));
            }
            if open.is(BARRIER) {
                return None;
            }
            holds_parts |= open.is(SPECIAL);
        }
        None
    }

    fn without_last(&self, kept: usize, tag: Tag) -> usize {
        kept - usize::from(kept > 0 && self.open[kept - 1].name.tag == tag)
    }

    fn before_nearest(&self, kept: usize, tag: Tag, up_to: Traits) -> usize {
        if self.is_open(tag) {
            self.before_first(kept, |element| element.name.tag == tag, up_to)
        } else {
            kept
        }
    }

    /// Without the innermost that fits and all in it, unless one with the traits `up_to` stands before it.
    fn before_first(&self, kept: usize, fits: impl Fn(&Element) -> bool, up_to: Traits) -> usize {
        for at in (0..kept).rev() {
            if fits(&self.open[at]) {
                return at;
            }
            if self.open[at].name.tag.is(up_to) {
                break;
            }
        }
        kept
    }

    /// Without an item of the same list, unless something between holds items of its own.
    fn before_item(&self, kept: usize, tags: &[Tag]) -> usize {
        if !tags.iter().any(|&tag| self.is_open(tag)) {
            return kept;
        }
        for at in (0..kept).rev() {
            let tag = self.open[at].name.tag;
            if tags.contains(&tag) {
                return at;
            }
            if tag.is(SPECIAL) && !matches!(tag, Tag::Address | Tag::Div | Tag::P) {
                break;
            }
        }
        kept
    }

    /// Without the outermost of these that is open in the innermost table; `within` bounds how far is looked.
    fn before_outermost(&self, kept: usize, tags: &[Tag], within: &[Tag]) -> usize {
        let mut outermost = kept;
        if !self.is_open(Tag::Table) {
            return kept;
        }
        for at in (0..kept).rev() {
            let tag = self.open[at].name.tag;
            if tags.contains(&tag) {
                outermost = at;
            }
            if tag == Tag::Template || within.contains(&tag) {
                break;
            }
        }
        outermost
    }
}

const ROW_PARTS: [Tag; 4] = [Tag::Tr, Tag::Caption, Tag::Td, Tag::Th];
const TABLE_PARTS: [Tag; 7] = [Tag::Tbody, Tag::Thead, Tag::Tfoot, Tag::Caption, Tag::Tr, Tag::Td, Tag::Th];
