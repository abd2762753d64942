"""The text of a question -> what it asks for: parser, words, stop words, relaxation."""
