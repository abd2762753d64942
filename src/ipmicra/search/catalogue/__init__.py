"""What is known of each page, its links and its stored text, beside the engine's index."""
