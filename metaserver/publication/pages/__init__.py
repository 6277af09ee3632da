"""The pages of results packages and data packages."""
