"""The world of a box: its file, its generator, its validation, and the network plan made from it."""
