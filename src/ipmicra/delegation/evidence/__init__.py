"""What crawlers measured: remembered round trips, what light allows, and whom to believe."""
