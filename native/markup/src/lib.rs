//! HTML -> what a search engine needs of it, in one pass and without a tree, for Python.
//!
//! Law: no I/O, no state between calls, and the interpreter is free for others while a page is read. The rules
//! are those of `ipmicra.crawler.extraction.markup`, which says what each field means. A fault of ours on a page
//! is a RuntimeError, which costs the caller this page and not the crawl.

mod elements;
mod head;
mod lines;
mod links;
mod reading;
mod tags;
mod tokens;

use std::borrow::Cow;
use std::panic::catch_unwind;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// What `read` returns, in order. Whoever expects other fields was written for another version.
const FIELDS: [&str; 11] = [
    "title",
    "language",
    "base",
    "canonical",
    "first_time",
    "metas",
    "dated_scripts",
    "links",
    "unjoined",
    "headings",
    "text",
];

#[pyfunction]
fn read<'py>(py: Python<'py>, html: &[u8], folder: &str) -> PyResult<Bound<'py, PyTuple>> {
    let found = py
        .detach(|| catch_unwind(|| reading::read(&without_nul(text_of(html)), folder)))
        .map_err(|_| PyRuntimeError::new_err("a fault in the compiled reader"))?;
    let links = PyList::empty(py);
    let mut unjoined = Vec::new();
    for (position, link) in found.links.iter().enumerate() {
        links.append((&link.url, &link.text, &link.rel))?;
        if !link.is_joined {
            unjoined.push(position);
        }
    }
    let head = found.head;
    (
        head.title.unwrap_or_default(),
        head.language,
        head.base.unwrap_or_default(),
        head.canonical.unwrap_or_default(),
        head.first_time.unwrap_or_default(),
        head.metas,
        head.dated_scripts,
        links,
        unjoined,
        found.headings,
        found.text,
    )
        .into_pyobject(py)
}

/// Whether the bytes are UTF-8 throughout.
#[pyfunction]
fn is_utf8(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok()
}

/// Checking what is UTF-8, as nearly all of it is, costs a tenth of mending it.
fn text_of(html: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(html).map_or_else(|_| String::from_utf8_lossy(html), Cow::Borrowed)
}

/// No rule of HTML gives NUL a meaning.
fn without_nul(html: Cow<'_, str>) -> Cow<'_, str> {
    if memchr::memchr(0, html.as_bytes()).is_some() {
        Cow::Owned(html.replace('\0', ""))
    } else {
        html
    }
}

#[pymodule]
fn ipmicra_markup(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FIELDS", PyTuple::new(module.py(), FIELDS)?)?;
    module.add_function(wrap_pyfunction!(is_utf8, module)?)?;
    module.add_function(wrap_pyfunction!(read, module)?)
}
