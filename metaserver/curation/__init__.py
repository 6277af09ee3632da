"""The curators' part of the hub: requests to servers, curations, their operations, pages, store.

Nothing but `cli` imports it; it may import scoring, annotators and all below.
"""
