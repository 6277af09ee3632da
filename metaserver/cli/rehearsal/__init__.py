"""The rehearsal: a challenge the size of BioCreative II.5, played in minutes against itself."""
