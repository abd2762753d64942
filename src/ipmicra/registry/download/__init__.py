"""The registries' public files -> the same files here, whole, or the ones we had."""
