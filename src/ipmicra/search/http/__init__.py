"""Search requests over HTTP -> pages and JSON."""
