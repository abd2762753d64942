"""A running coordinator -> one file from which it can be begun again elsewhere, and back."""
