"""The bytes of packages: files in the data folder, or objects in any S3."""
