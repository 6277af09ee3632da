"""Mutation tests: small defects are put into the core, and the tests must notice (docs/testing.md).

`make mutants` runs it; `make test` does not.
"""
