"""The curation queries, of their sets, of requests and of consensus models."""
