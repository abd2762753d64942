"""The parts of the search benchmark: generated pages of real lines, rivals, clients."""
