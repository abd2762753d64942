"""One parser per registry format, and what they share: blocks, fields, normalised values, columns."""
