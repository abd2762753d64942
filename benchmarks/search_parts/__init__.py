"""What the search benchmark is made of: made-up pages of real lines, rivals, clients."""
