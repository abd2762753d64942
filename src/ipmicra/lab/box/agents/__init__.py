"""Wishes for a crawler's namespace -> what its processes found there: probes, downloads, crawls.

The processes use the product's own prober, fetcher and crawl engine; nothing here measures by itself.
"""
