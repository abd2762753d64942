"""What the coordinator must not forget -> tables, the same on SQLite and PostgreSQL."""
