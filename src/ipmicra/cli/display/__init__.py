"""Results -> tables and text for people on a terminal."""
