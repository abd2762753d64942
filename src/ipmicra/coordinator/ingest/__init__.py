"""Packages -> pages in the index: integration, authorisation, cross-checks, purges."""
