"""The coordinator's durable state -> SQL tables, the same on SQLite and PostgreSQL, and package files."""
