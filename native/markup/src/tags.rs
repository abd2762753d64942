//! The name of a tag -> what it does to the text around it, and what it closes.
//!
//! Law: a table and nothing else. What is not in it is an inline element without a meaning of its own.

#![forbid(unsafe_code)]

pub type Traits = u16;

/// Stands on lines of its own.
pub const BLOCK: Traits = 1;
/// Has no content and no end tag.
pub const VOID: Traits = 1 << 1;
/// An end tag of an ordinary element does not reach beyond it.
pub const SPECIAL: Traits = 1 << 2;
/// Its content is no text of the page: navigation, controls, embedded things.
pub const UNSHOWN: Traits = 1 << 3;
/// Its start tag ends a paragraph.
pub const ENDS_PARAGRAPH: Traits = 1 << 4;
/// May be closed in the wrong order without closing what was opened since.
pub const FORMATTING: Traits = 1 << 5;
/// End tags do not reach out of it.
pub const BARRIER: Traits = 1 << 6;
/// Keeps its line breaks.
pub const VERBATIM: Traits = 1 << 7;
pub const HEADING: Traits = 1 << 8;
/// Ends a drawing (svg) that was never closed.
pub const ENDS_DRAWING: Traits = 1 << 9;
/// What is in it is no markup: read to its end tag.
pub const RAW: Traits = 1 << 10;

macro_rules! tags {
    ($($variant:ident $name:literal $traits:expr;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Tag { $($variant,)* Other }

        pub const TAGS: usize = Tag::Other as usize + 1;
        const TRAITS: [Traits; TAGS] = [$($traits,)* 0];
        const NAMES: [&[u8]; TAGS] = [$($name,)* b""];

        impl Tag {
            /// `name` in lower case.
            pub fn named(name: &[u8]) -> Tag {
                match name {
                    $($name => Tag::$variant,)*
                    _ => Tag::Other,
                }
            }

            pub fn name(self) -> &'static [u8] {
                NAMES[self as usize]
            }
        }
    };
}

const PART: Traits = BLOCK | SPECIAL | ENDS_PARAGRAPH | ENDS_DRAWING;
const TITLE: Traits = PART | HEADING;
const INLINE: Traits = FORMATTING | ENDS_DRAWING;
const TABLE_PART: Traits = SPECIAL | ENDS_DRAWING;
const EMPTY: Traits = VOID | SPECIAL;

tags! {
    A b"a" FORMATTING;
    Address b"address" PART;
    Applet b"applet" SPECIAL | BARRIER;
    Area b"area" EMPTY;
    Article b"article" PART;
    Aside b"aside" PART;
    B b"b" INLINE;
    Base b"base" EMPTY;
    Big b"big" INLINE;
    Blockquote b"blockquote" PART;
    Body b"body" SPECIAL;
    Br b"br" EMPTY | ENDS_DRAWING;
    Button b"button" SPECIAL | UNSHOWN | BARRIER;
    Caption b"caption" TABLE_PART | BARRIER;
    Center b"center" PART;
    Code b"code" INLINE;
    Col b"col" EMPTY;
    Datalist b"datalist" UNSHOWN;
    Dd b"dd" PART;
    Details b"details" PART;
    Dialog b"dialog" PART;
    Dir b"dir" PART;
    Div b"div" PART;
    Dl b"dl" PART;
    Dt b"dt" PART;
    Em b"em" INLINE;
    Embed b"embed" EMPTY | ENDS_DRAWING;
    Fieldset b"fieldset" PART;
    Figcaption b"figcaption" PART;
    Figure b"figure" PART;
    Font b"font" FORMATTING;
    Footer b"footer" PART;
    ForeignObject b"foreignobject" 0;
    Form b"form" PART;
    Frame b"frame" EMPTY;
    H1 b"h1" TITLE;
    H2 b"h2" TITLE;
    H3 b"h3" TITLE;
    H4 b"h4" TITLE;
    H5 b"h5" TITLE;
    H6 b"h6" TITLE;
    Head b"head" SPECIAL;
    Header b"header" PART;
    Hgroup b"hgroup" PART;
    Hr b"hr" PART | VOID;
    Html b"html" SPECIAL | BARRIER;
    I b"i" INLINE;
    Iframe b"iframe" SPECIAL | RAW;
    Img b"img" EMPTY | ENDS_DRAWING;
    Input b"input" EMPTY;
    Legend b"legend" BLOCK;
    Li b"li" PART;
    Link b"link" EMPTY;
    Listing b"listing" PART | VERBATIM;
    Main b"main" PART;
    Marquee b"marquee" SPECIAL | BARRIER;
    Menu b"menu" PART;
    Meta b"meta" EMPTY | ENDS_DRAWING;
    Nav b"nav" PART | UNSHOWN;
    Nobr b"nobr" INLINE;
    Noembed b"noembed" SPECIAL | RAW;
    Noframes b"noframes" SPECIAL | RAW;
    Noscript b"noscript" SPECIAL | UNSHOWN;
    Object b"object" SPECIAL | UNSHOWN | BARRIER;
    Ol b"ol" PART;
    Optgroup b"optgroup" BLOCK;
    Option_ b"option" BLOCK;
    P b"p" PART;
    Param b"param" EMPTY;
    Plaintext b"plaintext" PART | RAW | VERBATIM;
    Pre b"pre" PART | VERBATIM;
    Rp b"rp" UNSHOWN;
    S b"s" INLINE;
    Script b"script" SPECIAL | RAW;
    Search b"search" PART;
    Section b"section" PART;
    Select b"select" SPECIAL | UNSHOWN;
    Small b"small" INLINE;
    Source b"source" EMPTY;
    Span b"span" ENDS_DRAWING;
    Strike b"strike" INLINE;
    Strong b"strong" INLINE;
    Style b"style" SPECIAL | RAW;
    Summary b"summary" PART;
    Svg b"svg" UNSHOWN;
    Table b"table" PART | BARRIER;
    Tbody b"tbody" TABLE_PART;
    Td b"td" TABLE_PART | BARRIER;
    Template b"template" SPECIAL | BARRIER | UNSHOWN;
    Textarea b"textarea" SPECIAL | RAW;
    Tfoot b"tfoot" TABLE_PART;
    Th b"th" TABLE_PART | BARRIER;
    Thead b"thead" TABLE_PART;
    Time b"time" 0;
    Title b"title" SPECIAL | RAW;
    Tr b"tr" TABLE_PART;
    Track b"track" EMPTY;
    Tt b"tt" INLINE;
    U b"u" INLINE;
    Ul b"ul" PART;
    Wbr b"wbr" EMPTY;
    Xmp b"xmp" PART | RAW | VERBATIM;
}

impl Tag {
    #[inline]
    pub fn is(self, traits: Traits) -> bool {
        TRAITS[self as usize] & traits != 0
    }
}
