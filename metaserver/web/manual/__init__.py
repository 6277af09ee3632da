"""The documentation as the hub serves it under `/docs`, even without internet."""
