"""Orders to measure -> probe results, passive round trips, page observations."""
