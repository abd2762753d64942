"""The embedded search engine: schema, query builder, spelling and index on tantivy."""
