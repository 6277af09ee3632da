"""Curations: the decisions of curators on articles, their comparison, and their exports.

It may import wire, corpus, model, scoring and annotators.
"""
