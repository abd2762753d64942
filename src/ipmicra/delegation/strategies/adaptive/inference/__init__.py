"""A prior and a few answers -> what is believed of a site's round trips, and what to probe next."""
