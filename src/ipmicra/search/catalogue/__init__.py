"""Each page with its links and its stored text, beside the engine's index."""
