"""The UniProt release index: verdicts on accessions, and the organiser's commands for releases."""

from metaserver.uniprot.build import build_release
from metaserver.uniprot.release import Release
from metaserver.uniprot.verdicts import AccessionVerdict, Ruling, SecondaryPolicy, Status
from metaserver.uniprot.vocabulary import FormatVocabulary, ReleaseVocabulary

__all__ = [
    "AccessionVerdict",
    "FormatVocabulary",
    "Release",
    "ReleaseVocabulary",
    "Ruling",
    "SecondaryPolicy",
    "Status",
    "build_release",
]
