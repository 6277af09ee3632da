"""Lanes: one annotation server working through one phase's article queue."""
