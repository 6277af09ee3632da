"""Publication: what leaves a hub as results packages and data packages, with their pages.

Nothing but `curation` and `cli` imports it; it may import scoring and all below.
"""
