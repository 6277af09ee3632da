"""The queries of curations, of their sets, of requests and of consensus models."""
