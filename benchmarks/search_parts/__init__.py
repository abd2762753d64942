"""What the search benchmark is made of: generated pages of real lines, rivals, clients."""
