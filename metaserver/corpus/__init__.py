"""Readers of articles as plain text: text files, JATS, Elsevier, PubMed, BioC XML and BioC JSON."""

from metaserver.corpus.reader import read_articles

__all__ = ["read_articles"]
