"""The nouns that travel between packages. No I/O; imports only `addresses` and `errors` of this project."""
