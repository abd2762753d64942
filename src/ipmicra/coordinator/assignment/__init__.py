"""Who owns a site: assigning, releasing, and what hosts report of it."""
