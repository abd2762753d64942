"""Which peer is home to a site, which peer crawls it, and where its record is replicated."""
