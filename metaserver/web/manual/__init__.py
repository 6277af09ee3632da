"""The documentation as the hub serves it under `/docs`, also where there is no internet."""
