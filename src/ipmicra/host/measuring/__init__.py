"""What the coordinator asks to be measured -> probe results, passive round trips, page observations."""
