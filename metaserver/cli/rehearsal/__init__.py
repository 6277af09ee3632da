"""The rehearsal: a challenge of BioCreative II.5's size, played in minutes against itself."""
