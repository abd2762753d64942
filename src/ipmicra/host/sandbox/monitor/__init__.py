"""A running sandbox, observed: resources used, output printed, forbidden calls logged."""
