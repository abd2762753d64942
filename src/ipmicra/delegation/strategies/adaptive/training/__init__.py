"""Past sites and crawlers -> examples that describe a new site."""
