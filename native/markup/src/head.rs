//! Start tags -> what the page says of itself: its title, language, base, canonical address, metas and dates.
//!
//! Law: the first to say a thing is believed, wherever in the page it stands.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use crate::lines::Phrase;
use crate::tags::Tag;
use crate::tokens::{resolved, Tokens};

const TITLE_CHARACTERS_MAX: usize = 1_024;
const METAS_MAX: usize = 1_000;
const SCRIPTS_MAX: usize = 100;

#[derive(Default)]
pub struct Head {
    pub title: Option<String>,
    pub language: String,
    pub base: Option<String>,
    pub canonical: Option<String>,
    pub first_time: Option<String>,
    pub metas: Vec<(String, String)>,
    pub dated_scripts: Vec<String>, // those that name a date
}

impl Head {
    /// The start tag that was just read.
    pub fn note(&mut self, tag: Tag, tokens: &Tokens<'_>) {
        match tag {
            Tag::Html if self.language.is_empty() => {
                let language = tokens.value("lang").or_else(|| tokens.value("xml:lang"));
                self.language = language.unwrap_or_default().into_owned();
            }
            Tag::Base if self.base.is_none() => self.base = tokens.value("href").map(Cow::into_owned),
            Tag::Meta => self.note_meta(tokens),
            Tag::Link if self.canonical.is_none() => self.note_canonical(tokens),
            Tag::Time if self.first_time.is_none() => {
                self.first_time = Some(tokens.value("datetime").unwrap_or_default().into_owned());
            }
            _ => {}
        }
    }

    pub fn note_title(&mut self, written: &str) {
        if self.title.is_none() {
            let mut title = Phrase::default();
            title.add(&resolved(written));
            self.title = Some(title.into_text(TITLE_CHARACTERS_MAX));
        }
    }

    pub fn note_script(&mut self, text: &str) {
        let has_date = memchr::memmem::find(text.as_bytes(), b"\"date").is_some();
        if has_date && self.dated_scripts.len() < SCRIPTS_MAX {
            self.dated_scripts.push(text.to_owned());
        }
    }

    fn note_meta(&mut self, tokens: &Tokens<'_>) {
        let names = ["name", "property", "itemprop", "http-equiv"];
        let name = names.iter().filter_map(|name| tokens.value(name)).find(|name| !name.is_empty());
        if let (Some(name), true) = (name, self.metas.len() < METAS_MAX) {
            let content = tokens.value("content").unwrap_or_default().into_owned();
            self.metas.push((name.into_owned(), content));
        }
    }

    fn note_canonical(&mut self, tokens: &Tokens<'_>) {
        let rel = tokens.value("rel").unwrap_or_default();
        if rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("canonical")) {
            self.canonical = Some(tokens.value("href").unwrap_or_default().into_owned());
        }
    }
}
