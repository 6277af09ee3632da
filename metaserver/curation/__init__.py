"""Curation: curators' requests to servers, and what curators decide.

It may import client, config, store, tasks, wire, corpus, uniprot, model, files, concurrency,
scoring and annotators.
"""
