"""The database: connection, schema, migrations, and statements for both dialects."""
